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
	"github.com/millhand/millhand/internal/gitops"
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
	s, err := newSite(ctx, w, o)
	if err != nil {
		return err
	}
	s.call = o.Name
	input, err := readArguments(ctx, w)
	if err != nil {
		return err
	}
	space, err := workspace.Open(o.Dir)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	defer space.Close()
	s.env.Workspace = space
	repo, err := s.repo()
	if err != nil {
		return err
	}
	known, restore, err := hideHeaders(ctx, w, repo)
	if err != nil {
		return err
	}
	defer restore()
	s.env.Redact = w.Redactor(s.set.plan, known...)
	if saved, err := openOutputs(os.TempDir()); err == nil { // without it outputs are truncated and not saved
		defer saved.Close()
		outputs.Prune(saved, w.Now().Add(-rundir.OutputRetention)) //nolint:errcheck // the next call retries
		s.env.Outputs = saved.Sub(rundir.OutputsOf(space.Dir()))
	}
	s.addFiles(repo)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.end = end
	defer s.close()
	registry, err := s.start(ctx)
	if err != nil {
		return err
	}
	out := registry.Dispatch(ctx, s.env, tools.Call{ID: "call_1", Name: o.Name, Input: string(input)}, nil)
	return printCall(w, s.env, out, context.Cause(ctx))
}

// addFiles adds to the environment of the tool what depends on the files of its workspace.
func (s *site) addFiles(repo *gitops.Repo) {
	env, dir := s.env, s.env.Workspace.Dir()
	env.Ignore, env.Todos, env.Changes, env.Cache = ignored(repo, dir), &tools.Todos{}, &change.Tracker{}, &tools.Cache{}
	env.ChildEnv = proc.ChildEnv(s.w.Getenv, env.Profile.Env)
	env.Private = append(confinement.ConcealedFromTools(env.Profile, s.set.private), rundir.Resolve(filepath.Join(dir, ".millhand", "runs")))
	if env.Skills = skill.Find(env.Workspace, s.set.skills); len(env.Skills.Problems) > 0 {
		fmt.Fprintln(s.w.Err, printable.Text(errors.Join(env.Skills.Problems...).Error()))
	}
}

// start starts what serves the call, and returns its tools.
func (s *site) start(ctx context.Context) (*tools.Registry, error) {
	served, err := s.serve(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.hook(ctx); err != nil {
		return nil, err
	}
	if err := s.serveLanguages(ctx); err != nil {
		return nil, err
	}
	registry, err := tools.For(s.env, slices.Concat(s.set.custom, served)...)
	if err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	return registry, s.confine(ctx)
}

// readArguments reads the arguments of a call.
func readArguments(ctx context.Context, w world.World) ([]byte, error) {
	input, err := abandon.When(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(w.In, maxArguments+1)) })
	switch {
	case err != nil:
		return nil, fault.New(event.ExitUsage, "read the arguments from stdin: %w", err)
	case len(input) > maxArguments:
		return nil, fault.New(event.ExitUsage, "the arguments on stdin exceed %d MiB", maxArguments>>20)
	}
	return input, nil
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
