package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// An agent can add files to the index with other attributes and filters than those that hold at the end:
// the changes are those that a commit makes then.
func TestAddedFilesAreConvertedAsAtTheEnd(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("changed", "1\n", "same", "1\n", "mode", "1\r\n")
	base := s.Commit()
	in, r := worktree(t, s, opened(s), base)
	from, err := r.SnapshotOf(base)
	must(t, err)
	in.Write("changed", "2\r\n", "same", "1\r\n", "new", "1\r\n")
	must(t, os.Chmod(filepath.Join(in.Root, "mode"), 0o755))
	in.Run("add", "-A")
	later := time.Now().Add(time.Minute) // the files are not as new as the index, which would be reason enough to read them
	must(t, os.Chtimes(in.Run("rev-parse", "--path-format=absolute", "--git-path", "index"), later, later))
	in.Write(".gitattributes", "* text\n")
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	if diff := cmp.Diff([]string{".gitattributes", "changed", "mode", "new"}, paths(cs)); diff != "" {
		t.Error(diff)
	}
	c := state.Checkpoints{Reader: r.Reader, Store: t.TempDir()}
	saved, err := c.Save(t.Context(), from, base)
	must(t, err)
	again, err := c.Changes(t.Context(), saved)
	must(t, err)
	if diff := cmp.Diff(cs.Changes, again.Changes) + cmp.Diff(cs.States(), again.States()); diff != "" {
		t.Error(diff)
	}
	o := options(base)
	o.Branch, o.MustNotExist = "millhand/x", true
	done, err := r.Commit(t.Context(), cs, o)
	must(t, err)
	if text := s.Run("show", done.Hash+":changed"); text != "2" || done.Tree != saved.Tree {
		t.Errorf("committed %q, and %s; saved %s", text, done.Tree, saved.Tree)
	}
}

func TestFilteredFilesAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for _, test := range []struct {
		name string
		job  func(*gittest.Sandbox)
		path string // "" if it is fine
	}{
		{"a changed file of Git LFS", func(s *gittest.Sandbox) { s.Write("a.psd", "raw\n") }, "a.psd"},
		{"a new file of Git LFS", func(s *gittest.Sandbox) { s.Write("deep/n.psd", "raw\n") }, "deep/n.psd"},
		{"a file of Git LFS that is deleted", func(s *gittest.Sandbox) { s.Remove("a.psd") }, ""},
		{"a link by the name of one of Git LFS", func(s *gittest.Sandbox) { s.Symlink("x", "l.psd") }, ""},
		{"a file that is exempt from the filter", func(s *gittest.Sandbox) { s.Write("free/a.psd", "raw\n") }, ""},
		{"a filter that is not configured", func(s *gittest.Sandbox) { s.Write(".gitattributes", "plain filter=x\n", "plain", "2\n") }, ""},
		{"a filter of the repository's configuration", func(s *gittest.Sandbox) {
			s.Run("config", "filter.x.clean", "sed s/2/3/")
			s.Write(".gitattributes", "plain filter=x\n", "plain", "2\n")
		}, "plain"},
		{"another encoding", func(s *gittest.Sandbox) { s.Write("u.utf16", "x\x00") }, "u.utf16"},
		{"a nested repository", func(s *gittest.Sandbox) { nestedRepository(s, "vendor/lib") }, "vendor/lib"},
		{"a nested repository without a commit", func(s *gittest.Sandbox) { s.Run("init", "-q", "nested"); s.Write("nested/f", "f") }, "nested"},
		{"a nested repository that is ignored", func(s *gittest.Sandbox) { nestedRepository(s, "ignored/lib") }, ""},
		{"a name that git refuses", func(s *gittest.Sandbox) { s.Write("dir/git~1", "x") }, "dir/git~1"},
		{"a directory whose name git refuses", func(s *gittest.Sandbox) { s.Write(".git /x", "x") }, ".git "},
		{"a name that git refuses and that is ignored", func(s *gittest.Sandbox) { s.Write("ignored/git~1", "x") }, ""},
		{"an empty directory whose name git refuses", func(s *gittest.Sandbox) { must(s.T, os.Mkdir(filepath.Join(s.Root, "GIT~1"), 0o755)) }, ""},
		{"a nested worktree", func(s *gittest.Sandbox) { s.Run("worktree", "add", "-q", "--detach", "wt") }, "wt"},
		{"a nested repository around tracked files", func(s *gittest.Sandbox) { s.Run("init", "-q", "dir"); s.Write("dir/n", "n") }, ""},
		{"a new submodule", func(s *gittest.Sandbox) {
			nestedRepository(s, "sub")
			s.Run("-c", "advice.addEmbeddedRepo=false", "add", "sub")
		}, "sub"},
		{"a file that is too large", func(s *gittest.Sandbox) {
			s.Write("large", "x")
			must(s.T, os.Truncate(filepath.Join(s.Root, "large"), 100<<20+1))
		}, "large"},
		{"a tracked file that became too large to be read", func(s *gittest.Sandbox) {
			must(s.T, os.Truncate(filepath.Join(s.Root, "dir", "f"), 1<<40))
		}, "dir/f"},
		{"a link named .gitmodules", func(s *gittest.Sandbox) { s.Symlink("x", ".gitmodules") }, ".gitmodules"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := gittest.NewSandbox(t)
			s.Write(".gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\nfree/* -filter\n*.utf16 working-tree-encoding=UTF-16\n",
				".gitignore", "ignored/\n", "a.psd", "pointer\n", "plain", "1\n", "dir/f", "f\n")
			base := s.Commit()
			s.Write("plain", "changed\n")
			test.job(s)
			r := opened(s)
			cs := measure(t, r, base)
			from, err := r.SnapshotOf(base)
			must(t, err)
			if _, refused, err := r.ChangedPaths(t.Context(), from); err != nil || !slices.Equal(refused, cs.Refused) {
				t.Errorf("refused without reading: %v, %v, want %v", refused, err, cs.Refused)
			}
			_, patchErr := r.Patch(t.Context(), cs)
			must(t, patchErr)
			_, err = r.Commit(t.Context(), cs, options(base))
			if test.path == "" {
				must(t, err)
				s.Fsck()
				return
			}
			var unsupported *gitdir.UnsupportedError
			if !errors.As(err, &unsupported) || !slices.Equal(unsupported.Paths, []string{test.path}) {
				t.Errorf("got %v, want an UnsupportedError about %s", err, test.path)
			}
			if !slices.Contains(paths(cs), "plain") && test.path != "plain" {
				t.Errorf("the other change is lost: %v", paths(cs))
			}
			if s.Run("rev-parse", "HEAD") != base {
				t.Error("HEAD moved")
			}
		})
	}
}

func TestExistingNestedRepositoriesAreNoChange(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	base := s.Commit()
	nestedRepository(s, "vendor/lib")
	r := opened(s)
	from, err := r.Snapshot(t.Context())
	must(t, err)
	s.Write("a", "b\n")
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	_, err = r.Commit(t.Context(), cs, options(base))
	must(t, err)
}

func TestUnsupportedErrorNamesAFewPaths(t *testing.T) {
	err := &gitdir.UnsupportedError{Reason: "no", Paths: []string{"a", "b\n", "c", "d", "e", "f"}}
	if got, want := err.Error(), `no: a, "b\n", c, d, e, ...`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWalksStopWhenTheContextEnds(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	base := s.Commit()
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, changesErr := r.Changes(ctx, from)
	_, dirtyErr := r.Dirty(ctx)
	_, snapshotErr := r.Snapshot(ctx)
	_, worktreeErr := r.AddWorktree(ctx, filepath.Join(s.Home, "wt"), base)
	_, copyErr := CopyDirectory(ctx, s.Root, filepath.Join(s.Home, "copy"), envOf(s))
	for i, err := range []error{changesErr, dirtyErr, snapshotErr, worktreeErr, copyErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d: got %v", i, err)
		}
	}
	if list := s.Run("worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("a worktree remains:\n%s", list)
	}
}

func TestChangesBelowADirectory(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write(".gitignore", "*.log\n", "a", "1\n", "x/a", "1\n", "x/y/a", "1\n", "x/y/gone", "1\n", "x/yz/a", "1\n", "x/y/z/.gitignore", "*.tmp\n")
	base := s.Commit()
	s.Write("a", "2\n", "new", "1\n", "x/a", "2\n", "x/y/a", "2\n", "x/y/z/new", "1\n", "x/y/z/no.tmp", "1\n", "x/y/no.log", "1\n", "x/yz/a", "2\n", "x/yz/new", "1\n")
	s.Remove("x/y/gone", "x/yz/a")
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	cs, err := r.Changes(t.Context(), from.Below("x/y"))
	must(t, err)
	if diff := cmp.Diff([]string{"x/y/a", "x/y/gone", "x/y/z/new"}, paths(cs)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	got, err := r.Commit(t.Context(), cs, options(base))
	must(t, err)
	if changed := s.Run("diff-tree", "-r", "--name-status", base, got.Hash); changed != "M\tx/y/a\nD\tx/y/gone\nA\tx/y/z/new" {
		t.Errorf("committed:\n%s", changed)
	}
	s.Fsck()
}

func TestADirectoryThatBecameALoopIsDeleted(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a/b", "b\n", "c", "c\n")
	base := s.Commit()
	s.Write(".gitignore", "*\n")
	must(t, os.RemoveAll(filepath.Join(s.Root, "a")))
	s.Symlink("a", "a")
	got, err := opened(s).Commit(t.Context(), measure(t, opened(s), base), options(base))
	must(t, err)
	if names := s.Run("ls-tree", "-r", "--name-only", got.Tree); names != "c" {
		t.Errorf("the commit has %q, want c only", names)
	}
}
