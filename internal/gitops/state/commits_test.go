package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/testing/gittest"
)

func TestHas(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n", "d/e/f", "1\n", "empty", "")
	commit := s.Commit()
	r := opened(s)
	for name, want := range map[string]bool{
		"": true, ".": true, "a": true, "d": true, "d/e": true, "d/e/f": true, "empty": true,
		"b": false, "a/b": false, "d/e/f/g": false, "d/x": false, "A": false,
	} {
		if got, err := r.Has(commit, name); err != nil || got != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	s.Write("b", "1\n")
	next := s.Commit()
	for range 2 { // alternately
		for c, want := range map[string]bool{commit: false, next: true} {
			if got, err := r.WithFilters(content.Filters{}).Has(c, "b"); err != nil || got != want {
				t.Errorf("commit %s: %v, %v", c, got, err)
			}
		}
	}
	for _, bad := range []string{"/a", "d/", "./a", "../a", "..", "d//e"} {
		if _, err := r.Has(commit, bad); err == nil {
			t.Errorf("%q is a good path", bad)
		}
	}
	if _, err := r.Has(strings.Repeat("1", 40), "a"); err == nil {
		t.Error("a commit that is missing has something")
	}
	if _, err := r.Message(strings.Repeat("1", 40)); err == nil {
		t.Error("a commit that is missing has a message")
	}
}

func TestConvertedPathsAreThoseOfGit(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write(
		".gitattributes", "[attr]big filter=lfs -text\n*.bin big\n/d/*.x filter=y\nvendor/** filter=z\n*.u16 working-tree-encoding=utf-16\n*.u8 working-tree-encoding=UTF-8\n",
		"d/.gitattributes", "plain.bin -filter\nunset.bin !filter\n*.t filter=t\n",
		"a.bin", "1", "d/plain.bin", "1", "d/unset.bin", "1", "d/q.x", "1", "d/e/q.x", "1", "d/e/s.t", "1", "q.x", "1", "s.t", "1",
		"vendor/v", "1", "u.u16", "\xff\xfea\x00", "u.u8", "1", "d.bin/u", "1", "é.bin", "1", "info.i", "1",
	)
	s.Symlink("a.bin", "link.bin")
	s.Write(".git/info/attributes", "*.i filter=i\n")
	commit := s.Commit()
	want := map[string][]string{}
	files := strings.Split(s.Run("-c", "core.quotePath=false", "ls-files"), "\n")
	for line := range strings.SplitSeq(s.Run(append([]string{"-c", "core.quotePath=false", "check-attr", "filter", "--"}, files...)...), "\n") {
		name, value, _ := strings.Cut(line, ": filter: ")
		if value != "unspecified" && value != "unset" && name != "link.bin" {
			want[value] = append(want[value], name)
		}
	}
	want["utf-16"] = []string{"u.u16"}
	r := opened(s)
	converted := func(except string) map[string][]string {
		list, err := r.Converted(t.Context(), commit, "", func(path string) bool { return except != "" && strings.HasSuffix(path, except) })
		must(t, err)
		found := map[string][]string{}
		for _, c := range list {
			found[c.Filter+c.Encoding] = c.Paths
		}
		return found
	}
	if diff := cmp.Diff(want, converted("")); diff != "" {
		t.Error(diff)
	}
	delete(want, "utf-16")
	if diff := cmp.Diff(want, converted(".u16")); diff != "" {
		t.Error(diff)
	}
}

func TestRulesOfDirectoriesAboveHoldBelow(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write(".gitignore", "*.log\n/x/y/top\n", "x/.gitignore", "!keep.log\n/y/mid\n", "x/y/a", "1\n")
	s.Symlink("x/y", "link")
	base := s.Commit()
	r := opened(s)
	for dir, want := range map[string]string{".": "", "x": "x", "x/y": "x/y", "link": "x/y"} {
		if got, err := r.Below(filepath.Join(s.Root, dir)); err != nil || got != want {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
	}
	if got, err := r.Below(s.Home); err == nil {
		t.Errorf("outside: %q", got)
	}
	for name, want := range map[string]bool{"": true, "x": true, "x/y": true, "x/y/a": false, "link": false, "none": false, "x/none": false} {
		if got, err := r.HasDir(base, name); err != nil || got != want {
			t.Errorf("%s is a directory: %t, %v", name, got, err)
		}
	}
	rules, err := r.IgnoredBelow("x/y", "")
	must(t, err)
	for name, want := range map[string]bool{"a.log": true, "keep.log": false, "top": true, "mid": true, "a": false, "z/top": false} {
		if got := rules.Rules.Ignored(name, false); got != want {
			t.Errorf("%s is ignored: %t", name, got)
		}
	}
}

func TestTrackedPathsAreThoseOfTheCommitAndTheIndex(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("sub/a.log", "1\n", "sub/b", "1\n", "top", "1\n")
	commit := s.Commit()
	s.Write("sub/late.log", "1\n")
	r := opened(s)
	tree, err := r.IgnoredBelow("sub", commit)
	must(t, err)
	alone, err := r.IgnoredBelow("", "")
	must(t, err)
	has := func(want bool, names ...string) {
		t.Helper()
		for _, name := range names {
			if got := tree.Tracked().Has(name); got != want {
				t.Errorf("%s is tracked: %t", name, got)
			}
		}
	}
	has(true, "a.log", "b")
	has(false, "late.log", "top", "sub/a.log")
	s.Run("add", "-f", "sub/late.log")
	has(true, "late.log")
	s.Run("rm", "-q", "--cached", "sub/a.log", "sub/late.log")
	has(true, "a.log")
	has(false, "late.log")
	if alone.Tracked().Has("sub/a.log") || !alone.Tracked().Has("top") {
		t.Error("without a commit, the index alone counts")
	}
	must(t, os.WriteFile(filepath.Join(s.Root, ".git", "index"), []byte("DIRC damaged"), 0o644))
	has(true, "a.log", "b")
	if alone.Tracked().Has("top") {
		t.Error("a damaged index tracks a path")
	}
}

func TestThroughNamesEverySymlinkOfAPath(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("tools/lint/run", "1\n", "a", "1\n")
	s.Symlink("tools", "bin")
	s.Symlink("lint/run", "tools/run")
	s.Symlink("../bin/lint", "d/lint")
	s.Symlink("/etc", "outside")
	s.Symlink("../..", "d/above")
	s.Symlink("b", "c")
	s.Symlink("c", "b")
	commit := s.Commit()
	r := opened(s)
	for name, want := range map[string][]string{
		"a": {"a"}, "missing/x": {"missing/x"}, "bin": {"bin", "tools"}, "bin/run": {"bin/run", "tools/run", "tools/lint/run"},
		"d/lint/run": {"d/lint/run", "bin/lint/run", "tools/lint/run"}, "bin/missing": {"bin/missing", "tools/missing"},
		"outside/x": {"outside/x"}, "d/above/x": {"d/above/x"},
	} {
		got, err := r.Through(commit, name)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := r.Through(commit, "b/x"); err != nil || len(got) > maxSymlinks+1 {
		t.Errorf("a circle: %v, %d names", err, len(got))
	}
}
