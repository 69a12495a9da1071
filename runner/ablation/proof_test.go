package ablation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runner is a verify command that fails if an enabled test of a file needs code that is missing: "needs X" in the line of a test.
func runner(trials *int) Trier {
	return func(tree Tree, _ func(int) []Tree) (string, bool) {
		*trials++
		code, failed := "", ""
		for _, e := range tree {
			if !strings.Contains(e.Path, "test") {
				code += string(e.Data)
			}
		}
		for _, e := range tree {
			for line := range strings.Lines(string(e.Data)) {
				_, needs, _ := strings.Cut(strings.TrimSpace(line), "needs ")
				switch {
				case !strings.Contains(e.Path, "test") || strings.Contains(line, "xtest") || needs == "":
				case !strings.Contains(code, needs) && !strings.Contains(string(e.Data), "define "+needs):
					failed = "tests"
				}
			}
		}
		return failed, true
	}
}

func TestTestsThatPassWithoutTheChangeAreFound(t *testing.T) {
	fails, passes := new(true), new(false)
	for name, c := range map[string]struct {
		files []File
		want  []Test
		most  int
	}{
		"one test":              {[]File{file("a.py", "A"), file("test_a.py", "def test_x(): # needs A")}, []Test{{"test_a.py", "test_x", true, fails}}, 1},
		"one that can't fail":   {[]File{file("a.py", "A"), file("test_a.py", "def test_x(): pass")}, []Test{{"test_a.py", "test_x", true, passes}}, 1},
		"a changed test":        {[]File{file("a.py", "A"), file("test_a.py", "# needs A")}, []Test{{"test_a.py", "", false, fails}}, 1},
		"what tests use":        {[]File{file("a.py", "A"), file("tests/data.json", "1")}, nil, 0},
		"no change of the code": {[]File{file("test_a.py", "def test_x(): pass")}, []Test{{"test_a.py", "test_x", true, passes}}, 1},
		"one of two": {
			[]File{file("a.py", "A"), {"test_a.py", Content{}, text("def test_x(): # needs A\n\ndef test_y(): pass\n")}},
			[]Test{{"test_a.py", "test_x", true, fails}, {"test_a.py", "test_y", true, passes}},
			4,
		},
		"two files": {
			[]File{file("a.py", "A"), file("test_a.py", "def test_x(): # needs A"), file("test_b.py", "def test_y(): pass")},
			[]Test{{"test_a.py", "test_x", true, fails}, {"test_b.py", "test_y", true, passes}},
			4,
		},
		"a file that needs another": {
			[]File{file("a.py", "A"), file("test_a.py", "def test_x(): # needs A"), file("test_b.py", "def test_y(): # needs other", "define")},
			[]Test{{"test_a.py", "test_x", true, fails}, {"test_b.py", "test_y", true, nil}},
			7,
		},
		"an old test beside it": {
			[]File{file("a.py", "A"), {"test_a.py", text("def test_old(): pass\n"), text("def test_old(): pass\ndef test_x(): # needs A\ndef test_y(): # needs A\n")}},
			[]Test{{"test_a.py", "test_x", true, fails}, {"test_a.py", "test_y", true, fails}},
			5,
		},
	} {
		trials := 0
		change := Read(c.files)
		got := change.Prove(runner(&trials))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if trials > c.most || trials > change.MaxProofs() {
			t.Errorf("%s: %d trials, more than %d or %d", name, trials, c.most, change.MaxProofs())
		}
	}
}

// An interrupted proof knows what it has tried, and of the rest nothing.
func TestAnInterruptedProofIsNoVerdict(t *testing.T) {
	change := Read([]File{file("a.py", "A"), file("test_a.py", "def test_x(): pass"), file("test_b.py", "def test_y(): # needs A")})
	for stop, want := range []int{0, 0, 1, 1, 2} {
		trials := 0
		try := runner(&trials)
		got := change.Prove(func(t Tree, ahead func(int) []Tree) (string, bool) {
			if trials == stop {
				return "", false
			}
			return try(t, ahead)
		})
		known := 0
		for _, test := range got {
			if test.Fails != nil {
				known++
			}
		}
		if known != want || len(got) != 2 {
			t.Errorf("after %d trials: %v", stop, got)
		}
	}
}
