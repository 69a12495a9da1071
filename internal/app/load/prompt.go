package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/abandon"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
)

// Prompt are the flags of "run -p", a run of one prompt without a manifest.
type Prompt struct {
	Text   *string // nil without -p
	Setup  []string
	verify []string
	schema string // file; "" for none
	Output string // file; "" for none
	commit bool
}

// Fields are the options of a prompt. No variable sets them: it would change runs of manifests, too.
func (o *Prompt) Fields() []option.Field {
	return []option.Field{
		{
			Name: "prompt", Short: "p", Group: option.Prompts, To: option.Text{To: &o.Text}, NoVar: true,
			Usage: "Run `PROMPT` (- is standard input; at most 256 KiB) in the current directory instead of a manifest, and print the final message",
		},
		{Name: "setup", Group: option.Prompts, To: (*option.Texts)(&o.Setup), NoVar: true, Usage: "Run `COMMAND` before the agent, for example npm ci (repeatable)"},
		{Name: "verify", Group: option.Prompts, To: (*option.Texts)(&o.verify), NoVar: true, Usage: "Run `COMMAND` after the agent, which gets its output and two more attempts if it fails (repeatable)"},
		{Name: "output-schema", Group: option.Prompts, To: &o.schema, NoVar: true, Usage: "Require a JSON document that matches the JSON Schema in `FILE`; findings is a built-in schema of reviews"},
		{Name: "output-file", Group: option.Prompts, To: &o.Output, NoVar: true, Usage: "Also write the final message to `FILE`"},
		{Name: "commit", Group: option.Prompts, To: &o.commit, NoVar: true, Usage: "Commit the changes to a new branch instead of changing the working tree"},
	}
}

// Check returns an error for flags and arguments that do not fit.
func (o *Prompt) Check(args []string, json bool) error {
	if o.Text == nil {
		return o.checkUnused()
	}
	switch {
	case len(args) > 0:
		return fmt.Errorf("run -p accepts no manifest, got %q; quote the prompt, or remove -p", args[0])
	case json:
		return errors.New("--json is not allowed with -p, which prints only the final message; report.json is in the report directory")
	case strings.TrimSpace(*o.Text) == "":
		return errors.New("-p: the prompt is empty")
	}
	return nil
}

// checkUnused returns an error for flags that require -p.
func (o *Prompt) checkUnused() error {
	flag := ""
	switch {
	case len(o.Setup) > 0:
		flag = "--setup"
	case len(o.verify) > 0:
		flag = "--verify"
	case o.schema != "":
		flag = "--output-schema"
	case o.Output != "":
		flag = "--output-file"
	case o.commit:
		flag = "--commit"
	default:
		return nil
	}
	return fmt.Errorf("%s requires -p PROMPT; of a task in a manifest, set the key instead", flag)
}

// maxPrompt is the maximum size of a prompt from standard input, in bytes.
const maxPrompt = 256 << 10

// Manifest returns the manifest of the flags. Its commit is on a branch with the id of the
// run.
func (o *Prompt) Manifest(ctx context.Context, w world.World, id string, plan Options) ([]byte, error) {
	p := expand.Prompt{Text: *o.Text, Setup: o.Setup, Verify: o.verify, Output: o.outputInManifest(plan.In(w), plan.Untrusted)}
	if p.Text == "-" {
		data, err := abandon.When(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(w.In, maxPrompt+1)) })
		if err != nil {
			return nil, fmt.Errorf("-p: read standard input: %w", err)
		}
		p.Text = string(data)
	}
	switch {
	case strings.TrimSpace(p.Text) == "":
		return nil, errors.New("-p: standard input is empty; it has to contain the prompt")
	case len(p.Text) > maxPrompt:
		return nil, fmt.Errorf("-p: the prompt exceeds %d KiB; write it to a file that the agent reads", maxPrompt>>10)
	case !utf8.ValidString(p.Text):
		return nil, errors.New("-p: the prompt is not UTF-8 text")
	case o.commit:
		p.Branch = "millhand/prompt-" + id
	default:
		p.NoCommit = plan.Publish != tasks.PublishPatch
	}
	var err error
	if p.Findings = o.schema == findings.Name; p.Findings {
		return p.Manifest(), nil
	}
	if p.Schema, err = o.readSchema(ctx); err != nil {
		return nil, err
	}
	return p.Manifest(), nil
}

// SchemaFile returns the file of --output-schema; "" if it names the built-in schema.
func (o *Prompt) SchemaFile() string {
	if o.schema == findings.Name {
		return ""
	}
	return o.schema
}

// readSchema reads the file of --output-schema; nil without one.
func (o *Prompt) readSchema(ctx context.Context) (schema map[string]any, err error) {
	if o.schema == "" {
		return nil, nil
	}
	if schema, err = expand.ReadSchema(ctx, o.schema); err != nil {
		return nil, fmt.Errorf("--output-schema: %w", err)
	}
	return schema, nil
}

// outputInManifest returns the file of --output-file if the manifest can name it; "" otherwise.
func (o *Prompt) outputInManifest(dir string, untrusted bool) string {
	rel, err := below(dir, o.Output)
	if err != nil || rel == "" || untrusted {
		return ""
	}
	if checkBelow(dir, rel) != nil {
		return ""
	}
	return rel
}

// Deliver returns a plan with the file for the final message, relative to a directory: the path is the user's own, unlike one of a manifest. The
// policies were checked with those of other flags.
func (o *Prompt) Deliver(plan *tasks.Plan, dir string, untrusted bool) (*tasks.Plan, error) {
	if o.Output == "" {
		return plan, nil
	}
	rel, err := below(dir, o.Output)
	if err != nil {
		return nil, err
	}
	to := tasks.OutputFile{Dir: dir, Path: cmp.Or(rel, o.Output), Own: o.Output}
	if !filepath.IsAbs(o.Output) {
		to.Own = dir + "/" + o.Output // not cleaned: the parent of a symlink is that of its target
	}
	switch {
	case untrusted:
		to, err = tasks.OutputBelow(dir, filepath.ToSlash(rel)) // checkFlagPaths has refused others
	case rel == "":
		if info, notFound := os.Stat(filepath.Dir(to.Own)); notFound != nil || !info.IsDir() {
			return nil, fmt.Errorf("--output-file: directory %s not found", filepath.Dir(to.Own))
		}
		fallthrough
	default:
		err = files.Own(to.Own).Check()
	}
	if err != nil {
		return nil, fmt.Errorf("--output-file: %w; nothing was run", err)
	}
	return plan.WithOutput(to), nil
}

// checkBelow returns an error unless the path below a directory is that of a regular file, or can be, without a symlink.
func checkBelow(dir, rel string) error {
	d, err := files.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Check(filepath.ToSlash(rel))
}

// below returns a path relative to a directory; "" if the path is not below it.
func below(dir, path string) (string, error) {
	if dir == "" {
		return "", errors.New("the current directory is unknown")
	}
	rel, err := filepath.Rel(dir, userfile.Resolve(dir, path))
	if err != nil || path == "" || !filepath.IsLocal(rel) {
		return "", nil //nolint:nilerr // two absolute paths
	}
	return rel, nil
}
