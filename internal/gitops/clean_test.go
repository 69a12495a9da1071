package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/testing/gittest"
)

func TestACleanCheckoutHasTheCommitOfTheChanges(t *testing.T) {
	for _, program := range []string{"git", ""} {
		s := gittest.NewSandbox(t)
		s.Write(".gitattributes", "*.bat text eol=crlf\n", ".gitignore", "*.mk\n", "a", "1\n", "gone", "1\n", "run.bat", "echo\n", "protected", "1\n")
		base := s.Commit()
		s.Run("tag", "v1.0.0")
		s.Write("a", "2\n", "dir/new", "1\n", "local.mk", "x\n", "protected", "2\n")
		s.Chmod(0o755, "dir/new")
		s.Remove("gone")
		r := opened(s)
		if program == "" {
			r.Git.Env.GitProgram = ""
		}
		dir := filepath.Join(t.TempDir(), "clean")
		cs := measure(t, r, base).Without([]string{"protected"})
		clean, err := r.CheckOut(t.Context(), dir, cs, options(base))
		must(t, err)
		got, err := r.Commit(t.Context(), cs, CommitOptions{Parent: base, Branch: "job", Message: "change\n\nbody", Author: testAuthor, Committer: testAuthor})
		must(t, err)
		s.Run("update-ref", "-d", "refs/heads/job")
		s.Run("gc", "-q", "--prune=now") // with what Commit stored
		in := s.At(dir)
		if head := in.Run("rev-parse", "HEAD"); head != got.Hash {
			t.Errorf("the commit is %s, not %s", head, got.Hash)
		}
		for _, c := range []struct{ want, got string }{
			{"", in.Run("status", "--porcelain", "--ignored")},
			{"v1.0.0-1-g" + got.Hash[:7], in.Run("describe", "--tags", "--abbrev=7")},
			{".gitattributes\n.gitignore\na\ndir/new\nprotected\nrun.bat", in.Run("ls-files")},
			{"", in.Run("remote")},
		} {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Errorf("program %q (-want +got):\n%s", program, diff)
			}
		}
		in.Fsck()
		if info, err := os.Stat(filepath.Join(dir, "dir/new")); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("dir/new is not executable: %v", err)
		}
		if text, _ := os.ReadFile(filepath.Join(dir, "run.bat")); program != "" && string(text) != "echo\r\n" {
			t.Errorf("run.bat has %q", text)
		}
		if clean.Root() != dir {
			t.Errorf("the work tree is %s", clean.Root())
		}
	}
}

func TestACleanCheckoutLeavesTheRepositoryAlone(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	s.Write("a", "2\n")
	state := func() string {
		return s.Run("count-objects", "-v") + s.Run("for-each-ref") + s.Run("worktree", "list") + s.Run("status", "--porcelain")
	}
	before := state()
	r := opened(s)
	_, err := r.CheckOut(t.Context(), filepath.Join(t.TempDir(), "clean"), measure(t, r, base), options(base))
	must(t, err)
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestACleanCheckoutWithoutACommitToMake(t *testing.T) {
	s := gittest.NewSandbox(t)
	r := opened(s)
	none := measure(t, r, "")
	clean, err := r.CheckOut(t.Context(), filepath.Join(t.TempDir(), "unborn"), none, options(""))
	must(t, err)
	if head, err := clean.Git.Head(); err != nil || !head.Unborn {
		t.Errorf("HEAD of an empty repository: %+v, %v", head, err)
	}
	s.Write("a", "1\n")
	clean, err = r.CheckOut(t.Context(), filepath.Join(t.TempDir(), "root"), measure(t, r, ""), options(""))
	must(t, err)
	if got := s.At(clean.Root()).Run("ls-files"); got != "a" {
		t.Errorf("a root commit has %q", got)
	}
	base := s.Commit()
	clean, err = r.CheckOut(t.Context(), filepath.Join(t.TempDir(), "base"), measure(t, r, base), options(base))
	must(t, err)
	if head, err := clean.Git.Head(); err != nil || head.Hash != base {
		t.Errorf("HEAD without changes: %+v, %v", head, err)
	}
	s.Run("init", "-q", "nested")
	s.Write("nested/x", "1\n")
	_, err = r.CheckOut(t.Context(), filepath.Join(t.TempDir(), "refused"), measure(t, r, base), options(base))
	if refused := (*gitdir.UnsupportedError)(nil); !errors.As(err, &refused) {
		t.Errorf("changes that can't be committed: %v", err)
	}
	_, err = r.CheckOut(t.Context(), s.Root, measure(t, r, base), options(base))
	if err == nil {
		t.Error("it checks out over files")
	}
}

func TestACheckoutOfASavedState(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n", "gone", "1\n")
	base := s.Commit()
	r := opened(s)
	states := t.TempDir()
	from, err := r.SnapshotOf(base)
	must(t, err)
	s.Write("a", "2\n", "dir/new", "1\n")
	s.Remove("gone")
	saved, err := state.Checkpoints{Reader: r.Reader, Store: states}.Save(t.Context(), from, base)
	must(t, err)
	s.Write("a", "3\n")
	before := s.Run("count-objects", "-v") + s.Run("for-each-ref") + s.Run("status", "--porcelain")
	dir := filepath.Join(t.TempDir(), "at")
	at, err := r.CheckOutState(t.Context(), dir, states, saved.Tree, options(base))
	must(t, err)
	in := s.At(dir)
	if got := in.Run("status", "--porcelain") + in.Run("ls-files") + in.Run("show", "HEAD:a") + in.Run("rev-parse", "HEAD^"); got != "a\ndir/new2"+base || at.Root() != dir {
		t.Errorf("%q in %s", got, at.Root())
	}
	in.Fsck()
	if after := s.Run("count-objects", "-v") + s.Run("for-each-ref") + s.Run("status", "--porcelain"); after != before {
		t.Errorf("the repository was changed:\n%s\n%s", before, after)
	}
	if _, err := r.CheckOutState(t.Context(), filepath.Join(t.TempDir(), "x"), t.TempDir(), saved.Tree, options(base)); err == nil || !strings.Contains(err.Error(), "objects of it are missing") {
		t.Errorf("without the objects: %v", err)
	}
}
