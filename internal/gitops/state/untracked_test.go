package state

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// untracked returns the files that no commit contains.
func untracked(t *testing.T, r *Reader, from *Snapshot, without ...string) *Untracked {
	t.Helper()
	u, err := r.Untracked(t.Context(), from, without)
	must(t, err)
	return u
}

func TestFilesThatNoCommitContains(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write(".gitignore", "*.mk\n/deps/\n/out/*\n!/out/tracked\n", "a", "1\n", "out/tracked", "1\n")
	base := s.Commit()
	s.Write("same.mk", "1\n", "touched.mk", "1\n", "gone.mk", "1\n", "taken.mk", "1\n", "deps/m/x", "1\n", "deps/m/y", "1\n", ".millhand/runs/r1/report.json", "{}\n", "nested/x", "1\n")
	s.Run("init", "-q", "nested")
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	before := untracked(t, r, from)
	if got := before.Since(before); len(got) > 0 {
		t.Errorf("without changes: %+v", got)
	}

	old := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	s.Write("touched.mk", "2\n", "new.mk", "1\n", "deps/m/y", "2\n", "deps/n", "1\n", "out/x", "1\n", "out/tracked", "2\n",
		".vscode/.gitignore", "*\n", ".vscode/tasks.json", "{}\n", "a", "2\n", "added", "1\n", ".GIT/x", "1\n",
		".millhand/x.mk", "1\n", ".millhand/runs/r1/report.json", "{ }\n", "nested/x", "2\n", ".gitignore", "*.mk\n!taken.mk\n/deps/\n/out/*\n")
	s.Remove("gone.mk")
	must(t, os.Chtimes(filepath.Join(s.Root, "touched.mk"), old, old))
	must(t, os.Symlink("/etc/passwd", filepath.Join(s.Root, "alias.mk")))
	got := untracked(t, r, from, ".millhand/runs").Since(before)
	want := []Change{
		{Path: ".GIT/x", Kind: Added},
		{Path: ".millhand/x.mk", Kind: Added},
		{Path: ".vscode/.gitignore", Kind: Added},
		{Path: ".vscode/tasks.json", Kind: Added},
		{Path: "alias.mk", Kind: Added},
		{Path: "deps/m/y", Kind: Modified},
		{Path: "deps/n", Kind: Added},
		{Path: "gone.mk", Kind: Deleted},
		{Path: "new.mk", Kind: Added},
		{Path: "out/x", Kind: Added},
		{Path: "touched.mk", Kind: Modified},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Every other path is in the changes: each path is in exactly one of the two.
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	if diff := cmp.Diff([]string{".gitignore", "a", "added", "nested/x", "out/tracked", "taken.mk"}, paths(cs)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	for dir, n := range map[string]int{"deps": 3, "deps/m": 2, "out": 1} {
		if got := untracked(t, r, from.Below(dir)).Since(nil); len(got) != n {
			t.Errorf("in %s: %+v", dir, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Untracked(ctx, from, nil); err == nil {
		t.Error("it ignores the context")
	}
}

func TestFilesInASubmoduleAreUntracked(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	s.Run("update-index", "--add", "--cacheinfo", "160000,"+base+",sub")
	s.Run("commit", "-q", "-m", "submodule")
	must(t, os.MkdirAll(filepath.Join(s.Root, "sub"), 0o755))
	r := opened(s)
	from, err := r.SnapshotOf(s.Run("rev-parse", "HEAD"))
	must(t, err)
	before := untracked(t, r, from)
	s.Write("sub/x.mk", "1\n")
	if diff := cmp.Diff([]Change{{Path: "sub/x.mk", Kind: Added}}, untracked(t, r, from).Since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
