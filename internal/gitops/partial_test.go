package gitops

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// checkouts are those that CIs and users make whose index or configuration is not the usual one. The files of b
// are not checked out.
var checkouts = map[string]func(s *gittest.Sandbox){
	"cone": func(s *gittest.Sandbox) { s.Run("sparse-checkout", "set", "--cone", "a") },
	"cone, init": func(s *gittest.Sandbox) {
		s.Run("sparse-checkout", "init", "--cone")
		s.Run("sparse-checkout", "add", "a")
	},
	"sparse index": func(s *gittest.Sandbox) { s.Run("sparse-checkout", "set", "--cone", "--sparse-index", "a") },
	"patterns":     func(s *gittest.Sandbox) { s.Run("sparse-checkout", "set", "--no-cone", "/*", "!/b/") },
	"by hand": func(s *gittest.Sandbox) {
		s.Run("config", "core.sparseCheckout", "true")
		s.Write(".git/info/sparse-checkout", "/*\n!/b/\n")
		s.Run("read-tree", "-mu", "HEAD")
	},
	"split index": func(s *gittest.Sandbox) {
		s.Run("config", "core.splitIndex", "true")
		s.Run("update-index", "--split-index")
		s.Run("rm", "-q", "--cached", "b/z")
		s.Run("add", "-A")
		s.Run("update-index", "--skip-worktree", "b/y", "b/z", "b/.gitattributes", "b/.gitignore")
		s.Remove("b")
	},
	"sparse and split": func(s *gittest.Sandbox) {
		s.Run("sparse-checkout", "set", "--cone", "a")
		s.Run("update-index", "--split-index")
	},
}

func partial(t *testing.T, make func(s *gittest.Sandbox)) (s *gittest.Sandbox, base string) {
	t.Helper()
	s = gittest.NewSandbox(t)
	s.Write("top", "top\n", "a/x", "x\n", "a/w", "w\n", "b/y", "y\n", "b/z", "z\n", "b/.gitattributes", "*.crlf text eol=crlf\n", "b/.gitignore", "*.o\n")
	base = s.Commit()
	make(s)
	if _, err := os.Stat(filepath.Join(s.Root, "b", "y")); err == nil {
		t.Fatal("b/y is checked out")
	}
	return s, base
}

// Files that are not checked out are no deletions, also where the agent makes files beside them, and their attributes
// and ignore rules hold.
func TestCommitInPlaceOfPartialCheckouts(t *testing.T) {
	for _, name := range nightly.Sample(slices.Sorted(maps.Keys(checkouts)), 2, 0) {
		make := checkouts[name]
		t.Run(name, func(t *testing.T) {
			s, base := partial(t, make)
			r := opened(s)
			if dirty, err := r.Dirty(t.Context()); err != nil || dirty != nil {
				t.Errorf("dirty: %v, %v", dirty, err)
			}
			before, err := r.Snapshot(t.Context())
			must(t, err)
			s.Write("a/x", "changed\n", "new", "new\n", "b/n.crlf", "1\r\n2\r\n", "b/n.o", "ignored\n", "b/z", "changed, too\n")
			s.Remove("a/w")
			cs, err := r.Changes(t.Context(), before)
			must(t, err)
			_, err = r.Commit(t.Context(), cs, options(base))
			must(t, err)
			want := "D\ta/w\nM\ta/x\nA\tb/n.crlf\nM\tb/z\nA\tnew"
			if diff := cmp.Diff(want, s.Run("diff-tree", "-r", "--no-renames", "--name-status", base, "HEAD")); diff != "" {
				t.Errorf("the commit (-want +got):\n%s", diff)
			}
			if got := s.Run("show", "HEAD:b/n.crlf"); got != "1\n2" {
				t.Errorf("b/n.crlf is stored as %q", got)
			}
			// git passes over attribute files outside of a cone: a full checkout would make this commit.
			if status := s.Run("status", "--porcelain"); status != "" && status != " M b/n.crlf" {
				t.Errorf("git status: %s", status)
			}
			s.Fsck()
		})
	}
}

// An agent that damages the index deletes nothing that was not checked out.
func TestADamagedIndexDeletesNothing(t *testing.T) {
	s, base := partial(t, checkouts["cone"])
	r := opened(s)
	before, err := r.Snapshot(t.Context())
	must(t, err)
	s.Write("a/x", "changed\n", ".git/index", "DIRC")
	cs, err := r.Changes(t.Context(), before)
	must(t, err)
	if len(cs.Changes) != 1 || cs.Changes[0].Path != "a/x" {
		t.Errorf("changes since %s: %v", base, cs.Changes)
	}
}

func TestAddWorktreeOfPartialCheckouts(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *gittest.Sandbox, env gitdir.Env) {
		t.Helper()
		for _, name := range nightly.Sample(slices.Sorted(maps.Keys(checkouts)), 2, 1) {
			s, base := partial(t, checkouts[name])
			s.Run("config", "extensions.worktreeConfig", "true")
			s.Run("config", "--worktree", "user.note", `a "quoted" \ note; # x`)
			env.Home = s.Home
			r, err := Open(s.Root, env)
			must(t, err)
			in := s.At(filepath.Join(s.Home, "wt"))
			wt, err := r.AddWorktree(t.Context(), in.Root, base)
			must(t, err)
			if wt.Git.Config.Sparse() {
				t.Errorf("%s: the worktree is sparse", name)
			}
			if got := in.Run("config", "user.note"); got != `a "quoted" \ note; # x` {
				t.Errorf("%s: user.note is %s", name, got)
			}
			if got := in.Run("config", "--default", "unset", "core.sparseCheckout"); got == "true" {
				t.Errorf("%s: the worktree is sparse for git", name)
			}
			if got, err := os.ReadFile(filepath.Join(in.Root, "b", "y")); string(got) != "y\n" || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			if got := in.Run("status", "--porcelain"); got != "" {
				t.Errorf("%s: git status: %s", name, got)
			}
		}
	})
}

// An index that can't be read, such as one with an extension that is not known, is only needed for changes of the work tree itself.
func TestAWorktreeNeedsNoIndex(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	base := s.Commit()
	s.Write(".git/index", "DIRC")
	r := opened(s)
	dir := filepath.Join(s.Home, "wt")
	_, err := r.AddWorktree(t.Context(), dir, base)
	must(t, err)
	if got, err := os.ReadFile(filepath.Join(dir, "a")); string(got) != "a\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
