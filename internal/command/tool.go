package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/machine"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/abandon"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/ignore"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tools"
)

// toolDocument is what `millhand tool` prints.
type toolDocument struct {
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

type toolOptions struct {
	load.ProfileOptions
	name, dir, model, sandbox string
	json                      bool // the result is always JSON
}

func toolCommand(w world.World) *cli.Command {
	o := &toolOptions{sandbox: string(sandbox.Auto)}
	return &cli.Command{
		Name: "tool", Usage: "List the tools that a model is offered, or run one call", ArgsUsage: "list | NAME --dir DIR",
		Description: "List the tools that a model is offered; or run one tool call, as a session would,\nand print its result as JSON. The arguments of the call are a JSON object on standard\ninput.",
		UsageText:   "millhand tool list --profile readonly\necho '{\"filePath\": \"go.mod\"}' | millhand tool read --dir .",
		Flags: append(flagsOf(o.Fields("full")),
			&cli.StringFlag{Name: "dir", Destination: &o.dir, Usage: "Run the call in the workspace `DIR` (required for a call)"},
			&cli.StringFlag{Name: "model", Destination: &o.model, Usage: "Offer the tools that `MODEL` is offered"},
			jsonFlag(&o.json, "Print one JSON document; a call always does"),
			flagOf(runs.SandboxField(&o.sandbox, "")),
		),
		Action: act(o.parse, func(ctx context.Context) error {
			if o.lists() {
				return listTools(ctx, w, toolsOptions{o.ProfileOptions, o.model, o.sandbox, o.json})
			}
			return runTool(ctx, w, *o)
		}),
	}
}

// lists reports whether the tools are listed. With a directory, list is the tool of that name.
func (o *toolOptions) lists() bool { return o.name == "list" && o.dir == "" }

func (o *toolOptions) parse(args []string) error {
	if len(args) == 1 && args[0] == "list" && o.dir == "" {
		o.name = args[0]
		return nil
	}
	if len(args) != 1 || o.dir == "" {
		return errors.New("tool requires a NAME and --dir, for example: echo '{\"filePath\":\"go.mod\"}' | millhand tool read --dir DIR")
	}
	if o.name = args[0]; tools.Unsupported(o.name) && o.Manifest == "" {
		return fmt.Errorf("the tool %s requires --manifest, with language servers (lsp)", o.name)
	}
	o.Paths = []load.Path{{Flag: "--dir", Path: o.dir}}
	return nil
}

func runTool(ctx context.Context, w world.World, o toolOptions) error {
	profile, err := load.Profile(ctx, w, o.ProfileOptions)
	if err != nil {
		return err
	}
	settings, err := readToolSettings(ctx, w, o.model, o.ProfileOptions)
	if err != nil {
		return err
	}
	input, err := abandon.When(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(w.In, 16<<20)) })
	if err != nil {
		return fault.New(event.ExitUsage, "read the arguments from stdin: %w", err)
	}
	space, err := workspace.Open(o.dir)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	defer space.Close()
	known, restore, err := hideHeaders(ctx, w, space.Dir())
	if err != nil {
		return fault.Wrap(event.ExitPolicy, err)
	}
	defer restore()
	env := settings.env
	if outputs, err := toolOutputs(os.TempDir()); err == nil { // without it outputs are truncated and not saved
		defer outputs.Close()
		tools.PruneOutputs(outputs, w.Now().Add(-rundir.OutputRetention)) //nolint:errcheck // the next call retries
		env.Outputs = outputs.Sub(runs.OutputsOf(space.Dir()))
	}
	env.Workspace, env.Profile, env.Ignore, env.Todos = space, profile, ignored(space.Dir(), w), &tools.Todos{}
	env.ChildEnv = proc.ChildEnv(w.Getenv, profile.Env)
	env.Private = append(confinement.ConcealedFromTools(profile, settings.private), rundir.Resolve(filepath.Join(space.Dir(), ".millhand", "runs")))
	if env.Skills = tools.FindSkills(space, settings.skills); len(env.Skills.Problems) > 0 {
		fmt.Fprintln(w.Err, printable.Text(errors.Join(env.Skills.Problems...).Error()))
	}
	env.Tree, env.Cache, env.Redact = &tools.Tree{}, &tools.Cache{}, w.Redactor(settings.plan, known...)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	served, stop, err := serveTools(ctx, w, o.ProfileOptions, o.sandbox, &env, settings, end, o.name)
	if err != nil {
		return err
	}
	defer stop()
	hooks, release, err := hookTools(ctx, w, o.ProfileOptions, o.sandbox, &env, settings, end)
	if err != nil {
		return err
	}
	defer release()
	env.Hooks = append(env.Hooks, hooks...) // they see the arguments that plugins have made
	closeLanguages, err := serveLanguages(ctx, w, o.ProfileOptions, o.sandbox, &env, settings, end, o.name)
	if err != nil {
		return err
	}
	defer closeLanguages()
	registry, err := tools.For(&env, slices.Concat(settings.custom, served)...)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	if settings.runs(o.name) {
		done, err := confineTool(ctx, w, o.ProfileOptions, o.sandbox, &env, settings, end, o.name)
		if err != nil {
			return err
		}
		defer done()
	}
	out := registry.Dispatch(ctx, &env, tools.Call{ID: "call_1", Name: o.name, Input: string(input)}, nil)
	return printCall(w, &env, out)
}

// printCall prints the result of a call, and returns its exit code.
func printCall(w world.World, env *tools.Env, out tools.Outcome) error {
	meta := metadataDocument{CallMetadata: event.CallMetadata(out.Metadata)}
	for _, a := range out.Attachments {
		meta.Attachments = append(meta.Attachments, attachmentDocument{a.Name, a.MIME, len(a.Data)})
	}
	metadata, err := json.Marshal(meta)
	if err != nil {
		return fault.New(event.ExitInternal, "print the result: %w", err)
	}
	doc := toolDocument{
		Tool: out.Tool, Status: out.Status, Title: out.Title, Output: out.Output, Error: out.Error, Metadata: env.Redact.JSON(metadata),
	}
	if d := out.Decision; d != nil {
		doc.Decision = &decisionDocument{d.Effect.String(), d.Rule, d.Source}
	}
	if err := printable.WriteJSON(w.Out, doc); err != nil {
		return fault.New(event.ExitInternal, "print the result: %w", err)
	}
	switch out.Status {
	case tools.Denied:
		return fault.Silent(event.ExitPolicy)
	case tools.Failed:
		return fault.Silent(event.ExitFailed)
	default:
		return nil
	}
}

// hideHeaders removes the credentials from the configuration of a directory's
// repository, as a run does, and returns them.
func hideHeaders(ctx context.Context, w world.World, dir string) (secrets []string, restore func(), err error) {
	repo, err := gitops.Open(dir, w.GitEnv())
	if err != nil {
		return nil, func() {}, nil //nolint:nilerr // without a repository there are none
	}
	if secrets, err = credentials.Secrets(repo.Git); err != nil {
		return nil, nil, err
	}
	back, err := credentials.Hide(ctx, repo.Git)
	return secrets, func() {
		if err := back(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintln(w.Err, printable.Text("millhand: "+err.Error()))
		}
	}, err
}

// toolOutputs opens the directory for saved outputs of single calls. It is the same
// for every call, so that later calls can read them. Its name is predictable, so a
// directory that another user created or can write to is not used, but a new one with
// a random name. The caller closes it.
func toolOutputs(tmp string) (*files.Dir, error) {
	name := fmt.Sprintf("millhand-outputs-%d", os.Geteuid())
	if err := os.Mkdir(filepath.Join(tmp, name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create a directory for outputs: %w", err)
	}
	dir, err := files.Enter(tmp, name)
	if err == nil && dir.Own() {
		return dir, nil
	}
	if err == nil {
		dir.Close()
	}
	fresh, err := os.MkdirTemp(tmp, "millhand-outputs-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for outputs: %w", err)
	}
	return files.Open(fresh)
}

// runs reports whether a tool can run commands.
func (s *toolSettings) runs(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return name == "bash" || name == "batch" || slices.ContainsFunc(s.custom, func(t tools.Tool) bool { return strings.ToLower(t.Spec().Name) == name })
}

// granted reports whether a tool is a custom one that may write the workspace, whatever the profile allows.
func (s *toolSettings) granted(name string) bool {
	return s.plan != nil && slices.ContainsFunc(s.plan.Tools, func(t tasks.CustomTool) bool {
		return t.Workspace && strings.EqualFold(t.Name, strings.TrimSpace(name))
	})
}

// confineTool gives a single call the sandbox of a session's commands. A violation
// that the level can't prevent ends the call. done removes the sandbox.
func confineTool(ctx context.Context, w world.World, o load.ProfileOptions, mode string, env *tools.Env, settings *toolSettings, end func(error), call string) (done func(), err error) {
	g, base, err := toolGround(ctx, w, o, mode, env, settings, end)
	if err != nil {
		return nil, err
	}
	if !settings.granted(call) {
		g.LockWorkspace()
	}
	if err := g.Prepare(); err != nil {
		os.RemoveAll(base)
		return nil, fault.Wrap(event.ExitInternal, err)
	}
	box, err := confinement.Open(ctx, g)
	switch {
	case errors.Is(err, sandbox.ErrAbsent):
		os.RemoveAll(base)
		return nil, fault.Wrap(event.ExitPolicy, err)
	case err != nil:
		failed := err // of each command of the call
		env.ChildEnv = g.Env
		env.Commands.Confine = func([]string, []string, string) (*proc.Confined, error) { return nil, failed }
		return func() { os.RemoveAll(base) }, nil //nolint:nilerr // see failed
	}
	for _, l := range box.Unopened(g) {
		fmt.Fprintln(w.Err, printable.Text("millhand: "+l.Why.Error()))
	}
	env.ChildEnv, env.Commands = box.Env, box.Commands()
	return func() {
		box.Close() //nolint:errcheck // the call has ended
		os.RemoveAll(base)
	}, nil
}

// toolGround returns what a single call's commands are confined to, and the directory with
// their private ones, which the caller removes.
func toolGround(ctx context.Context, w world.World, o load.ProfileOptions, sandboxFlag string, env *tools.Env, settings *toolSettings, end func(error)) (g confinement.Env, base string, err error) {
	if err := machine.Check(w); err != nil {
		return g, "", err
	}
	opts, err := load.TaskOptions(ctx, w, o.PolicyOptions)
	if err != nil {
		return g, "", err
	}
	mode, err := runs.SandboxMode(sandboxFlag, opts.Policies)
	if err != nil {
		return g, "", err
	}
	level, state, err := runs.ChooseLevel(ctx, mode, !env.Profile.Hides("bash") || settings.extends(), runs.Probing(ctx, mode).End)
	if err != nil {
		return g, "", err
	}
	if state.Warning != "" {
		fmt.Fprintln(w.Err, printable.Text("millhand: "+state.Warning))
	}
	if base, err = os.MkdirTemp("", "millhand-tool-"); err != nil {
		return g, "", fault.New(event.ExitInternal, "create a private directory: %w", err)
	}
	if os.Geteuid() == 0 { // whose commands can run as another user
		if err := os.Chmod(base, 0o711); err != nil {
			os.RemoveAll(base)
			return g, "", fault.New(event.ExitInternal, "create a private directory: %w", err)
		}
	}
	g = confinement.Env{
		Level: level, Workspace: env.Workspace.Dir(), Home: filepath.Join(base, "home"), Tmp: filepath.Join(base, "tmp"), InPlace: true,
		Profile: env.Profile, Caches: filepath.Join(base, "caches"), Getenv: w.Getenv, Limits: manifest.DefaultLimits(), Now: w.Now,
		Private: settings.private, Tell: func(event.Network) {}, Fail: func(err error) {
			if errors.As(err, new(*permission.Error)) { // otherwise it is the error of the call
				end(err)
			}
		},
	}
	if settings.plan != nil {
		g.Tools = settings.plan.Tools
	}
	if repo, err := gitops.Open(g.Workspace, w.GitEnv()); err == nil {
		g.Git, g.Tree = []string{repo.Git.Own, repo.Git.Common}, repo.Root()
		if below, err := repo.Below(g.Workspace); err == nil {
			g.Submodules = repo.Submodules(below)
		}
	}
	for _, dir := range []string{g.Workspace, cmp.Or(g.Tree, g.Workspace)} {
		g.Hidden = append(g.Hidden, filepath.Join(dir, ".millhand"))
	}
	slices.Sort(g.Hidden)
	g.Hidden = slices.Compact(g.Hidden)
	if env.Outputs != nil && env.Outputs.Mkdir(".") == nil {
		g.Readable = []string{env.Outputs.Path()}
	}
	return g, base, nil
}

// ignored returns what is ignored in a directory by its repository, if any.
func ignored(dir string, w world.World) ignore.Tree {
	repo, err := gitops.Open(dir, w.GitEnv())
	if err != nil {
		return ignore.Tree{}
	}
	below, err := repo.Below(dir)
	if err != nil {
		return ignore.Tree{}
	}
	tree, err := repo.IgnoredBelow(below, "")
	if err != nil {
		return ignore.Tree{}
	}
	return tree
}

type toolsOptions struct {
	load.ProfileOptions
	model, sandbox string // of the model "" is every tool
	json           bool
}

// toolsCommand is the former name of "tool list".
func toolsCommand(w world.World) *cli.Command {
	o := &toolsOptions{sandbox: string(sandbox.Auto)}
	return &cli.Command{
		Name: "tools", Usage: "List the tools that are offered to a model", Hidden: true,
		UsageText: "millhand tool list --profile readonly\nmillhand tool list --model openai/gpt-5-mini --json",
		Flags: append(flagsOf(o.Fields("full")),
			&cli.StringFlag{Name: "model", Destination: &o.model, Usage: "List the tools that `MODEL` is offered"},
			jsonFlag(&o.json, "Print one JSON document, with the JSON Schemas of the tools"),
			flagOf(runs.SandboxField(&o.sandbox, "")),
		),
		Action: act(o.parse, func(ctx context.Context) error { return listTools(ctx, w, *o) }),
	}
}

func (o *toolsOptions) parse(args []string) error { return noArguments("tool list", args) }

// specDocument is one tool in `millhand tool list --json`.
type specDocument struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
	ReadOnly    bool           `json:"read_only"`
}

func listTools(ctx context.Context, w world.World, o toolsOptions) error {
	profile, err := load.Profile(ctx, w, o.ProfileOptions)
	if err != nil {
		return err
	}
	settings, err := readToolSettings(ctx, w, o.model, o.ProfileOptions)
	if err != nil {
		return err
	}
	env := settings.env
	env.Profile, env.Redact = profile, w.Redactor(settings.plan)
	if space, err := workspace.Open("."); err == nil { // otherwise there are no skills
		defer space.Close()
		env.Workspace = space
		env.Skills = tools.FindSkills(space, settings.skills)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if settings.plan != nil && settings.plan.LSP != nil {
		env.Languages = &tools.Languages{} // nothing is called
	}
	served, stop, err := serveTools(ctx, w, o.ProfileOptions, o.sandbox, &env, settings, end, "")
	if err != nil {
		return err
	}
	defer stop()
	registry, err := tools.For(&env, slices.Concat(settings.custom, served)...)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	docs := []specDocument{}
	for _, s := range registry.Offer(profile) {
		docs = append(docs, specDocument{s.Name, s.Description, s.Schema, s.ReadOnly})
	}
	if o.json {
		var text bytes.Buffer
		if err := printable.WriteJSON(&text, docs); err != nil {
			return err
		}
		_, err = w.Out.Write(env.Redact.JSON(text.Bytes()))
		return err
	}
	for _, d := range docs {
		fmt.Fprintf(w.Out, "%-11s %s\n", printable.Line(env.Redact.Text(d.Name), 100), printable.Line(env.Redact.Text(d.Description), 100))
	}
	return nil
}
