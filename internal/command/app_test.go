package command

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

// commandsOf returns the lines that name the commands of an app.
func commandsOf(path []string, commands []*cli.Command) [][]string {
	list := [][]string{path}
	for _, c := range commands {
		list = append(list, commandsOf(append(path[:len(path):len(path)], c.Name), c.Subcommands)...)
	}
	return list
}

// watched is a stream that notes whether what writes to it was called by urfave/cli.
type watched struct {
	bytes.Buffer
	byApp bool
}

func (w *watched) Write(text []byte) (int, error) {
	calls := make([]uintptr, 100)
	frames := runtime.CallersFrames(calls[:runtime.Callers(1, calls)])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		w.byApp = w.byApp || frame.Function == "github.com/urfave/cli/v2.(*App).RunContext"
	}
	return w.Buffer.Write(text)
}

// TestTheAppRunsEveryCommand checks what github.com/urfave/cli/v2 does in the program: it shows the
// help of each command, runs their actions, which nothing else calls, and prints completions and the
// manual page.
func TestTheAppRunsEveryCommand(t *testing.T) {
	lines := commandsOf(nil, newApp(world.World{}).Commands)
	if len(lines) < 50 {
		t.Errorf("only %d commands", len(lines))
	}
	for _, line := range lines {
		command := strings.Join(append([]string{"millhand"}, line...), " ")
		args := strings.Fields(command + " --help")
		if c, _ := find(newApp(world.World{}), line); c.SkipFlagParsing || c.Name == "help" { // which shows that of the program
			continue
		} else if len(c.Subcommands) == 0 {
			args = strings.Fields(command + " a b -h c")
		}
		var out watched
		exit := Main(t.Context(), args, world.World{Out: &out, Err: &out, Getenv: noVariables})
		if exit != 0 || !out.byApp || !strings.Contains(out.String(), "USAGE\n  "+command+" ") {
			t.Errorf("%q: exit code %d, by the library: %t\n%s", args, exit, out.byApp, &out)
		}
	}
	for _, line := range []string{"--version", "version", "schema", "completion fish", "completion bash", "man", "explain limits", "explain --policy hosts", "help policy explain"} {
		var out watched
		exit := Main(t.Context(), append([]string{"millhand"}, strings.Fields(line)...), world.World{Out: &out, Err: &out, Getenv: noVariables})
		if exit != 0 || !out.byApp || out.Len() == 0 {
			t.Errorf("%s: exit code %d, by the library: %t\n%s", line, exit, out.byApp, &out)
		}
	}
}

// TestOnlyTheLibraryCallsActions searches the package for calls of them, and of others that run
// commands.
func TestOnlyTheLibraryCallsActions(t *testing.T) {
	packages, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0) //nolint:staticcheck // types are not needed
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, p := range packages {
		ast.Inspect(p, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch of, _ := call.Fun.(*ast.SelectorExpr); {
			case of == nil:
			case of.Sel.Name == "Action" || of.Sel.Name == "NewContext" || of.Sel.Name == "Apply":
				t.Errorf("a call of %s: cli.App runs commands", of.Sel.Name)
			case of.Sel.Name == "RunContext":
				runs++
			}
			return true
		})
	}
	if runs != 1 {
		t.Errorf("%d calls of RunContext", runs)
	}
}

// The library ends the process by default for an error with an exit code, which exec.ExitError is, too.
func TestErrorsWithExitCodesDoNotEndTheProcess(t *testing.T) {
	for name, give := range map[string]error{
		"cli.Exit":       cli.Exit("stop", 9),
		"exec.ExitError": exec.CommandContext(t.Context(), "false").Run(),
		"a failure":      fault.New(event.ExitPolicy, "stop"),
	} {
		app := newApp(world.World{Out: new(bytes.Buffer)})
		app.Command("version").Action = func(*cli.Context) error { return give }
		if err := runLine(t.Context(), app, []string{"version"}, noVariables); !errors.Is(err, give) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// sampleApp has a command with a flag of each kind, which sets got.
func sampleApp(got *string) *cli.App {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Value: "none"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}},
		&cli.IntFlag{Name: "jobs"},
		&cli.DurationFlag{Name: "max-time"},
		&cli.GenericFlag{Name: "only", Value: &option.Texts{}},
		&cli.StringSliceFlag{Name: "slice"},
		&cli.StringFlag{Name: "keep", EnvVars: noVariable()},
	}
	return prepare(&cli.App{Name: "millhand", Writer: new(bytes.Buffer), Commands: []*cli.Command{{
		Name: "sample", Flags: flags, Usage: "Test", Action: func(in *cli.Context) error {
			var list []string
			for _, f := range flags {
				if name := f.Names()[0]; in.IsSet(name) {
					list = append(list, name+"="+in.Generic(name).(interface{ String() string }).String())
				}
			}
			*got = strings.Join(append(append(list, "|"), in.Args().Slice()...), " ")
			return nil
		},
	}}})
}

func TestFlagsOfACommandLine(t *testing.T) {
	env := map[string]string{"MILLHAND_JOBS": "7", "MILLHAND_QUIET": "", "MILLHAND_KEEP": "x", "MILLHAND_HELP": "true"}
	for line, want := range map[string]string{
		"a b":                            "jobs=7 | a b",
		"a --jobs 3 b --model=x":         "model=x jobs=3 | a b",
		"-jobs=3 -m x -q":                "model=x quiet=true jobs=3 |",
		"-q --quiet -m x --model y":      "model=y quiet=true jobs=7 |",
		"--quiet=false --max-time 90m -": "quiet=false jobs=7 max-time=1h30m0s | -",
		"--quiet false":                  "quiet=true jobs=7 | false",
		"--only a,b --only c d":          "jobs=7 only=a,b, c | d",
		"--slice a,b --slice c":          "jobs=7 slice=[a,b c] |",
		"--model --quiet -- --jobs -x":   "model=--quiet jobs=7 | --jobs -x",
		"--jobs 1 --jobs 2 --model=":     "model= jobs=2 |",
		"sample -- sample":               "jobs=7 | sample sample",
		"--model ---x\ny ":               "model=---x\ny jobs=7 |",
	} {
		var got string
		args := []string{"sample"}
		for arg := range strings.SplitSeq(line, " ") {
			if arg != "" {
				args = append(args, arg)
			}
		}
		if err := runLine(t.Context(), sampleApp(&got), args, func(name string) string { return env[name] }); err != nil || got != want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", line, got, err, want)
		}
	}
}

func TestMistakesOfACommandLine(t *testing.T) {
	env := func(name string) string { return map[string]string{"MILLHAND_MAX_TIME": "long"}[name] }
	for line, want := range map[string]string{
		"--jbos 3":        "unknown flag --jbos; did you mean --jobs?",
		"a -j3 --jobs x":  "unknown flag -j3; did you mean --jobs?",
		"--zzzzzzzz":      "unknown flag --zzzzzzzz",
		"a --jobs":        "flag needs an argument: --jobs",
		"a -m":            "flag needs an argument: -m",
		"--jobs x":        `invalid value "x" for --jobs: parse error`,
		"--jobs x --help": `invalid value "x" for --jobs: parse error`,
		`--jobs "x":\`:    `invalid value "\"x\":\\" for --jobs: parse error`,
		"-q=maybe":        `invalid value "maybe" for --quiet: parse error`,
		"-=x":             "bad flag syntax: -=x",
		"a":               `invalid value "long" for MILLHAND_MAX_TIME: parse error`,
	} {
		var got string
		err := runLine(t.Context(), sampleApp(&got), append([]string{"sample"}, strings.Fields(line)...), env)
		if err == nil || err.Error() != want+"; see 'millhand sample --help'" || fault.ExitOf(err) != event.ExitUsage {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
	for _, line := range []string{"-h", "a --help", "--jobs 3 -help", "--help=false"} {
		got := "not run"
		if err := runLine(t.Context(), sampleApp(&got), append([]string{"sample"}, strings.Fields(line)...), env); err != nil || got != "not run" {
			t.Errorf("%s: got %v, %s, want help", line, err, got)
		}
	}
}

func TestMistakesInCommandsAndTheirFlags(t *testing.T) {
	for line, want := range map[string]string{
		"rnu":                          `unknown command "rnu"; did you mean run?; see 'millhand --help'`,
		"rnu --help":                   `unknown command "rnu"; did you mean run?; see 'millhand --help'`,
		"policy explian x":             `unknown command "policy explian"; did you mean explain?; see 'millhand policy --help'`,
		"nothing-of-the-kind -x":       `unknown command "nothing-of-the-kind"; see 'millhand --help'`,
		"github-acton":                 `unknown command "github-acton"; see 'millhand --help'`,
		"help polcy":                   `unknown command "polcy"; did you mean policy?; see 'millhand --help'`,
		"queue":                        "queue requires a subcommand: submit, status, cancel, report",
		"validate m.yaml --jobs=3":     "unknown flag --jobs=3, which is a flag of 'millhand run', 'millhand plan', 'millhand distill', 'millhand worker'; see 'millhand validate --help'",
		"plan m.yaml --report-dir out": "unknown flag --report-dir, which is a flag of 'millhand run', 'millhand report merge', 'millhand session fork', 'millhand distill', 'millhand queue report'; see 'millhand plan --help'",
		"-v run m.yaml":                "write run, which is a command, before flags and --: millhand run",
		"-- run m.yaml":                "write run, which is a command, before flags and --: millhand run",
		"publish --dry-run merge x":    "write merge, which is a command, before flags and --: millhand publish merge",
		"run m.yaml --format json":     "unknown flag --format, which is a flag of 'millhand plan'; see 'millhand run --help'",
		"plan m.yaml --jbos 3":         "unknown flag --jbos; did you mean --jobs?; see 'millhand plan --help'",
		"run m.yaml --attempts 3":      "unknown flag --attempts, which is the key tasks.attempts of a manifest; see 'millhand run --help'",
		"run m.yaml --require-changes": "unknown flag --require-changes, which is the key tasks.require_changes of a manifest; see 'millhand run --help'",
		"run m.yaml --hooks x":         "unknown flag --hooks, which is the key hooks of a manifest; see 'millhand run --help'",
		"run -p x --sandbx off":        "unknown flag --sandbx; did you mean --sandbox?; see 'millhand run --help'",
		"run -p x --kept":              "unknown flag --kept; did you mean --keep?; see 'millhand run --help'",
		"validate m.yaml --stop":       "unknown flag --stop, which is the key rollout.stop of a manifest; see 'millhand validate --help'",
		"plan m.yaml --resume x":       "unknown flag --resume, which is a flag of 'millhand run'; see 'millhand plan --help'",
	} {
		var out, problems bytes.Buffer
		exit := Main(t.Context(), append([]string{"millhand"}, strings.Fields(line)...), world.World{Out: &out, Err: &problems, Getenv: noVariables})
		if exit != int(event.ExitUsage) || problems.String() != "millhand: "+want+"\n" || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %s%s\nwant %s", line, exit, &problems, &out, want)
		}
	}
}

func TestManualPageHasEveryCommandAndFlag(t *testing.T) {
	page, err := manual(newApp(world.World{}))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(`\-`, "-", `\fB`, "", `\fP`, "", `\fI`, "", `\fR`, "", `\&`, "", `\(aq`, "'", `\\`, `\`).Replace(page)
	for _, c := range all(newApp(world.World{}).Commands) {
		for _, f := range c.VisibleFlags() {
			if !c.Hidden && !strings.Contains(text, "--"+f.Names()[0]) {
				t.Errorf("%s: no --%s", c.Name, f.Names()[0])
			}
		}
	}
	for _, want := range []string{"millhand report show RUN [JOB]", "millhand run [MANIFEST...] | -p PROMPT", "MILLHAND_REPORT_DIR"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, v := range variableDocs() {
		if !strings.Contains(text, strings.Join(v.names, ", ")) {
			t.Errorf("no variable %q", v.names)
		}
	}
	program, err := exec.LookPath("mandoc")
	if err != nil {
		t.Logf("note: not checked for errors: %v", err)
		return
	}
	cmd := exec.CommandContext(t.Context(), program, "-T", "lint", "-W", "error")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The library adds nothing to the process's environment or output.
func TestTheEnvironmentOfTheProcessSetsNoFlag(t *testing.T) {
	t.Setenv("MILLHAND_VERSION", "true")
	t.Setenv("MILLHAND_JSON", "true")
	var out bytes.Buffer
	if exit := Main(context.Background(), []string{"millhand", "version"}, world.World{Out: &out, Err: os.Stderr, Getenv: noVariables}); exit != 0 || strings.HasPrefix(out.String(), "{") {
		t.Errorf("exit code %d, %s", exit, &out)
	}
}
