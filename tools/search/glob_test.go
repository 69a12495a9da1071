package search

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/ignore"
)

// globPaths searches and returns the paths.
func globPaths(t *testing.T, scope Scope, pattern string) []string {
	t.Helper()
	r, err := Glob(t.Context(), scope, pattern, 0)
	if err != nil {
		t.Fatal(err)
	}
	return pathsOf(r)
}

func pathsOf(r GlobResult) []string {
	var paths []string
	for _, f := range r.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

func TestGlobGivesNewestFilesFirst(t *testing.T) {
	root := openTree(t, map[string]string{"b.go": "1", "a.go": "12", "x/c.go": "123", "x/y/d.go": "", "e.ts": ""})
	setTime(t, filepath.Join(root.Name(), "x/c.go"), aTime.Add(time.Second))
	setTime(t, filepath.Join(root.Name(), "x/y/d.go"), aTime.Add(-time.Second))
	for limit, want := range [][]string{
		{"x/c.go", "a.go", "b.go", "x/y/d.go"},
		{"x/c.go"},
		{"x/c.go", "a.go"},
		{"x/c.go", "a.go", "b.go"},
		{"x/c.go", "a.go", "b.go", "x/y/d.go"},
	} {
		r, err := Glob(t.Context(), Scope{Root: root}, "*.go", limit)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, pathsOf(r)); d != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, d)
		}
		if r.Total != 4 || r.Truncated != (len(want) < 4) {
			t.Errorf("limit %d: total %d, truncated %v", limit, r.Total, r.Truncated)
		}
		if f := r.Files[0]; !f.ModTime.Equal(aTime.Add(time.Second)) || f.Size != 3 {
			t.Errorf("got %v, size %d", f.ModTime, f.Size)
		}
	}
}

func TestGlobLimitIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long test")
	}
	files := map[string]string{}
	for i := range 2*maxResults + 500 {
		files[fmt.Sprintf("d%d/f%04d", i%3, i)] = ""
	}
	root := openTree(t, files)
	for _, limit := range []int{-1, 0, maxResults, maxResults + 1, 1 << 30} {
		r, err := Glob(t.Context(), Scope{Root: root}, "f*", limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Files) != maxResults || r.Total != len(files) || !r.Truncated {
			t.Errorf("limit %d: %d of %d files, truncated %v", limit, len(r.Files), r.Total, r.Truncated)
		}
	}
}

func TestGlobIsRelativeToTheBase(t *testing.T) {
	root := openTree(t, map[string]string{"a.go": "", "d/a.go": "", "d/e/a.go": "", "d/e/f/a.go": ""})
	for _, c := range []struct {
		base, pattern string
		want          []string
	}{
		{"", "/a.go", []string{"a.go"}},
		{".", "d/*.go", []string{"d/a.go"}},
		{"d", "/a.go", []string{"d/a.go"}},
		{"d", "a.go", []string{"d/a.go", "d/e/a.go", "d/e/f/a.go"}},
		{"d/e", "**/a.go", []string{"d/e/a.go", "d/e/f/a.go"}},
		{"d/e/", "f/*", []string{"d/e/f/a.go"}},
		{"./d/../d/e", "./f/*", []string{"d/e/f/a.go"}},
		{"d", "d/a.go", nil},
	} {
		t.Run(c.base+" "+c.pattern, func(t *testing.T) {
			if d := cmp.Diff(c.want, globPaths(t, Scope{Root: root, Base: c.base}, c.pattern)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestIgnoreFilesCount(t *testing.T) {
	root := openTree(t, map[string]string{
		".gitignore": "*.log\nout/\n/only\n", "a.log": "", "b.txt": "", "only": "",
		"d/.gitignore": "!keep.log\n*.txt\n/d\n", "d/keep.log": "", "d/a.log": "", "d/c.txt": "", "d/only": "", "d/e/d": "", "d/d": "",
		"out/x": "", "d/out/y": "", "d/e/out": "", "d/e/.gitignore": "!c.txt\n", "d/e/c.txt": "",
		"out2/.gitignore": "*", "out2/z": "", "extra/no": "", "link/.gitignore/x": "",
	})
	rules := ignore.New(ignore.Parse([]byte("/extra/\n!a.log\n")))
	for _, c := range []struct {
		name, base string
		rules      *ignore.Matcher
		want       []string
	}{
		{"from the root", "", nil, []string{".gitignore", "b.txt", "d/.gitignore", "d/e/.gitignore", "d/e/c.txt", "d/e/d", "d/e/out", "d/keep.log", "d/only", "extra/no", "link/.gitignore/x"}},
		{"with rules from outside, which are weaker", "", rules, []string{".gitignore", "b.txt", "d/.gitignore", "d/e/.gitignore", "d/e/c.txt", "d/e/d", "d/e/out", "d/keep.log", "d/only", "link/.gitignore/x"}},
		{"from a directory, with the rules above it", "d/e", nil, []string{"d/e/.gitignore", "d/e/c.txt", "d/e/d", "d/e/out"}},
		{"from a directory that is itself ignored", "out", nil, []string{"out/x"}},
		{"from a directory that ignores all, which is named because of it", "out2", nil, []string{"out2/.gitignore", "out2/z"}},
		{"from a directory that rules from outside ignore", "extra", rules, []string{"extra/no"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, globPaths(t, Scope{Root: root, Base: c.base, Ignore: Ignored{Rules: c.rules}}, "*")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestGitsAndMillhandsFilesAreNeverShown(t *testing.T) {
	root := openTree(t, map[string]string{
		".git/config": "x", ".gitignore": "", ".github/x": "x", "sub/.git/config": "x", "mod/.git": "x", "mod/.GIT/config/y": "x", "d/.Git/x": "x",
		".millhand/runs/1": "x", "d/.millhand/x": "x", "git": "x",
	})
	want := []string{".github/x", "d/.millhand/x", "git"}
	if d := cmp.Diff(append([]string{".github/x", ".gitignore"}, want[1:]...), globPaths(t, Scope{Root: root}, "*")); d != "" {
		t.Errorf("glob (-want +got):\n%s", d)
	}
	var lines []string
	for _, p := range want {
		lines = append(lines, p+":1:x")
	}
	if d := cmp.Diff(lines, grepLines(t, Scope{Root: root}, Query{Pattern: "x"})); d != "" {
		t.Errorf("grep (-want +got):\n%s", d)
	}
	for _, base := range []string{".git", ".git/config", "sub/.git", "mod/.git", "d/.Git/x", ".millhand", ".millhand/runs"} {
		if _, err := Grep(t.Context(), Scope{Root: root, Base: base}, Query{Pattern: "x"}); err == nil {
			t.Errorf("%s is searched", base)
		}
	}
}

func TestOnlyVisibleFilesAreShown(t *testing.T) {
	root := openTree(t, map[string]string{"a": "x", "secret/b": "x", "d/secret": "x", "d/c": "x"})
	scope := Scope{Root: root, Visible: func(p string) bool { return p != "secret/b" && p != "d/secret" }}
	if d := cmp.Diff([]string{"a", "d/c"}, globPaths(t, scope, "*")); d != "" {
		t.Errorf("glob (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"a:1:x", "d/c:1:x"}, grepLines(t, scope, Query{Pattern: "x"})); d != "" {
		t.Errorf("grep (-want +got):\n%s", d)
	}
	scope.Base = "d/secret"
	if got := grepLines(t, scope, Query{Pattern: "x"}); got != nil {
		t.Errorf("grep in a file that is not visible: %v", got)
	}
	scope.Base = ""
	l, err := List(t.Context(), scope, ListQuery{})
	if err != nil || l.Total != 2 {
		t.Errorf("list: %v, %+v", err, l)
	}
}
