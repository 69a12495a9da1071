package programs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// with reads the value of the key x of a file, next to run.sh, which can be run, plain.txt and the directory d. It returns what
// is wrong, in which DIR is the directory, and what is used.
func with[T any](t *testing.T, f form.Of[T], value string, policies ...policy.Rule) (got T, ok bool, problems string, uses *form.Uses) {
	t.Helper()
	dir := userfile.Real(t.TempDir())
	for name, mode := range map[string]os.FileMode{"run.sh": 0o700, "plain.txt": 0o600, "d/x": 0o600} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	uses = form.NewUses()
	src := &form.Source{File: problem.File{Name: "m.yaml", Found: problem.NewCollector()}, Dir: dir, Inputs: &form.Inputs{Uses: uses}}
	if len(policies) > 0 {
		src.Policies = policy.Set{{Name: "p.yaml", Rules: policies}}
	}
	root, valid := src.Parse([]byte("x: " + strings.ReplaceAll(value, "DIR", dir)))
	if !valid {
		t.Fatal(src.Found.Err())
	}
	entries, _ := root.Entries()
	got, ok = f.Read(entries[0])
	if err := src.Found.Err(); err != nil {
		problems = strings.ReplaceAll(err.Error(), dir, "DIR")
	}
	for _, p := range uses.Fixed {
		problems += "\nelsewhere: " + strings.ReplaceAll(p.What, dir, "DIR")
	}
	if c, isCommand := any(got).(Command); isCommand {
		for _, all := range [][]string{c.Args, c.Written} {
			for i := range all {
				all[i] = strings.ReplaceAll(all[i], dir, "DIR")
			}
		}
	}
	return got, ok, strings.TrimPrefix(problems, "\n"), uses
}

func TestCommandsAreLinesOrPrograms(t *testing.T) {
	t.Parallel()
	line := func(text string) Command {
		return Command{Args: []string{"bash", "-c", text}, Written: []string{text}}
	}
	named := regexp.MustCompile(`"(DIR|/)[^"]*"`) // paths are shortened, depending on how long that of TMPDIR is
	for value, want := range map[string]struct {
		command Command
		problem string
	}{
		"make test":             {line("make test"), ""},
		"5":                     {line("5"), ""},
		"[wc, -c, 5, true]":     {Command{Args: []string{"wc", "-c", "5", "true"}, Written: []string{"", "wc", "-c", "5", "true"}}, ""},
		"[./run.sh, a]":         {Command{Args: []string{"DIR/run.sh", "a"}, Written: []string{"", "./run.sh", "a"}}, ""},
		"[DIR/run.sh]":          {Command{Args: []string{"DIR/run.sh"}, Written: []string{"", "DIR/run.sh"}}, `elsewhere: entry 1 of "x" contains an absolute path, which workers may not have: "DIR"` + "\n" + `elsewhere: "DIR" is an absolute path, which workers may not have`},
		"[]":                    {Command{Written: []string{""}}, `m.yaml:1:4: "x" is empty; write a program and its arguments`},
		"[./nope]":              {Command{Args: []string{"DIR/nope"}, Written: []string{"", "./nope"}}, `m.yaml:1:4: program "./nope": not found; check its path; it is relative to the manifest`},
		"[./d]":                 {Command{Args: []string{"DIR/d"}, Written: []string{"", "./d"}}, `m.yaml:1:4: program "./d": not a file; check its path; it is relative to the manifest`},
		"[./plain.txt]":         {Command{Args: []string{"DIR/plain.txt"}, Written: []string{"", "./plain.txt"}}, `m.yaml:1:4: program "./plain.txt" is not executable; run chmod +x, or name its interpreter first`},
		"a ${{ vars.x }}":       {line(""), `m.yaml:1:4: "x" must not contain variables; write a fixed command; tools and hooks read JSON from standard input`},
		"[./run.sh, [a]]":       {Command{Args: []string{"./run.sh"}, Written: []string{"", "./run.sh"}}, `m.yaml:1:15: entry 2 of "x" must be a string, number or boolean, not a list; write one value`},
		`["a\0b", c]`:           {Command{Args: []string{"c"}, Written: []string{"", "c"}}, `m.yaml:1:5: entry 1 of "x" contains a NUL byte; remove it`},
		"null":                  {line(""), `m.yaml:1:4: "x" must be a string, number or boolean, not null; write one value`},
		"[a, '${{ env.HOME}}']": {Command{Args: []string{"a"}, Written: []string{"", "a"}}, `m.yaml:1:8: entry 2 of "x" must not contain variables; write a fixed command; tools and hooks read JSON from standard input`},
	} {
		got, ok, problems, _ := with(t, Program, value)
		if diff := cmp.Diff(want.command, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", value, diff)
		}
		if problems = named.ReplaceAllString(problems, `"DIR"`); problems != want.problem {
			t.Errorf("%s: %s, want %s", value, problems, want.problem)
		}
		if shell := !strings.HasPrefix(value, "["); shell && ok != (want.problem == "") {
			t.Errorf("%s: read: %t", value, ok)
		}
		argv, ok, problems, _ := with(t, Argv, value)
		if strings.HasPrefix(value, "[") {
			if diff := cmp.Diff(want.command, argv); diff != "" || !ok {
				t.Errorf("%s as a list (-want +got)\n%s", value, diff)
			}
			continue
		}
		if ok || argv.Args != nil || problems != `m.yaml:1:4: "x" must be a list; write a program and its arguments, such as [gcloud, auth, print-access-token]` {
			t.Errorf("%s as a list: %+v, %s", value, argv, problems)
		}
	}
}

// A program next to the manifest is an input of a queued plan; one of the system is not.
func TestProgramsAreInputs(t *testing.T) {
	t.Parallel()
	_, _, _, uses := with(t, Program, "[./run.sh]")
	if files := slices.Collect(maps.Keys(uses.Files)); len(files) != 1 || filepath.Base(files[0]) != "run.sh" || len(uses.Programs) > 0 {
		t.Errorf("%q, %v", files, uses.Programs)
	}
	_, _, _, uses = with(t, Program, "[/bin/sh, -c]")
	if !uses.Programs["/bin/sh"] || len(uses.Files) > 0 {
		t.Errorf("%v, %v", uses.Programs, uses.Files)
	}
	_, _, _, uses = with(t, Program, "[sh]")
	if len(uses.Programs)+len(uses.Files) > 0 {
		t.Errorf("a program of PATH is an input: %v, %v", uses.Programs, uses.Files)
	}
	got, ok, problems, _ := with(t, Program, "[/bin/sh]", policy.Rule{Key: policy.Paths, Allow: []string{"/nowhere"}, Source: "p.yaml:1"})
	if ok || got.Args != nil || !strings.HasPrefix(problems, `m.yaml:1:1: the path "/bin/sh" not allowed by `) {
		t.Errorf("%+v, %s", got, problems)
	}
}

func TestVariablesAreNamedAndBound(t *testing.T) {
	t.Parallel()
	ci := policy.Rule{Key: policy.Env, Allow: []string{"CI"}, Source: "p.yaml:1"}
	for value, want := range map[string]struct{ env, variable string }{
		"CI":     {"", ""},
		"_a1":    {`m.yaml:1:1: the environment variable _a1 not allowed by `, `m.yaml:1:1: the environment variable _a1 not allowed by `},
		"A B":    {`m.yaml:1:4: invalid environment variable name "A B"; write the name alone, such as CI`, `m.yaml:1:4: "x" must be the name of an environment variable; write the name alone, such as EXAMPLE_API_KEY, and never the key`},
		"sk-123": {`m.yaml:1:4: invalid environment variable name "sk-123"; write the name alone, such as CI`, `m.yaml:1:4: "x" must be the name of an environment variable; write the name alone, such as EXAMPLE_API_KEY, and never the key`},
		"''":     {`m.yaml:1:4: "x" is empty; give it a value, or remove it`, `m.yaml:1:4: "x" is empty; give it a value, or remove it`},
		"5":      {`m.yaml:1:4: "x" must be a string, not the number 5; put it in quotes`, `m.yaml:1:4: "x" must be a string, not the number 5; put it in quotes`},
	} {
		name, ok, problems, uses := with(t, EnvName, value, ci)
		if !strings.HasPrefix(problems, want.env) || (problems == "") != (want.env == "") || ok != IsEnvName(value) || ok != (name.S == value) || len(uses.Variables) > 0 {
			t.Errorf("%s: %q, %t, %s", value, name.S, ok, problems)
		}
		variable, ok, problems, uses := with(t, Variable, value, ci)
		if !strings.HasPrefix(problems, want.variable) || (problems == "") != (want.variable == "") || ok != IsEnvName(value) || ok != (variable == value) {
			t.Errorf("%s: %q, %t, %s", value, variable, ok, problems)
		}
		if _, recorded := uses.Variables[value]; recorded != ok {
			t.Errorf("%s: recorded as an input: %t", value, recorded)
		}
	}
}
