package ablation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// verifier is a verify command: it passes on a tree with some texts, and without others.
type verifier struct {
	runs  []string // keys
	ahead int      // trees that are asked for
	asked []string // keys of them
	stop  int      // number of runs after which the search has to end; 0 for none
	pass  func(text string) bool
}

func (v *verifier) try(tree Tree, ahead func(int) []Tree) (string, bool) {
	if v.stop > 0 && len(v.runs) == v.stop {
		return "", false
	}
	v.runs = append(v.runs, tree.Key())
	for _, t := range ahead(v.ahead) {
		v.asked = append(v.asked, t.Key())
	}
	var all strings.Builder
	for _, e := range tree {
		fmt.Fprintf(&all, "%s:%s;", e.Path, e.Data)
	}
	if v.pass(all.String()) {
		return "", true
	}
	return "tests", true
}

// file returns a change of a file that adds each text after a line of its own.
func file(path string, added ...string) File {
	var before, after strings.Builder
	for i, s := range added {
		fmt.Fprintf(&before, "line %d\n", i)
		fmt.Fprintf(&after, "line %d\n%s\n", i, s)
	}
	return File{path, text(before.String()), text(after.String())}
}

func hasAll(texts ...string) func(string) bool {
	return func(s string) bool {
		return !slices.ContainsFunc(texts, func(t string) bool { return !strings.Contains(s, t) })
	}
}

func states(verdicts []Verdict) string {
	var b strings.Builder
	for _, v := range verdicts {
		b.WriteByte(map[State]byte{Needed: 'n', Unneeded: '-', Untried: '?'}[v.State])
	}
	return b.String()
}

func TestHunksThatNothingNeedsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		files []File
		pass  func(string) bool
		want  string
	}{
		"all are needed":              {[]File{file("a", "A", "B"), file("b", "C")}, hasAll("A", "B", "C"), "nnn"},
		"one of three":                {[]File{file("a", "A", "X", "B")}, hasAll("A", "B"), "n-n"},
		"a file":                      {[]File{file("a", "A"), file("b", "X", "Y", "Z")}, hasAll("A"), "n---"},
		"everything":                  {[]File{file("a", "X"), file("b", "Y")}, func(string) bool { return true }, "--"},
		"one of two that do the same": {[]File{file("a", "X", "Y", "A")}, func(s string) bool { return hasAll("A")(s) && (hasAll("X")(s) || hasAll("Y")(s)) }, "-nn"},
		"what dead code needs": {
			[]File{file("a", "func helper", "A"), file("b", "calls help_er", "B")},
			func(s string) bool {
				return hasAll("A", "B")(s) && (hasAll("func helper")(s) || !strings.Contains(s, "calls"))
			}, "-n-n",
		},
		"an import of dead code": {
			[]File{file("a.go", `import "os"`, "A", "func dead { os.Exit }", "B")},
			func(s string) bool {
				return hasAll("A", "B")(s) && strings.Contains(s, "import") == strings.Contains(s, "dead")
			}, "-n-n",
		},
		"tests stay": {[]File{file("a", "A"), file("a_test.go", "T", "U")}, hasAll("A"), "n??"},
	} {
		change := Read(c.files)
		v := &verifier{pass: c.pass}
		got := change.Search(v.try)
		if states(got) != c.want {
			t.Errorf("%s: got %s, want %s", name, states(got), c.want)
		}
		if len(v.runs) > change.MaxTrials() {
			t.Errorf("%s: %d trials, more than %d", name, len(v.runs), change.MaxTrials())
		}
		for _, verdict := range got {
			if (verdict.By == "tests") != (verdict.State == Needed) {
				t.Errorf("%s: %+v", name, verdict)
			}
		}
	}
}

// What is unneeded can be undone together, and nothing else can be undone alone: for random verify commands.
func TestASearchLeavesAMinimalChange(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var files []File
		n := 0
		for f := range 1 + r.IntN(4) {
			var added []string
			for range 1 + r.IntN(5) {
				added = append(added, fmt.Sprintf("<%d>", n))
				n++
			}
			files = append(files, file(fmt.Sprintf("f%d", f), added...))
		}
		type rule struct{ when, then int } // -1: always
		var rules []rule
		for range r.IntN(2 * n) {
			rules = append(rules, rule{r.IntN(n+1) - 1, r.IntN(n)})
		}
		pass := func(s string) bool {
			has := func(i int) bool { return strings.Contains(s, fmt.Sprintf("<%d>", i)) }
			return !slices.ContainsFunc(rules, func(r rule) bool { return (r.when < 0 || has(r.when)) && !has(r.then) })
		}
		change := Read(files)
		v := &verifier{pass: pass}
		verdicts := change.Search(v.try)
		if len(v.runs) > change.MaxTrials() {
			t.Errorf("seed %d: %d trials, more than %d", seed, len(v.runs), change.MaxTrials())
		}
		undone := Set{}
		for i, verdict := range verdicts {
			undone[i] = verdict.State == Unneeded
		}
		passes := func(without Set) bool {
			failed, _ := (&verifier{pass: pass}).try(change.Tree(without), func(int) []Tree { return nil })
			return failed == ""
		}
		if !passes(undone) {
			t.Errorf("seed %d: the unneeded hunks can't be undone together: %s", seed, states(verdicts))
		}
		if len(v.runs) == change.MaxTrials() {
			continue // not finished
		}
		for i, verdict := range verdicts {
			if verdict.State == Needed && passes(undone.With(i)) {
				t.Errorf("seed %d: hunk %d is not needed: %s", seed, i, states(verdicts))
			}
		}
	}
}

func TestASearchIsTheSameWhereverItIsInterrupted(t *testing.T) {
	files := []File{file("a", "A", "X", "B", "Y"), file("b", "C", "Z"), file("c", "W")}
	pass := hasAll("A", "B", "C")
	complete := &verifier{pass: pass}
	want := Read(files).Search(complete.try)
	for stop := 1; stop < len(complete.runs); stop++ {
		v := &verifier{pass: pass, stop: stop}
		got := Read(files).Search(v.try)
		if diff := cmp.Diff(complete.runs[:stop], v.runs); diff != "" {
			t.Errorf("after %d: %s", stop, diff)
		}
		for i, verdict := range got {
			if verdict.State != Untried && verdict != want[i] {
				t.Errorf("after %d, hunk %d: %v, in the end %v", stop, i, verdict, want[i])
			}
		}
	}
}

// The trees ahead are those that are tried next, while trials fail.
func TestTheNextTrialsAreKnownAhead(t *testing.T) {
	change := Read([]File{file("a", "A", "B", "C"), file("b", "D")})
	v := &verifier{pass: hasAll("A", "B", "C", "D"), ahead: 100}
	change.Search(v.try)
	if diff := cmp.Diff(v.runs[1:], v.asked[:len(v.runs)-1]); diff != "" {
		t.Error(diff)
	}
}
