package search

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/ignore"
)

// trackedTree is a tree in which rules exclude more than git ignores.
func trackedTree(t *testing.T) Scope {
	t.Helper()
	files := map[string]string{
		".gitignore": "lib/\n*.log\n/vendor/\n/scripts/*\nmodule/\n", "keep.log": "x", "drop.log": "x", "src/lib/a.js": "x", "src/lib/deep/b.js": "x", "src/lib/deep/c.js": "x",
		"vendor/only/u.go": "x", "vendor/mix/t.go": "x", "vendor/mix/u.go": "x", "scripts/w.py": "x", "venv/.gitignore": "*\n", "venv/lib/p.py": "x", "venv/bin": "x",
		"module/f": "x", "app/m.go": "x", "app/vendor/v.go": "x", "app/build/b.o": "x", "lib/x/y": "x",
	}
	root := openTree(t, files)
	tracked := []string{".gitignore", "app/build/b.o", "app/m.go", "keep.log", "module", "src/lib/a.js", "src/lib/deep/b.js", "vendor/mix/t.go"}
	return Scope{Root: root, Ignore: Ignored{Tracked: func() ignore.Tracked { return ignore.NewTracked(tracked) }}}
}

func TestTrackedFilesAreNeverIgnored(t *testing.T) {
	scope := trackedTree(t)
	for _, c := range []struct {
		base    string
		want    []string
		ignored int
	}{
		{"", []string{".gitignore", "app/build/b.o", "app/m.go", "app/vendor/v.go", "keep.log", "module/f", "src/lib/a.js", "src/lib/deep/b.js", "vendor/mix/t.go"}, 9},
		{"src", []string{"src/lib/a.js", "src/lib/deep/b.js"}, 1},
		{"src/lib", []string{"src/lib/a.js", "src/lib/deep/b.js"}, 1},
		{"src/lib/deep", []string{"src/lib/deep/b.js"}, 1},
		{"vendor", []string{"vendor/mix/t.go"}, 2},
		{"module", []string{"module/f"}, 0}, // a submodule
		// Only ignored files: they are what a search that names the directory is for.
		{"vendor/only", []string{"vendor/only/u.go"}, 0},
		{"scripts", []string{"scripts/w.py"}, 0},
		{"venv", []string{"venv/.gitignore", "venv/bin", "venv/lib/p.py"}, 0},
		{"venv/lib", []string{"venv/lib/p.py"}, 0},
		{"lib", []string{"lib/x/y"}, 0},
		{"lib/x", []string{"lib/x/y"}, 0},
	} {
		t.Run(c.base, func(t *testing.T) {
			scope.Base = c.base
			r, err := Glob(t.Context(), scope, "*", 0)
			if err != nil {
				t.Fatal(err)
			}
			got := pathsOf(r)
			slices.Sort(got)
			if d := cmp.Diff(c.want, got); d != "" || r.Skipped.Ignored != c.ignored {
				t.Errorf("glob: %d ignored (-want +got):\n%s", r.Skipped.Ignored, d)
			}
			found, err := Grep(t.Context(), scope, Query{Pattern: "^[x*l]"})
			if err != nil || found.Files != len(c.want) || found.Skipped.Ignored != c.ignored {
				t.Errorf("grep: %d files of %d, %d ignored, %v", found.Files, len(c.want), found.Skipped.Ignored, err)
			}
		})
	}
}

func TestListIgnoresDirectoriesThatAreUsuallyGenerated(t *testing.T) {
	scope := trackedTree(t)
	scope.Base = "app"
	r, err := List(t.Context(), scope, ListQuery{})
	if err != nil || r.Text != "  build/\n    b.o\n  m.go\n" || r.Skipped.String() != "1 ignored file was skipped" {
		t.Errorf("%q, %q, %v", r.Text, r.Skipped, err)
	}
}

func TestIgnoredFilesAreCountedIfTheyAreWanted(t *testing.T) {
	scope := trackedTree(t)
	scope.Visible = func(path string) bool { return path != "drop.log" }
	for pattern, want := range map[string]string{
		"*.py": "2 ignored files were skipped", "u.go": "2 ignored files were skipped", "*.log": "", "*.md": "", "**/deep/*": "1 ignored file was skipped",
	} {
		r, err := Glob(t.Context(), scope, pattern, 0)
		if err != nil || r.Skipped.String() != want {
			t.Errorf("%s: %q, %v", pattern, r.Skipped, err)
		}
	}
}

func TestCountingIgnoredFilesIsLimited(t *testing.T) {
	files := map[string]string{".gitignore": "out/\n", "a": "x"}
	for i := range maxIgnored {
		files[fmt.Sprintf("out/%d/%d", i%40, i)] = ""
	}
	r, err := Glob(t.Context(), Scope{Root: openTree(t, files)}, "a", 0)
	if err != nil || len(r.Files) != 1 || r.Skipped.String() != "more than 2000 ignored files and directories were skipped" {
		t.Errorf("%v, %q, %v", r.Files, r.Skipped, err)
	}
}

// What is found in a repository is what git tracks or does not ignore.
func TestGitFindsTheSameFiles(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git not found")
	}
	dir := growTree(t, 600)
	git := func(args ...string) []string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "core.excludesFile="}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(args, err)
		}
		list := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		slices.Sort(list)
		return list
	}
	git("init", "-q")
	git("add", ".")
	ignored := git("ls-files", "-z", "-o", "-i", "--exclude-standard")
	for i, name := range ignored {
		if i%3 == 0 {
			git("add", "-f", "--", name)
		}
	}
	tracked := ignore.NewTracked(git("ls-files", "-z"))
	want := git("ls-files", "-z", "-c", "-o", "--exclude-standard")
	scope := Scope{Root: openRoot(t, dir), Cache: NewCache(1 << 20), Ignore: Ignored{Tracked: func() ignore.Tracked { return tracked }}}
	for range 2 {
		if d := cmp.Diff(want, allFiles(t, scope, "*")); d != "" {
			t.Errorf("(-git +got):\n%s", d)
		}
	}
	r, err := Glob(t.Context(), scope, "*", 0)
	if left := git("ls-files", "-z", "-o", "-i", "--exclude-standard"); err != nil || r.Skipped.Ignored != len(left) {
		t.Errorf("%d ignored files counted, git has %d, %v", r.Skipped.Ignored, len(left), err)
	}
}
