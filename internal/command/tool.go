package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/credentials"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/ignore"
	"github.com/millhand/millhand/internal/printable"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/reportdir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/workspace"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/tasks"
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

// attachmentDocument is a file that a model would be given beside the output.
type attachmentDocument struct {
	Name  string `json:"name"`
	Media string `json:"media"`
	Bytes int    `json:"bytes"`
}

func toolCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "tool", Usage: "makes exactly one tool call, as a session would; its arguments are a JSON object on stdin", ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Usage: "workspace of the call (required)"},
			&cli.StringFlag{Name: "profile", Usage: "a preset, a profile of --manifest, or a file; full if not given"},
			&cli.StringFlag{Name: "manifest", Usage: "manifest that defines the profile"},
			&cli.StringFlag{Name: "model", Usage: "offer the tools that this model would get"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document (always so)"},
			&cli.StringFlag{Name: "sandbox", Value: string(sandbox.Auto), Usage: "of commands: auto, require, external or off"},
		},
		Action: func(c *cli.Context) error { return runTool(c, w) },
	}
}

func runTool(c *cli.Context, w World) error {
	if c.NArg() != 1 || c.String("dir") == "" {
		return fail(event.ExitUsage, "tool wants a name and a folder: echo '{\"filePath\":\"go.mod\"}' | millhand tool read --dir .")
	}
	if name := c.Args().First(); name == "lsp" {
		return fail(event.ExitUsage, "the tool %s is not supported yet", name)
	}
	profile, err := loadProfile(c, w)
	if err != nil {
		return err
	}
	settings, err := readToolSettings(c, w)
	if err != nil {
		return err
	}
	input, err := io.ReadAll(io.LimitReader(w.In, 16<<20))
	if err != nil {
		return fail(event.ExitUsage, "read the arguments from stdin: %w", err)
	}
	space, err := workspace.Open(c.String("dir"))
	if err != nil {
		return failure{event.ExitUsage, err}
	}
	defer space.Close()
	known, putBack, err := hideHeaders(c.Context, w, space.Dir())
	if err != nil {
		return failure{event.ExitPolicy, err}
	}
	defer putBack()
	env := settings.env
	env.Workspace, env.Profile, env.Ignore, env.Todos = space, profile, ignoreRules(space.Dir(), w), &tools.Todos{}
	env.ChildEnv = proc.ChildEnv(w.Getenv, profile.Env)
	if outputs, err := toolOutputs(os.TempDir()); err == nil { // without it outputs are truncated and not kept
		defer outputs.Close()
		tools.PruneOutputs(outputs, w.Now().Add(-outputsKept)) //nolint:errcheck // what can't be removed is retried by the next call
		env.Outputs = outputs.Sub(folderOf(space.Dir()))
	}
	var problems []error
	if env.Skills, problems = tools.FindSkills(space, settings.skills); len(problems) > 0 {
		fmt.Fprintln(w.Err, printable.Text(errors.Join(problems...).Error()))
	}
	env.SkillProblems = problems
	env.Tree, env.Cache, env.Redact = &tools.Tree{}, &tools.Cache{}, secrets(w, settings.plan, known)
	registry, err := tools.For(&env, settings.custom...)
	if err != nil {
		return failure{event.ExitUsage, err}
	}
	ctx, end := context.WithCancelCause(c.Context)
	defer end(nil)
	if settings.runs(c.Args().First()) {
		done, err := confineTool(c, w, &env, end)
		if err != nil {
			return err
		}
		defer done()
	}
	out := registry.Dispatch(ctx, &env, tools.Call{ID: "call_1", Name: c.Args().First(), Input: string(input)}, nil)
	for _, a := range out.Attachments {
		list, _ := out.Metadata["attachments"].([]attachmentDocument)
		out.Metadata["attachments"] = append(list, attachmentDocument{a.Name, a.Media, len(a.Data)})
	}
	metadata, err := json.Marshal(out.Metadata)
	if err != nil {
		return fail(event.ExitInternal, "print the result: %w", err)
	}
	doc := toolDocument{
		Tool: out.Tool, Status: out.Status, Title: out.Title, Output: out.Output, Error: out.Error, Metadata: env.Redact.JSON(metadata),
	}
	if d := out.Decision; d != nil {
		doc.Decision = &decisionDocument{d.Effect.String(), d.Rule, d.Source}
	}
	if err := writeJSON(w.Out, doc); err != nil {
		return fail(event.ExitInternal, "print the result: %w", err)
	}
	switch out.Status {
	case tools.Denied:
		return exitWith(event.ExitPolicy)
	case tools.Failed:
		return exitWith(event.ExitFailed)
	default:
		return nil
	}
}

// hideHeaders takes the credentials out of the configuration of a folder's
// repository, as in a run, and returns them.
func hideHeaders(ctx context.Context, w World, dir string) (secrets []string, putBack func(), err error) {
	repo, err := gitops.Open(dir, gitEnv(w))
	if err != nil {
		return nil, func() {}, nil //nolint:nilerr // there is none that could have any
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

// folderOf names the folder of a workspace's kept outputs: the same for every
// call there, so that a later one can read them.
func folderOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}

// runs reports whether a tool may start commands.
func (s *toolSettings) runs(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return name == "bash" || name == "batch" || slices.ContainsFunc(s.custom, func(t tools.Tool) bool { return strings.ToLower(t.Spec().Name) == name })
}

// confineTool gives a single call the sandbox that a session's commands have.
// What no command may do and the level can't prevent ends the call. done removes
// the sandbox.
func confineTool(c *cli.Context, w World, env *tools.Env, end func(error)) (done func(), err error) {
	level, err := chooseLevel(c.Context, c.String("sandbox"), !env.Profile.Hides("bash"))
	if err != nil {
		return nil, err
	}
	base, err := os.MkdirTemp("", "millhand-tool-")
	if err != nil {
		return nil, fail(event.ExitInternal, "make a private folder: %w", err)
	}
	g := runner.Ground{
		Level: level, Workspace: env.Workspace.Dir(), Home: filepath.Join(base, "home"), Tmp: filepath.Join(base, "tmp"), InPlace: true,
		Profile: env.Profile, Caches: cacheDir(w), Getenv: w.Getenv, Env: env.ChildEnv, Limits: tasks.DefaultLimits(), Now: w.Now,
		Tell: func(event.Network) {}, Tampered: end,
	}
	if repo, err := gitops.Open(g.Workspace, gitEnv(w)); err == nil {
		g.Git = []string{repo.Git.Own, repo.Git.Common}
	}
	for _, dir := range []string{g.Home, g.Tmp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fail(event.ExitInternal, "make a private folder: %w", err)
		}
	}
	box, err := runner.OpenConfinement(c.Context, g)
	if err != nil {
		os.RemoveAll(base)
		return nil, failure{event.ExitPolicy, err}
	}
	env.Confine, env.Beside, env.ChildEnv = box.Confine(), box.Beside(), box.Env
	return func() {
		box.Close() //nolint:errcheck // the call is over
		os.RemoveAll(base)
	}, nil
}

// ignoreRules are those of the repository that a folder belongs to, if any, with
// what the .gitignore files of the folders above it say.
func ignoreRules(dir string, w World) *ignore.Matcher {
	repo, err := gitops.Open(dir, gitEnv(w))
	if err != nil {
		return nil
	}
	rules, err := repo.IgnoreRules()
	if err != nil {
		return nil
	}
	below, err := filepath.Rel(repo.Root(), dir)
	if err != nil || below == "." || !filepath.IsLocal(below) {
		return rules
	}
	root, err := os.OpenRoot(repo.Root())
	if err != nil {
		return rules.Within(below)
	}
	defer root.Close()
	at := "."
	for name := range strings.SplitSeq(filepath.ToSlash(below), "/") {
		if st, err := root.Lstat(path.Join(at, ".gitignore")); err == nil && st.Mode().IsRegular() && st.Size() <= maxIgnoreFile {
			if data, err := root.ReadFile(path.Join(at, ".gitignore")); err == nil {
				rules = rules.Descend(at, data)
			}
		}
		at = path.Join(at, name)
	}
	return rules.Within(filepath.ToSlash(below))
}

// maxIgnoreFile bounds a .gitignore, in bytes.
const maxIgnoreFile = 1 << 20

// gitEnv is what git's behaviour takes from the process's environment.
func gitEnv(w World) gitdir.Env {
	program, err := proc.Look("git", []string{"PATH=" + w.Getenv("PATH")})
	if err != nil {
		program = ""
	}
	return gitdir.Env{Home: w.Getenv("HOME"), XDGConfigHome: w.Getenv("XDG_CONFIG_HOME"), SystemConfig: "/etc/gitconfig", GitProgram: program, Now: w.Now}
}

func toolsCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "tools", Usage: "lists the tools that a model would be offered",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "as this model would be offered them"},
			&cli.StringFlag{Name: "profile", Usage: "under this profile; full if not given"},
			&cli.StringFlag{Name: "manifest", Usage: "manifest that defines the profile"},
			&cli.BoolFlag{Name: "json", Usage: "print their JSON Schemas too, as one JSON document"},
		},
		Action: func(c *cli.Context) error { return listTools(c, w) },
	}
}

// specDocument is one tool in `millhand tools --json`.
type specDocument struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
	ReadOnly    bool           `json:"read_only"`
}

func listTools(c *cli.Context, w World) error {
	profile, err := loadProfile(c, w)
	if err != nil {
		return err
	}
	settings, err := readToolSettings(c, w)
	if err != nil {
		return err
	}
	env := settings.env
	env.Profile = profile
	if space, err := workspace.Open("."); err == nil { // where there is none, there are no skills
		defer space.Close()
		env.Skills, env.SkillProblems = tools.FindSkills(space, settings.skills)
	}
	registry, err := tools.For(&env, settings.custom...)
	if err != nil {
		return failure{event.ExitUsage, err}
	}
	docs := []specDocument{}
	for _, s := range registry.Offer(profile) {
		docs = append(docs, specDocument{s.Name, s.Description, s.Schema, s.ReadOnly})
	}
	if c.Bool("json") {
		return writeJSON(w.Out, docs)
	}
	for _, d := range docs {
		fmt.Fprintf(w.Out, "%-11s %s\n", d.Name, printable.Line(d.Description, 100))
	}
	return nil
}

// toolOutputs opens the directory of outputs that single calls keep: the same
// for every call, so that a later one can read them. Its name is known to every
// user of the machine, so one that somebody else has made, or could write to, is
// not used, but a new one whose name nobody knows. The caller closes it.
func toolOutputs(tmp string) (*reportdir.Dir, error) {
	name := fmt.Sprintf("millhand-outputs-%d", os.Geteuid())
	if err := os.Mkdir(filepath.Join(tmp, name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make a directory for outputs: %w", err)
	}
	dir, err := reportdir.Enter(tmp, name)
	if err == nil && dir.Own() {
		return dir, nil
	}
	if err == nil {
		dir.Close()
	}
	fresh, err := os.MkdirTemp(tmp, "millhand-outputs-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for outputs: %w", err)
	}
	return reportdir.Open(fresh)
}
