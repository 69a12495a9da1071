package command

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
)

func TestCandidates(t *testing.T) {
	for line, want := range map[string]string{
		"":                        "run plan validate",
		"re":                      "report",
		"report ":                 "show list prune json junit",
		"report ju":               "junit",
		"help report ma":          "markdown",
		"help ru":                 "run",
		"run --pro":               "--profile",
		"run m.yaml --keep --max": "--max-cost --max-time --max-profile --max-turns",
		"run -":                   "--model",
		"run --verb":              "--verbose",
		"run --he":                "--help",
		"run --profile ":          "",
		"run --profile --ke":      "",
		"run --keep --ke":         "--keep",
		"run ":                    "",
		"completion ":             "bash zsh fish",
		"schema p":                "policy",
		"explain tasks.ver":       "tasks.verify tasks.verify.name",
		"nothing --":              "",
		"help nothing ":           "",
		"__com":                   "",
	} {
		var names []string
		for _, r := range candidates(newRoot(World{}), strings.Split(line, " ")) {
			names = append(names, r.name)
		}
		got := strings.Join(names, " ")
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %s, want %s", line, got, want)
		}
	}
}

func TestManualPageHasEveryCommandAndFlag(t *testing.T) {
	var b bytes.Buffer
	root := newRoot(World{})
	if err := writeMan(&b, root); err != nil {
		t.Fatal(err)
	}
	n := 0
	var walk func(path string, c *cli.Command)
	walk = func(path string, c *cli.Command) {
		for _, s := range c.Subcommands {
			if s.Hidden {
				continue
			}
			name := path + " " + s.Name
			if n++; len(s.Subcommands) == 0 && !strings.Contains(b.String(), "\n.SS "+roff(name)) {
				t.Errorf("no %s", name)
			}
			for _, f := range s.Flags {
				if v := f.(cli.VisibleFlag); v.IsVisible() && !strings.Contains(b.String(), roff("--"+f.Names()[0])) {
					t.Errorf("%s: no --%s", name, f.Names()[0])
				}
			}
			walk(name, s)
		}
	}
	walk(root.Name, root)
	if n < 20 {
		t.Errorf("only %d commands", n)
	}
	for _, v := range variableDocs() {
		if !strings.Contains(b.String(), roff(strings.Join(v.names, ", "))) {
			t.Errorf("no variable %q", v.names)
		}
	}
	for _, e := range event.Exits() {
		if !strings.Contains(b.String(), roff(strings.ReplaceAll(e.Doc, "`", ""))) {
			t.Errorf("no exit code %d", e.Exit)
		}
	}
	if strings.Contains(b.String(), "`") {
		t.Error("Markdown in the manual page")
	}
	program, err := exec.LookPath("mandoc")
	if err != nil {
		t.Logf("note: not checked for errors: %v", err)
		return
	}
	cmd := exec.CommandContext(t.Context(), program, "-T", "lint", "-W", "error")
	cmd.Stdin = &b
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRoff(t *testing.T) {
	if got, want := roff(".x\n'y\n--z\\n"), "\\&.x\n\\&'y\n\\-\\-z\\en"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
