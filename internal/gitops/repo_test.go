package gitops

import (
	"crypto/sha1"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
)

func TestOpenFindsTheWorkTreeFromAnyDirectoryInIt(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a/b/c", "c\n")
	base := s.Commit()
	linked := filepath.Join(s.Home, "linked")
	s.Run("worktree", "add", "-q", "-b", "other", linked)
	symlink := filepath.Join(s.Home, "link")
	must(t, os.Symlink(s.Root, symlink))
	git := filepath.Join(s.Root, ".git")
	for _, test := range []struct{ dir, root, gitDir, branch string }{
		{s.Root, s.Root, git, "main"},
		{filepath.Join(s.Root, "a/b"), s.Root, git, "main"},
		{filepath.Join(symlink, "a"), s.Root, git, "main"},
		{filepath.Join(linked, "a/b"), linked, filepath.Join(git, "worktrees/linked"), "other"},
	} {
		r, err := Open(test.dir, envOf(s))
		must(t, err)
		head, err := r.Git.Head()
		must(t, err)
		got := []any{r.Root(), r.Git.Own, r.Git.Common, head}
		want := []any{test.root, test.gitDir, git, gitdir.Head{Hash: base, Branch: test.branch}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.dir, diff)
		}
	}
}

func TestOpenRefusesNonRepositories(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"a plain directory":       func(string) error { return nil },
		"an empty .git directory": func(dir string) error { return os.Mkdir(filepath.Join(dir, ".git"), 0o755) },
		"a .git file that points nowhere": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: /nowhere\n"), 0o644)
		},
		"a .git file of something else": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".git"), []byte("hello"), 0o644)
		},
	} {
		dir := t.TempDir()
		must(t, prepare(dir))
		if _, err := Open(dir, gitdir.Env{}); !errors.Is(err, gitdir.ErrNotRepository) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "missing"), gitdir.Env{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory: got %v", err)
	}
}

func TestOpenRefusesUnsupportedRepositories(t *testing.T) {
	for _, test := range []struct {
		name    string
		init    []string
		prepare func(*gittest.Sandbox)
		reason  string
	}{
		{"a bare repository", []string{"--bare"}, nil, "bare"},
		{"core.bare", nil, func(s *gittest.Sandbox) { s.Run("config", "core.bare", "true") }, "bare"},
		{"SHA-256", []string{"--object-format=sha256"}, nil, "object format sha256"},
		{"a partial clone", nil, func(s *gittest.Sandbox) { s.Run("config", "extensions.partialClone", "origin") }, "partial"},
		{"reftable", nil, func(s *gittest.Sandbox) { s.Run("config", "extensions.refStorage", "reftable") }, "reftable"},
		{"an unknown extension", nil, func(s *gittest.Sandbox) { s.Run("config", "extensions.future", "1") }, "future"},
		{"a format of the future", nil, func(s *gittest.Sandbox) { s.Run("config", "core.repositoryFormatVersion", "2") }, "version 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := gittest.NewSandbox(t, test.init...)
			if test.prepare != nil {
				s.Write("a/b", "b\n", "x/y", "y\n")
				s.Commit()
				test.prepare(s)
			}
			_, err := Open(s.Root, envOf(s))
			var unsupported *gitdir.UnsupportedError
			if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("got %v, want an UnsupportedError about %q", err, test.reason)
			}
		})
	}
}

func TestAWorktreeOfABareRepositoryOpens(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	s.Commit()
	bare := s.At(filepath.Join(s.Home, "bare.git"))
	s.Run("clone", "-q", "--bare", s.Root, bare.Root)
	dir := filepath.Join(s.Home, "wt")
	bare.Run("worktree", "add", "-q", dir)
	r, err := Open(dir, envOf(s))
	must(t, err)
	if dirty, err := r.Dirty(t.Context()); err != nil || dirty != nil {
		t.Errorf("got %v, %v", dirty, err)
	}
}

func TestHeadIsABranchOrDetached(t *testing.T) {
	s := gittest.NewSandbox(t)
	r := opened(s)
	check := func(want gitdir.Head) {
		t.Helper()
		got, err := r.Git.Head()
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	check(gitdir.Head{Branch: "main", Unborn: true})
	s.Write("a", "a\n")
	base := s.Commit()
	check(gitdir.Head{Hash: base, Branch: "main"})
	s.Run("pack-refs", "--all")
	check(gitdir.Head{Hash: base, Branch: "main"})
	s.Run("checkout", "-q", "-b", "feature/x")
	check(gitdir.Head{Hash: base, Branch: "feature/x"})
	s.Run("checkout", "-q", "--detach")
	check(gitdir.Head{Hash: base, Detached: true})
}

func TestResolveAgreesWithGit(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	first := s.Commit()
	s.Run("tag", "light")
	s.Run("tag", "-a", "-m", "x", "annotated")
	s.Run("tag", "-a", "-m", "x", "of-a-tag", "annotated")
	s.Write("a", "b\n")
	second := s.Commit()
	s.Run("branch", "feature/one")
	s.Run("branch", "light2")
	s.Run("update-ref", "refs/remotes/origin/main", first)
	s.Run("tag", "both", first)
	s.Run("branch", "both", second)
	s.Run("pack-refs", "--all")
	s.Run("branch", "loose", first)
	s.Run("gc", "-q")
	r := opened(s)
	for _, rev := range []string{
		"HEAD", "main", "light", "annotated", "of-a-tag", "feature/one", "refs/heads/main", "refs/tags/annotated",
		"origin/main", "both", "loose", first, second, first[:4], second[:7], strings.ToUpper(second[:11]), first[:39],
	} {
		want := s.Run("rev-parse", "--verify", "-q", rev+"^{commit}")
		if got, err := r.Git.Resolve(rev); err != nil || got != want {
			t.Errorf("%s: got %s, %v; git says %s", rev, got, err, want)
		}
	}
	tree := s.Run("rev-parse", "HEAD^{tree}")
	for _, rev := range []string{
		"", "nothing", "HEAD~1", "../config", "refs/../config", "main^{tree}", "zz", "abc", tree, tree[:10],
		strings.Repeat("0", 40), "-x", "@{u}", "a b",
	} {
		if got, err := r.Git.Resolve(rev); err == nil {
			t.Errorf("%q: got %s, want an error", rev, got)
		}
	}
}

func TestBranchHash(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	base := s.Commit()
	s.Run("branch", "packed/x")
	s.Run("pack-refs", "--all")
	s.Run("branch", "loose/y")
	s.Run("branch", "gone/z")
	s.Run("branch", "-D", "-q", "gone/z")
	r := opened(s)
	for name, want := range map[string]bool{
		"main": true, "packed/x": true, "loose/y": true, "missing": false, "gone": false, "gone/z": false, "packed/xy": false,
	} {
		hash, exists, err := r.Git.Branch(name)
		if err != nil || exists != want || exists != (hash == base) {
			t.Errorf("%s: got %q, %v, %v", name, hash, exists, err)
		}
	}
	for _, name := range []string{"packed", "loose", "main/x", "packed/x/y", "loose/y/z"} {
		if _, _, err := r.Git.Branch(name); !errors.Is(err, gitdir.ErrBranchExists) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func nestedRepository(s *gittest.Sandbox, path string) {
	s.Run("init", "-q", path)
	in := s.At(filepath.Join(s.Root, path))
	in.Write("f", "f\n")
	in.Commit()
}

func TestMillhandDirectoryIsIgnored(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n", ".millhand/tracked", "by mistake\n")
	base := s.Commit()
	r := opened(s)
	s.Write(".millhand/runs/1/report.json", "{}", "sub/.millhand/x", "x", ".millhand/tracked", "changed\n")
	nestedRepository(s, ".millhand/trees/job")
	dirty, err := r.Dirty(t.Context())
	must(t, err)
	if dirty != nil {
		t.Errorf("dirty: %v", dirty)
	}
	if cs := measure(t, r, base); len(cs.Changes)+len(cs.Refused) > 0 {
		t.Errorf("changes: %+v", cs)
	}
}

func TestOperationInProgress(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	s.Commit()
	s.Run("checkout", "-q", "-b", "side")
	s.Write("a", "side\n")
	s.Commit()
	s.Run("checkout", "-q", "main")
	s.Write("a", "main\n")
	base := s.Commit()
	r := opened(s)
	if op := r.Git.OperationInProgress(); op != "" {
		t.Errorf("got %q before anything began", op)
	}
	for want, args := range map[string][]string{
		"merge": {"merge", "side"}, "rebase": {"rebase", "side"}, "cherry-pick": {"cherry-pick", "side"},
	} {
		_ = s.Command(args...).Run() // stops at a conflict
		if op := r.Git.OperationInProgress(); op != want {
			t.Errorf("got %q, want %q", op, want)
		}
		s.Write("a", "resolved\n", "b", want)
		head, err := r.Git.Head()
		must(t, err)
		_, err = r.Commit(t.Context(), measure(t, r, head.Hash), options(head.Hash))
		var unsupported *gitdir.UnsupportedError
		if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("commit during a %s: got %v", want, err)
		}
		s.Run(args[0], "--abort")
		s.Run("reset", "-q", "--hard", base)
		s.Run("clean", "-fdq")
	}
}

func TestADamagedIndexIsAnError(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	s.Commit()
	name := filepath.Join(s.Root, ".git/index")
	data, err := os.ReadFile(name)
	must(t, err)
	data[20] ^= 1
	must(t, os.WriteFile(name, data, 0o644))
	if _, err := opened(s).Snapshot(t.Context()); !errors.Is(err, gitdir.ErrDamagedIndex) {
		t.Errorf("got %v", err)
	}
}

func TestAnIndexWithoutChecksumIsRead(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	s.Commit()
	name := filepath.Join(s.Root, ".git/index")
	data, err := os.ReadFile(name)
	must(t, err)
	clear(data[len(data)-sha1.Size:])
	must(t, os.WriteFile(name, data, 0o644))
	if dirty, err := opened(s).Dirty(t.Context()); err != nil || dirty != nil {
		t.Errorf("got %v, %v", dirty, err)
	}
}
