// Package skill finds the skills of a session, and has the tool that loads them. It runs nothing of a skill, and judges no
// paths: package access asks it which directories are of allowed skills.
package skill

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/frontmatter"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed skill.md
var description string

type input struct {
	Name string `json:"name" jsonschema:"name of the skill to load"`
}

// Tool returns the skill tool for a session with these skills; its description lists those that the profile allows.
func Tool[Env any](all Set, p permission.Profile) tool.Tool[Env] {
	var text strings.Builder
	text.WriteString(strings.TrimSpace(description))
	allowed := all.Allowed(p)
	for _, s := range allowed {
		fmt.Fprintf(&text, "\n- %s: %s", s.Name, cut.Bytes(textcut.OneLine(s.Description), maxListed, false))
	}
	if len(allowed) == 0 {
		text.WriteString("\n(none)")
	}
	spec := tool.Spec{Name: "skill", Description: text.String() + "\n", ReadOnly: true, Deadline: time.Minute}
	return tool.Define(spec, func(_ Env, in input) (tool.Pending, error) {
		needs := []permission.Request{permission.Need("skill", in.Name)}
		return tool.Pending{Title: in.Name, Needs: needs, Do: func(context.Context) (tool.Result, error) {
			i := slices.IndexFunc(all.List, func(s Skill) bool { return s.Name == in.Name })
			if i < 0 {
				return tool.Result{}, all.notFound(in.Name, allowed)
			}
			return load(all.List[i])
		}}, nil
	})
}

// Allowed lists the skills that a profile allows.
func (all Set) Allowed(p permission.Profile) []Skill {
	return slices.DeleteFunc(slices.Clone(all.List), func(s Skill) bool { return !p.Allows("skill", s.Name) })
}

// notFound returns the error for an unknown skill or, if its directory
// exists, for an invalid one.
func (all Set) notFound(name string, allowed []Skill) error {
	for _, problem := range all.Problems {
		if broken := (*Error)(nil); errors.As(problem, &broken) && path.Base(path.Dir(broken.File)) == name {
			return fmt.Errorf("skill %q can't be loaded: %s: %w", cut.Title(name), broken.File, broken.Err)
		}
	}
	var names []string
	for _, s := range allowed {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("skill %q not found; no skills are available", cut.Title(name))
	}
	return fmt.Errorf("skill %q not found; available skills: %s", cut.Title(name), strings.Join(names, ", "))
}

// load returns a skill's text and the names of some of its files.
func load(s Skill) (tool.Result, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return tool.Result{}, fmt.Errorf("load skill %s: %w", s.Name, err)
	}
	defer root.Close()
	text, err := readText(root, "SKILL.md")
	if err != nil {
		return tool.Result{}, fmt.Errorf("load skill %s: %w", s.Name, err)
	}
	body, err := frontmatter.Parse(text, &head{})
	if err != nil {
		return tool.Result{}, fmt.Errorf("load skill %s: %w", s.Name, err)
	}
	files := sampleFiles(root)
	var out strings.Builder
	fmt.Fprintf(&out, "<skill_content name=%q>\n%s\n\nBase directory of this skill: %s\nRelative paths in this skill are relative to that directory. The file list may be incomplete.\n\n<skill_files>\n", s.Name, strings.TrimSpace(body), s.Dir)
	for _, f := range files {
		fmt.Fprintf(&out, "<file>%s</file>\n", path.Join(s.Dir, f))
	}
	out.WriteString("</skill_files>\n</skill_content>")
	return tool.Result{Title: "Loaded skill: " + s.Name, Output: out.String()}, nil
}

// sampleFiles lists some files of a skill's directory, without SKILL.md.
func sampleFiles(root *os.Root) []string {
	var files []string
	seen := 0
	fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error { //nolint:errcheck // the function returns only fs.SkipDir and fs.SkipAll
		seen++
		switch {
		case err != nil || e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case seen > maxWalk || len(files) >= maxSample:
			return fs.SkipAll
		case !e.IsDir() && name != "SKILL.md":
			files = append(files, name)
		}
		return nil
	})
	return files
}
