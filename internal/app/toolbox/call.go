// Package toolbox calls single tools outside of a session, in the sandbox and with the extensions that a job would have, and lists the
// tools that a model is offered. It calls no model and writes no report.
package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/abandon"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/change"
	"github.com/millhand/millhand/tools/outputs"
	"github.com/millhand/millhand/tools/skill"
)

// callDocument is what `millhand tool` prints.
type callDocument struct {
	Tool     string            `json:"tool"`
	Status   tools.Status      `json:"status"`
	Title    string            `json:"title"`
	Output   string            `json:"output"`
	Error    string            `json:"error"`
	Decision *decisionDocument `json:"decision"`
	Metadata json.RawMessage   `json:"metadata"`
}

type decisionDocument struct {
	Effect string `json:"effect"`
	Rule   string `json:"rule"`
	Source string `json:"source"`
}

// metadataDocument describes the result. Its output_path is absolute.
type metadataDocument struct {
	event.CallMetadata
	Attachments []attachmentDocument `json:"attachments,omitempty"`
}

// attachmentDocument is a file that a model would receive with the output.
type attachmentDocument struct {
	Name  string `json:"name"`
	Media string `json:"media"`
	Bytes int    `json:"bytes"`
}

// Options select a tool, what it may do and where it is called.
type Options struct {
	load.ProfileOptions
	Model, Sandbox string // of the model "" is every tool
	JSON           bool   // of the list; the result of a call is always JSON
	Name, Dir      string
}

// Lists reports whether the tools are listed. With a directory, list is the tool of that name.
func (o *Options) Lists() bool { return o.Name == "list" && o.Dir == "" }

// Parse reads the arguments of "millhand tool".
func (o *Options) Parse(args []string) error {
	if len(args) == 1 && args[0] == "list" && o.Dir == "" {
		o.Name = args[0]
		return nil
	}
	if len(args) != 1 || o.Dir == "" {
		return errors.New("tool requires a NAME and --dir, for example: echo '{\"filePath\":\"go.mod\"}' | millhand tool read --dir DIR")
	}
	if o.Name = args[0]; tools.NeedsLanguageServers(o.Name) && o.Manifest == "" {
		return fmt.Errorf("the tool %s requires --manifest, with language servers (lsp)", o.Name)
	}
	o.Paths = []load.Path{{Flag: "--dir", Path: o.Dir}}
	return nil
}

// Call runs one call of a tool in a directory, as a session would, and prints its result as JSON.
func Call(ctx context.Context, w world.World, o Options) error {
	profile, _, err := load.Profile(ctx, w, o.ProfileOptions)
	if err != nil {
		return err
	}
	set, err := readSettings(ctx, w, o.Model, o.ProfileOptions)
	if err != nil {
		return err
	}
	input, err := abandon.When(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(w.In, maxArguments+1)) })
	switch {
	case err != nil:
		return fault.New(event.ExitUsage, "read the arguments from stdin: %w", err)
	case len(input) > maxArguments:
		return fault.New(event.ExitUsage, "the arguments on stdin exceed %d MiB", maxArguments>>20)
	}
	space, err := workspace.Open(o.Dir)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	defer space.Close()
	repo, err := repository(w, space.Dir())
	if err != nil {
		return err
	}
	known, restore, err := hideHeaders(ctx, w, repo)
	if err != nil {
		return err
	}
	defer restore()
	env := set.env
	if saved, err := openOutputs(os.TempDir()); err == nil { // without it outputs are truncated and not saved
		defer saved.Close()
		outputs.Prune(saved, w.Now().Add(-rundir.OutputRetention)) //nolint:errcheck // the next call retries
		env.Outputs = saved.Sub(rundir.OutputsOf(space.Dir()))
	}
	env.Workspace, env.Profile, env.Ignore, env.Todos = space, profile, ignored(repo, space.Dir()), &tools.Todos{}
	env.ChildEnv = proc.ChildEnv(w.Getenv, profile.Env)
	env.Private = append(confinement.ConcealedFromTools(profile, set.private), rundir.Resolve(filepath.Join(space.Dir(), ".millhand", "runs")))
	if env.Skills = skill.Find(space, set.skills); len(env.Skills.Problems) > 0 {
		fmt.Fprintln(w.Err, printable.Text(errors.Join(env.Skills.Problems...).Error()))
	}
	env.Changes, env.Cache, env.Redact = &change.Tracker{}, &tools.Cache{}, w.Redactor(set.plan, known...)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	served, stop, err := serve(ctx, w, o.ProfileOptions, o.Sandbox, &env, set, end, o.Name)
	if err != nil {
		return err
	}
	defer stop()
	hooks, release, err := hookCalls(ctx, w, o.ProfileOptions, o.Sandbox, &env, set, end)
	if err != nil {
		return err
	}
	defer release()
	env.Hooks = append(env.Hooks, hooks...) // they see the arguments that plugins have made
	closeLanguages, err := serveLanguages(ctx, w, o.ProfileOptions, o.Sandbox, &env, set, end, o.Name)
	if err != nil {
		return err
	}
	defer closeLanguages()
	registry, err := tools.For(&env, slices.Concat(set.custom, served)...)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	if set.runs(o.Name) {
		done, err := confine(ctx, w, o.ProfileOptions, o.Sandbox, &env, set, end, o.Name)
		if err != nil {
			return err
		}
		defer done()
	}
	out := registry.Dispatch(ctx, &env, tools.Call{ID: "call_1", Name: o.Name, Input: string(input)}, nil)
	return printCall(w, &env, out, context.Cause(ctx))
}

// maxArguments limits the arguments of a call, in bytes.
const maxArguments = 16 << 20

// printCall prints the result of a call, and returns its exit code. cause is why the call was ended; nil if it was not.
func printCall(w world.World, env *tools.Env, out tools.Outcome, cause error) error {
	meta := metadataDocument{CallMetadata: event.CallMetadata(out.Metadata)}
	for _, a := range out.Attachments {
		meta.Attachments = append(meta.Attachments, attachmentDocument{a.Name, a.MIME, len(a.Data)})
	}
	metadata, err := json.Marshal(meta)
	if err != nil {
		return fault.New(event.ExitInternal, "print the result: %w", err)
	}
	doc := callDocument{
		Tool: out.Tool, Status: out.Status, Title: out.Title, Output: out.Output, Error: out.Error, Metadata: env.Redact.JSON(metadata),
	}
	if d := out.Decision; d != nil {
		doc.Decision = &decisionDocument{d.Effect.String(), d.Rule, d.Source}
	}
	if err := printable.WriteJSON(w.Out, doc); err != nil {
		return fault.New(event.ExitInternal, "print the result: %w", err)
	}
	var interrupt event.Interrupt
	switch {
	case out.Status == tools.Completed:
		return nil
	case out.Status == tools.Denied, errors.As(cause, new(*permission.Error)):
		return fault.Silent(event.ExitPolicy)
	case errors.As(cause, &interrupt):
		return fault.Silent(interrupt.Exit)
	}
	return fault.Silent(event.ExitFailed)
}
