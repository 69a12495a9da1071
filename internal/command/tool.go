package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/ignore"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/workspace"
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
	Metadata map[string]any    `json:"metadata"`
}

type decisionDocument struct {
	Effect string `json:"effect"`
	Rule   string `json:"rule"`
	Source string `json:"source"`
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
		},
		Action: func(c *cli.Context) error { return runTool(c, w) },
	}
}

func runTool(c *cli.Context, w World) error {
	if c.NArg() != 1 || c.String("dir") == "" {
		return fail(event.ExitUsage, "tool wants a name and a folder: echo '{\"filePath\":\"go.mod\"}' | millhand tool read --dir .")
	}
	if slices.Contains(laterTools(), c.Args().First()) {
		return fail(event.ExitUsage, "the tool %s is not supported yet", c.Args().First())
	}
	profile, err := loadProfile(c, w)
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
	out := tools.BuiltIn().Dispatch(c.Context, &tools.Env{
		Workspace: space, Profile: profile, Ignore: ignoreRules(space.Dir(), w), Todos: &tools.Todos{},
		ChildEnv: proc.ChildEnv(w.Getenv, profile.Env), Outputs: filepath.Join(os.TempDir(), fmt.Sprintf("millhand-outputs-%d", os.Getpid())), Now: w.Now,
	}, tools.Call{ID: "call_1", Name: c.Args().First(), Input: string(input)}, nil)
	doc := toolDocument{
		Tool: out.Tool, Status: out.Status, Title: out.Title, Output: out.Output, Error: out.Error, Metadata: out.Metadata,
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

// laterTools lists the tools of later releases.
func laterTools() []string {
	return []string{"apply_patch", "batch", "task", "webfetch", "websearch", "codesearch", "skill", "lsp"}
}

// ignoreRules are those of the repository that a folder belongs to, if any.
func ignoreRules(dir string, w World) *ignore.Matcher {
	repo, err := gitops.Open(dir, gitEnv(w))
	if err != nil || repo.Root() != dir {
		return nil
	}
	rules, err := repo.IgnoreRules()
	if err != nil {
		return nil
	}
	return rules
}

// gitEnv is what git's behaviour takes from the process's environment.
func gitEnv(w World) gitops.Env {
	program, err := proc.Look("git", []string{"PATH=" + w.Getenv("PATH")})
	if err != nil {
		program = ""
	}
	return gitops.Env{Home: w.Getenv("HOME"), XDGConfigHome: w.Getenv("XDG_CONFIG_HOME"), SystemConfig: "/etc/gitconfig", GitProgram: program, Now: w.Now}
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
	docs := []specDocument{}
	for _, s := range tools.BuiltIn().Offer(profile) {
		docs = append(docs, specDocument{s.Name, s.Description, s.Schema, s.ReadOnly})
	}
	if c.Bool("json") {
		return writeJSON(w.Out, docs)
	}
	for _, d := range docs {
		fmt.Fprintf(w.Out, "%-10s %s\n", d.Name, oneLine(d.Description, 100))
	}
	return nil
}
