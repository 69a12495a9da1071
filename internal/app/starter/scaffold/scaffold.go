// Package scaffold writes the first files of a project: a manifest that fits it or that is converted from
// OpenCode's configuration, the files of a CI system, or an example. It validates a manifest that it has
// converted, as `millhand validate` does (package outlook). It decides nothing about what the files contain:
// packages starter and opencode do.
package scaffold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/opencode"
	"github.com/millhand/millhand/internal/app/planned/outlook"
	"github.com/millhand/millhand/internal/app/starter"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks/manifest"
)

// Options are what the flags of "millhand init" set.
type Options struct {
	Dir                            string
	OpenCode, GitHub, GitLab, Cron bool
	Demo, Force                    bool
}

// Write writes what the options choose, and validates a manifest that is converted.
func Write(ctx context.Context, w world.World, o Options) error {
	write := o.write
	if o.Demo {
		write = o.demonstrate
	}
	if err := write(ctx, w); err != nil {
		return fault.New(event.ExitUsage, "init: %w", err)
	}
	if o.OpenCode { // what it refers to may be invalid
		return outlook.Validate(ctx, w, load.Options{Manifests: []string{filepath.Join(o.Dir, load.UsualManifest)}})
	}
	return nil
}

// write writes the files, all or none.
func (o Options) write(_ context.Context, w world.World) error {
	all, next, err := o.files(w)
	if err != nil {
		return err
	}
	dir, err := files.MakeOwn(o.Dir, 0o755)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, f := range all {
		if err := dir.Check(f.Path); err != nil { // the names below DIR are the repository's
			return fmt.Errorf("%w: remove it first", err)
		}
		if dir.Exists(f.Path) && !o.Force {
			return fmt.Errorf("%s exists; use --force to replace it", o.path(f))
		}
	}
	for _, f := range all {
		if err := dir.Write(f.Path, f.Data, f.Mode); err != nil {
			return err
		}
		fmt.Fprintf(w.Out, "wrote %s\n", printable.Text(o.path(f)))
	}
	fmt.Fprintln(w.Out, "next: "+printable.Text(next))
	return nil
}

// path is the path of a file for messages.
func (o Options) path(f starter.File) string {
	return filepath.Join(o.Dir, filepath.FromSlash(f.Path))
}

// files returns what to write, and what the user does next.
func (o Options) files(w world.World) (all []starter.File, next string, err error) {
	var chosen []starter.CI
	for ci, given := range map[starter.CI]bool{starter.GitHub: o.GitHub, starter.GitLab: o.GitLab, starter.Cron: o.Cron} {
		if given {
			chosen = append(chosen, ci)
		}
	}
	switch {
	case len(chosen) > 1 || len(chosen) == 1 && o.OpenCode:
		return nil, "", errors.New("--from-opencode, --github, --gitlab and --cron exclude each other; run it once for each")
	case len(chosen) == 1:
		all, err = chosen[0].Files()
		return all, chosen[0].Next(), err
	}
	manifest, next := []byte(nil), ""
	if o.OpenCode {
		manifest, next, err = o.converted(w)
	} else {
		manifest, next, err = o.fitting(w)
	}
	return []starter.File{{Path: load.UsualManifest, Data: append([]byte(schemaLine(w.Version)), manifest...), Mode: 0o644}}, next, err
}

// converted returns a manifest that is converted from OpenCode's configuration.
func (o Options) converted(w world.World) (converted []byte, next string, err error) {
	known := opencode.Known{
		Provider: func(name string) bool {
			_, ok := kinds.Lookup(name)
			return ok
		},
		LanguageServer: manifest.KnownLanguageServer,
	}
	converted, notes, err := opencode.Convert(o.Dir, known)
	for _, note := range notes {
		fmt.Fprintln(w.Err, printable.Text(note))
	}
	return converted, "write the task's prompt, then millhand validate " + filepath.Join(o.Dir, load.UsualManifest), err
}

// fitting returns a manifest that fits the project in the directory.
func (o Options) fitting(w world.World) (manifest []byte, next string, err error) {
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	project, err := starter.Look(root)
	if err != nil {
		return nil, "", err
	}
	fmt.Fprintln(w.Err, printable.Text(project.Summary()))
	cloud, clouded := starter.ClaudeCode(root, w.Getenv)
	for _, note := range cloud.Notes {
		fmt.Fprintln(w.Err, printable.Text("Claude Code: "+note))
	}
	id, key, set := firstModel(w)
	if clouded {
		id, set = cloud.Model, true
	}
	path := filepath.Join(o.Dir, load.UsualManifest)
	if next = fmt.Sprintf("edit the task's prompt; then\n  millhand validate %s\n  millhand plan %[1]s\n", path); !set {
		next += fmt.Sprintf("  export %s=...\n", key)
	}
	next += "  millhand run " + path
	switch {
	case clouded:
		next += fmt.Sprintf("\nClaude Code is set up for %s here, so the model is %s, with the login of the cloud", cloud.Provider, id)
	case set:
		next += fmt.Sprintf("\n%s is set, so the model is %s", key, id)
	}
	for _, ci := range project.CI {
		if flag := map[string]string{"GitHub Actions": "--github", "GitLab CI": "--gitlab"}[ci]; flag != "" {
			next += fmt.Sprintf("\nthis repository uses %s: millhand init %s writes files for it", ci, flag)
		}
	}
	return project.Manifest(id, cloud.Keys()), next, nil
}

// firstModel returns the model of a first manifest, of a provider whose key is set if there is
// one, the variable with the key, and whether it is set.
func firstModel(w world.World) (id, key string, set bool) {
	for _, name := range kinds.Names() {
		kind, _ := kinds.Lookup(name)
		for _, key := range kind.KeyEnv {
			if kind.First != "" && w.Getenv(key) != "" {
				return name + "/" + kind.First, key, true
			}
		}
	}
	openai, _ := kinds.Lookup("openai")
	return "openai/" + openai.First, "OPENAI_API_KEY", false
}

// releaseVersion is the version of a build from a tag.
var releaseVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// schemaLine is the comment by which editors find the schema of a manifest.
func schemaLine(version string) string {
	ref := version
	if !releaseVersion.MatchString(ref) {
		ref = "main"
	}
	return "# yaml-language-server: $schema=https://raw.githubusercontent.com/millhand/millhand/" + ref + "/docs/manifest.schema.json\n"
}
