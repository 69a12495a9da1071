package shell

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandTextIncludesRedirections(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"git  'status'   -s", []string{"git  'status'   -s"}},
		{"a b > out 2>&1; c", []string{"a b > out 2>&1", "c"}},
		{"> out a b < in | c", []string{"> out a b < in", "c"}},
		{"X=1 a b", []string{"X=1 a b"}},
		{"! a b &", []string{"a b"}},
		{"{ a b; } > out", []string{"a b"}},
		{"cat <<E | sort > out\nbody\nE\n", []string{"cat <<E", "sort > out"}},
		{"sudo -u x  git   push >log", []string{"sudo -u x  git   push >log", "git   push"}},
		{"bash -c 'a  b >c; d'", []string{"bash -c 'a  b >c; d'", "a  b >c", "d"}},
		{"echo $(a  b)", []string{"echo $(a  b)", "a  b"}},
		{"{a,b,c}", []string{"{a,b,c}"}},
		{"{sudo,rm,x}", []string{"{sudo,rm,x}", "rm x"}},
		{"find . -exec rm  -f {} \\;", []string{"find . -exec rm  -f {} \\;", "rm  -f {}"}},
		{"é 'ü'; ö", []string{"é 'ü'", "ö"}},
		{"echo `a  b > c`", []string{"echo `a  b > c`", "a b"}},
	}
	for _, tt := range tests {
		a, err := Analyze(tt.line)
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		var got []string
		for _, c := range a.Commands {
			got = append(got, c.Text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.line, diff)
		}
	}
}

func TestAccessHasReason(t *testing.T) {
	tests := map[string]string{
		"a > x":                  "redirection",
		"rm x":                   "argument of rm",
		"sort -o x":              "-o of sort",
		"sort --outp=x":          "--output of sort",
		"cd x":                   "argument of cd",
		"/bin/cat x":             "argument of cat",
		"find x":                 "argument of find",
		"git -C x push":          "-C of git",
		"git log --output=x":     "--output of git log",
		"git rm x":               "argument of git rm",
		"dd of=x":                "of= of dd",
		"bash x":                 "script of bash",
		"sed -n 'w x' /dev/null": "script of sed",
		"source x":               "argument of source",
		"curl -d @x y":           "-d of curl",
	}
	for line, want := range tests {
		a, err := Analyze(line)
		if err != nil || len(a.Accesses) != 1 {
			t.Errorf("%s: %v, %+v", line, err, a.Accesses)
			continue
		}
		if got := a.Accesses[0]; got.Why != want || got.Path != "x" {
			t.Errorf("%s: %+v, want %q", line, got, want)
		}
	}
}

func TestLinesBeyondTheBoundsAreRefused(t *testing.T) {
	tests := map[string]string{
		"longer than 64 KiB":             "echo " + strings.Repeat("x", MaxLine),
		"scripts in scripts":             nestedEval(maxScripts + 1),
		"more commands than 1,000":       strings.Repeat("a;", maxCommands+1),
		"deep brackets":                  strings.Repeat("(", maxNesting+1) + "a" + strings.Repeat(")", maxNesting+1),
		"deep keywords":                  strings.Repeat("if a; then ", maxDepth) + "a" + strings.Repeat("; fi", maxDepth),
		"many braces":                    "echo {1..100}{1..100}",
		"braces that take all memory":    "echo {1..1000000000}",
		"braces in braces":               "echo " + strings.Repeat("{a,b}", 30),
		"functions that call each other": callingFunctions(40),
		"a NUL byte":                     "a\x00b",
		"a carriage return":              "a\r\nb",
		"a comment that goes on":         "a # x \\\nrm y",
		"a broken expansion":             "eval $\\\n'\\x41'",
		"an unusual delimiter":           "cat <<$'\\x45'\nE\n$'\\x45'\n",
		"let with a redirection":         "let x>y",
		"a function with an operator":    "f() { a; } && b",
		"a coproc that looks like two":   "coproc a b | c",
	}
	for name, line := range tests {
		if a, err := Analyze(line); err == nil {
			t.Errorf("%s: no error but %d commands", name, len(a.Commands))
		}
	}
}

// nestedEval returns scripts within each other.
func nestedEval(n int) string { return strings.Repeat("eval ", n) + "a" }

// callingFunctions returns functions each of which calls the next one twice.
func callingFunctions(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d() { f%d; f%d; }\n", i, i+1, i+1)
	}
	return b.String() + "f0"
}

func TestInputsJustBelowTheLimitsAreAnalyzed(t *testing.T) {
	tests := map[string]string{
		"64 KiB":         "echo " + strings.Repeat("x", MaxLine-5),
		"1,000":          strings.Repeat("a;", maxCommands),
		"deep scripts":   nestedEval(maxScripts),
		"deep brackets":  strings.Repeat("(", 500) + "a" + strings.Repeat(")", 500),
		"many braces":    "echo {1..1000}",
		"loops in loops": strings.Repeat("for x in 1; do cd a; ", 30) + strings.Repeat("done;", 30),
		"a pipe":         strings.Repeat("a | ", maxCommands-1) + "a",
	}
	for name, line := range tests {
		if _, err := Analyze(line); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, cases := range tableFiles(f) {
		for _, c := range cases {
			f.Add(c.line)
		}
	}
	for n := range 50 {
		f.Add(newGenerator(uint64(n)).line())
	}
	f.Fuzz(func(t *testing.T, line string) {
		a, err := Analyze(line)
		if err != nil {
			if strings.Contains(err.Error(), "runtime error") || len(a.Commands)+len(a.Accesses)+len(a.Unknown) > 0 {
				t.Errorf("%q: %v", line, err)
			}
			return
		}
		for _, c := range a.Commands {
			if c.Program == "" && c.Plain != "" && !strings.HasPrefix(c.Plain, " ") {
				t.Errorf("%q: command %+v", line, c)
			}
		}
		for _, x := range a.Accesses {
			if x.Path == "" || x.Why == "" {
				t.Errorf("%q: access %+v", line, x)
			}
		}
		for _, u := range a.Unknown {
			if u.Reason == "" {
				t.Errorf("%q: unknown %+v", line, u)
			}
		}
	})
}

func BenchmarkAnalyze(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Analyze(`cd web && npm test 2>&1 | tail -n 20; git status --short`); err != nil {
			b.Fatal(err)
		}
	}
}
