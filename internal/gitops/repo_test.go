package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpenFindsTheWorkTreeFromAnyDirectoryInIt(t *testing.T) {
	s := newSandbox(t)
	s.write("a/b/c", "c\n")
	base := s.commit()
	linked := filepath.Join(s.home, "linked")
	s.run("worktree", "add", "-q", "-b", "other", linked)
	link := filepath.Join(s.home, "link")
	must(t, os.Symlink(s.root, link))
	git := filepath.Join(s.root, ".git")
	for _, test := range []struct{ dir, root, gitDir, branch string }{
		{s.root, s.root, git, "main"},
		{filepath.Join(s.root, "a/b"), s.root, git, "main"},
		{filepath.Join(link, "a"), s.root, git, "main"},
		{filepath.Join(linked, "a/b"), linked, filepath.Join(git, "worktrees/linked"), "other"},
	} {
		r, err := Open(test.dir, s.env())
		must(t, err)
		head, err := r.Head()
		must(t, err)
		got := []any{r.Root(), r.GitDir(), r.CommonDir(), head}
		want := []any{test.root, test.gitDir, git, Head{Hash: base, Branch: test.branch}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.dir, diff)
		}
	}
}

func TestOpenRefusesWhatIsNoRepository(t *testing.T) {
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
		if _, err := Open(dir, Env{}); !errors.Is(err, ErrNotRepository) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "missing"), Env{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory: got %v", err)
	}
}

func TestOpenRefusesRepositoriesThatItCanNotHandle(t *testing.T) {
	for _, test := range []struct {
		name    string
		init    []string
		prepare func(*sandbox)
		reason  string
	}{
		{"a bare repository", []string{"--bare"}, nil, "bare"},
		{"core.bare", nil, func(s *sandbox) { s.run("config", "core.bare", "true") }, "bare"},
		{"SHA-256", []string{"--object-format=sha256"}, nil, "object format sha256"},
		{"worktreeConfig", nil, func(s *sandbox) { s.run("sparse-checkout", "set", "x") }, "worktreeConfig"},
		{"a split index", nil, func(s *sandbox) { s.run("update-index", "--split-index") }, "split"},
		{"a sparse index", nil, func(s *sandbox) {
			s.run("sparse-checkout", "set", "--cone", "--sparse-index", "x")
			s.run("config", "--unset", "extensions.worktreeConfig")
		}, "sparse"},
		{"a partial clone", nil, func(s *sandbox) { s.run("config", "extensions.partialClone", "origin") }, "partial"},
		{"reftable", nil, func(s *sandbox) { s.run("config", "extensions.refStorage", "reftable") }, "reftable"},
		{"an unknown extension", nil, func(s *sandbox) { s.run("config", "extensions.future", "1") }, "future"},
		{"a format of the future", nil, func(s *sandbox) { s.run("config", "core.repositoryFormatVersion", "2") }, "version 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSandbox(t, test.init...)
			if test.prepare != nil {
				s.write("a/b", "b\n", "x/y", "y\n")
				s.commit()
				test.prepare(s)
			}
			_, err := Open(s.root, s.env())
			var unsupported *UnsupportedError
			if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("got %v, want an UnsupportedError about %q", err, test.reason)
			}
		})
	}
}

func TestAWorktreeOfABareRepositoryOpens(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "a\n")
	s.commit()
	bare := s.at(filepath.Join(s.home, "bare.git"))
	s.run("clone", "-q", "--bare", s.root, bare.root)
	dir := filepath.Join(s.home, "wt")
	bare.run("worktree", "add", "-q", dir)
	r, err := Open(dir, s.env())
	must(t, err)
	if dirty, err := r.Dirty(t.Context()); err != nil || dirty != nil {
		t.Errorf("got %v, %v", dirty, err)
	}
}

func TestADamagedIndexIsAnError(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "a\n")
	s.commit()
	name := filepath.Join(s.root, ".git/index")
	data, err := os.ReadFile(name)
	must(t, err)
	data[20] ^= 1
	must(t, os.WriteFile(name, data, 0o644))
	if _, err := Open(s.root, s.env()); !errors.Is(err, errTornIndex) {
		t.Errorf("got %v", err)
	}
}

func TestAnIndexWithoutChecksumIsRead(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "a\n")
	s.commit()
	name := filepath.Join(s.root, ".git/index")
	data, err := os.ReadFile(name)
	must(t, err)
	clear(data[len(data)-checksumSize:])
	must(t, os.WriteFile(name, data, 0o644))
	if dirty, err := s.open().Dirty(t.Context()); err != nil || dirty != nil {
		t.Errorf("got %v, %v", dirty, err)
	}
}

func TestHead(t *testing.T) {
	s := newSandbox(t)
	r := s.open()
	check := func(want Head) {
		t.Helper()
		got, err := r.Head()
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	check(Head{Branch: "main", Unborn: true})
	s.write("a", "a\n")
	base := s.commit()
	check(Head{Hash: base, Branch: "main"})
	s.run("pack-refs", "--all")
	check(Head{Hash: base, Branch: "main"})
	s.run("checkout", "-q", "-b", "feature/x")
	check(Head{Hash: base, Branch: "feature/x"})
	s.run("checkout", "-q", "--detach")
	check(Head{Hash: base, Detached: true})
}

func TestResolveAgreesWithGit(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "a\n")
	first := s.commit()
	s.run("tag", "light")
	s.run("tag", "-a", "-m", "x", "annotated")
	s.run("tag", "-a", "-m", "x", "of-a-tag", "annotated")
	s.write("a", "b\n")
	second := s.commit()
	s.run("branch", "feature/one")
	s.run("branch", "light2")
	s.run("update-ref", "refs/remotes/origin/main", first)
	s.run("tag", "both", first)
	s.run("branch", "both", second)
	s.run("pack-refs", "--all")
	s.run("branch", "loose", first)
	s.run("gc", "-q")
	r := s.open()
	for _, rev := range []string{
		"HEAD", "main", "light", "annotated", "of-a-tag", "feature/one", "refs/heads/main", "refs/tags/annotated",
		"origin/main", "both", "loose", first, second, first[:4], second[:7], strings.ToUpper(second[:11]), first[:39],
	} {
		want := s.run("rev-parse", "--verify", "-q", rev+"^{commit}")
		if got, err := r.Resolve(rev); err != nil || got != want {
			t.Errorf("%s: got %s, %v; git says %s", rev, got, err, want)
		}
	}
	tree := s.run("rev-parse", "HEAD^{tree}")
	for _, rev := range []string{
		"", "nothing", "HEAD~1", "../config", "refs/../config", "main^{tree}", "zz", "abc", tree, tree[:10],
		strings.Repeat("0", 40), "-x", "@{u}", "a b",
	} {
		if got, err := r.Resolve(rev); err == nil {
			t.Errorf("%q: got %s, want an error", rev, got)
		}
	}
}

func TestBranchHash(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "a\n")
	base := s.commit()
	s.run("branch", "packed/x")
	s.run("pack-refs", "--all")
	s.run("branch", "loose/y")
	s.run("branch", "gone/z")
	s.run("branch", "-D", "-q", "gone/z")
	r := s.open()
	for name, want := range map[string]bool{
		"main": true, "packed/x": true, "loose/y": true, "missing": false, "gone": false, "gone/z": false, "packed/xy": false,
	} {
		hash, exists, err := r.BranchHash(name)
		if err != nil || exists != want || exists != (hash == base) {
			t.Errorf("%s: got %q, %v, %v", name, hash, exists, err)
		}
	}
	for _, name := range []string{"packed", "loose", "main/x", "packed/x/y", "loose/y/z"} {
		if _, _, err := r.BranchHash(name); !errors.Is(err, ErrBranchExists) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestValidBranchAgreesWithGit(t *testing.T) {
	s := newSandbox(t)
	names := []string{
		"main", "a/b/c", "millhand/x-1", "ümläut", "a.b", "a{b}", "a@b", "x@", "@x", "a'b\"c$(d)&;|", "#1", "%", "+", "caf\xe9",
		"", "-x", "a..b", "a.", ".a", "a/.b", "a.lock", "a/b.lock/c", "/a", "a/", "a//b", "a b", "a~", "a^", "a:", "a?", "a*", "a[", "a\\b",
		"a\x01", "a\x7f", "a@{b", "@", "HEAD", "refs/heads/x", "lock", ".lock", "a.lock.x", "..", "a/..", "a\tb", "a\nb",
	}
	for _, name := range names {
		git := s.command("check-ref-format", "--branch", name).Run() == nil
		if name == "HEAD" || name == "@" { // git accepts them here and not where a branch is made
			git = false
		}
		if err := ValidBranch(name); (err == nil) != git {
			t.Errorf("%q: got %v, git accepts it: %v", name, err, git)
		}
	}
	if ValidBranch("x/"+strings.Repeat("a", 251)) == nil {
		t.Error("a name that does not fit into a file name is accepted")
	}
}

// statusPaths returns the paths that git status names.
func statusPaths(s *sandbox) []string {
	var list []string
	out := s.run("status", "--porcelain", "-z", "-uall", "--no-renames", "--ignore-submodules=dirty")
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) > 3 {
			list = append(list, entry[3:])
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestDirtyNamesThePathsThatGitStatusNames(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s, _ := f.start(t)
			r := s.open()
			compare := func() {
				t.Helper()
				got, err := r.Dirty(t.Context())
				must(t, err)
				if diff := cmp.Diff(statusPaths(s), got); diff != "" {
					t.Errorf("(-git +got):\n%s", diff)
				}
			}
			compare()
			f.job(s)
			compare()
		})
	}
}

func TestDirtyInSpecialCasesIsWhatGitStatusSays(t *testing.T) {
	for name, prepare := range map[string]func(*sandbox){
		"staged, then taken back in the work tree": func(s *sandbox) { s.write("a", "b\n"); s.run("add", "a"); s.write("a", "a\n") },
		"staged only":                     func(s *sandbox) { s.write("a", "b\n"); s.run("add", "a") },
		"staged deletion":                 func(s *sandbox) { s.run("rm", "-q", "a") },
		"removed from the index only":     func(s *sandbox) { s.run("rm", "-q", "--cached", "a") },
		"touched":                         func(s *sandbox) { must(s.t, os.Chtimes(filepath.Join(s.root, "a"), testTime, testTime)) },
		"assume-unchanged":                func(s *sandbox) { s.run("update-index", "--assume-unchanged", "a"); s.write("a", "b\n") },
		"skip-worktree and changed":       func(s *sandbox) { s.run("update-index", "--skip-worktree", "a"); s.write("a", "b\n") },
		"skip-worktree and missing":       func(s *sandbox) { s.run("update-index", "--skip-worktree", "a"); s.remove("a") },
		"an untracked repository":         func(s *sandbox) { nestedRepository(s, "vendor/lib") },
		"an untracked repository, unborn": func(s *sandbox) { s.run("init", "-q", "nested") },
		"a conflict": func(s *sandbox) {
			s.run("checkout", "-q", "-b", "side")
			s.write("a", "side\n")
			s.commit()
			s.run("checkout", "-q", "main")
			s.write("a", "main\n")
			s.commit()
			_ = s.command("merge", "-q", "side").Run()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			s.write("a", "a\n", "d/b", "b\n")
			s.commit()
			prepare(s)
			got, err := s.open().Dirty(t.Context())
			must(t, err)
			if diff := cmp.Diff(statusPaths(s), got); diff != "" {
				t.Errorf("(-git +got):\n%s", diff)
			}
		})
	}
}

func nestedRepository(s *sandbox, path string) {
	s.run("init", "-q", path)
	in := s.at(filepath.Join(s.root, path))
	in.write("f", "f\n")
	in.commit()
}

func TestTheRunnersOwnDirectoryIsNeverDirtyNorChanged(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "a\n", ".millhand/tracked", "by mistake\n")
	base := s.commit()
	r := s.open()
	s.write(".millhand/runs/1/report.json", "{}", "sub/.millhand/x", "x", ".millhand/tracked", "changed\n")
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

func TestUnfinishedNamesWhatIsUnderWay(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "a\n")
	s.commit()
	s.run("checkout", "-q", "-b", "side")
	s.write("a", "side\n")
	s.commit()
	s.run("checkout", "-q", "main")
	s.write("a", "main\n")
	base := s.commit()
	r := s.open()
	if op := r.Unfinished(); op != "" {
		t.Errorf("got %q before anything began", op)
	}
	for want, args := range map[string][]string{
		"merge": {"merge", "side"}, "rebase": {"rebase", "side"}, "cherry-pick": {"cherry-pick", "side"},
	} {
		_ = s.command(args...).Run() // stops at a conflict
		if op := r.Unfinished(); op != want {
			t.Errorf("got %q, want %q", op, want)
		}
		s.write("a", "resolved\n", "b", want)
		head, err := r.Head()
		must(t, err)
		_, err = r.Commit(t.Context(), measure(t, r, head.Hash), options(head.Hash))
		var unsupported *UnsupportedError
		if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("commit during a %s: got %v", want, err)
		}
		s.run(args[0], "--abort")
		s.run("reset", "-q", "--hard", base)
		s.run("clean", "-fdq")
	}
}
