package gitops

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// bothWays runs a test with the git program and without it; with -short in one of these ways.
func bothWays(t *testing.T, test func(t *testing.T, s *gittest.Sandbox, env gitdir.Env)) {
	t.Helper()
	for _, way := range nightly.Sample([]string{"with git", "without git"}, 2, len(t.Name())%2) {
		t.Run(way, func(t *testing.T) {
			s := gittest.NewSandbox(t)
			env := envOf(s)
			if way == "without git" {
				env.GitProgram = ""
			}
			test(t, s, env)
		})
	}
}

func TestAddWorktreeRunsNoHooks(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for name, hostile := range map[string]func(s *gittest.Sandbox, run string){
		"hooks": func(s *gittest.Sandbox, run string) {
			for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
				s.Write(".git/hooks/"+hook, "#!/bin/sh\n"+run)
				s.Chmod(0o755, ".git/hooks/"+hook)
			}
		},
		"a filter": func(s *gittest.Sandbox, run string) {
			s.Run("config", "filter.evil.smudge", run+"; cat")
			s.Run("config", "filter.evil.required", "true")
		},
		"a filter process": func(s *gittest.Sandbox, run string) { s.Run("config", "filter.evil.process", run) },
		"a filter of a strange name": func(s *gittest.Sandbox, run string) {
			s.Write(".git/info/attributes", "* filter=a=b\n")
			s.Run("config", "filter.a=b.smudge", run+"; cat")
		},
		"an included filter": func(s *gittest.Sandbox, run string) {
			s.At(s.Home).Write("more", "[filter \"evil\"]\n\tsmudge = "+run+"; cat\n")
			s.Run("config", "include.path", filepath.Join(s.Home, "more"))
		},
		"a configured hook": func(s *gittest.Sandbox, run string) {
			s.Run("config", "hook.x.event", "post-checkout")
			s.Run("config", "hook.x.command", run)
		},
		"fsmonitor": func(s *gittest.Sandbox, run string) { s.Run("config", "core.fsmonitor", run) },
		"the user's filter": func(s *gittest.Sandbox, run string) {
			s.Run("config", "--global", "filter.evil.smudge", run+"; cat")
		},
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, s *gittest.Sandbox, env gitdir.Env) {
				t.Helper()
				s.Write("a", "a\n", ".gitattributes", "a filter=evil\n")
				base := s.Commit()
				mark := filepath.Join(s.Home, "ran")
				hostile(s, "touch "+mark)
				r, err := Open(s.Root, env)
				must(t, err)
				wt, err := r.AddWorktree(t.Context(), filepath.Join(s.Home, "wt"), base)
				must(t, err)
				if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("it ran (%v)", err)
				}
				if dirty, err := wt.Dirty(t.Context()); err != nil || dirty != nil {
					t.Errorf("dirty: %v, %v", dirty, err)
				}
			})
		})
	}
}

func TestAddWorktreeOfASparseCheckoutHasAllFiles(t *testing.T) {
	bothWays(t, func(t *testing.T, s *gittest.Sandbox, env gitdir.Env) {
		t.Helper()
		s.Write("a/x", "x\n", "b/y", "y\n")
		base := s.Commit()
		s.Run("config", "core.sparseCheckout", "true")
		s.Write(".git/info/sparse-checkout", "/a/\n")
		s.Run("read-tree", "-mu", "HEAD")
		r, err := Open(s.Root, env)
		must(t, err)
		if !r.Git.Config.Sparse() {
			t.Error("the checkout does not count as sparse")
		}
		dir := filepath.Join(s.Home, "wt")
		_, err = r.AddWorktree(t.Context(), dir, base)
		must(t, err)
		for _, name := range []string{"a/x", "b/y"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAddWorktreeFallsBackWhenGitFails(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n", "x", "x\n")
	s.Chmod(0o755, "x")
	s.Symlink("a", "l")
	base := s.Commit()
	env := envOf(s)
	for _, broken := range []string{"/bin/false", filepath.Join(s.Home, "missing")} {
		env.GitProgram = broken
		r, err := Open(s.Root, env)
		must(t, err)
		dir := filepath.Join(s.Home, "wt")
		_, err = r.AddWorktree(t.Context(), dir, base)
		must(t, err)
		s.At(dir).Clean()
		must(t, r.RemoveWorktree(t.Context(), dir))
	}
}

func TestAddWorktreeRefusesUnsupportedTrees(t *testing.T) {
	bothWays(t, func(t *testing.T, s *gittest.Sandbox, env gitdir.Env) {
		t.Helper()
		s.Write("a", "a\n")
		base := s.Commit()
		r, err := Open(s.Root, env)
		must(t, err)
		full := filepath.Join(s.Home, "full")
		s.At(full).Write("x", "x")
		for name, try := range map[string][2]string{
			"a full directory": {full, base},
			"no hash":          {filepath.Join(s.Home, "wt"), "main"},
			"a missing commit": {filepath.Join(s.Home, "wt"), strings.Repeat("1", 40)},
			"a tree":           {filepath.Join(s.Home, "wt"), s.Run("rev-parse", "HEAD^{tree}")},
		} {
			if _, err := r.AddWorktree(t.Context(), try[0], try[1]); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if list := s.Run("worktree", "list"); strings.Contains(list, "\n") {
			t.Errorf("worktrees remain:\n%s", list)
		}
		if _, err := os.Stat(filepath.Join(full, "x")); err != nil {
			t.Error(err)
		}
	})
}

func TestCommitWithHostileNamesIsNotCheckedOut(t *testing.T) {
	for _, name := range []string{".git", "..", ".GIT", "git~1"} {
		s := gittest.NewSandbox(t)
		blob := s.Run("hash-object", "-w", "--stdin")
		cmd := s.Command("mktree")
		cmd.Stdin = strings.NewReader("040000 tree " + treeOf(s, "100644 blob "+blob+"\tconfig\n") + "\t" + name + "\n")
		tree, err := cmd.Output()
		must(t, err)
		commit := s.Run("commit-tree", "-m", "x", strings.TrimSpace(string(tree)))
		env := envOf(s)
		env.GitProgram = ""
		r, err := Open(s.Root, env)
		must(t, err)
		dir := filepath.Join(s.Home, "trees", "wt")
		var unsupported *gitdir.UnsupportedError
		if _, err := r.AddWorktree(t.Context(), dir, commit); !errors.As(err, &unsupported) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: directory remains (%v)", name, err)
		}
	}
}

func treeOf(s *gittest.Sandbox, entries string) string {
	cmd := s.Command("mktree")
	cmd.Stdin = strings.NewReader(entries)
	out, err := cmd.Output()
	must(s.T, err)
	return strings.TrimSpace(string(out))
}

func TestWorktreesOfTheSameNameCoexist(t *testing.T) {
	bothWays(t, func(t *testing.T, s *gittest.Sandbox, env gitdir.Env) {
		t.Helper()
		s.Write("a", "a\n")
		base := s.Commit()
		r, err := Open(s.Root, env)
		must(t, err)
		one, err := r.AddWorktree(t.Context(), filepath.Join(s.Home, "1/näme .x"), base)
		must(t, err)
		two, err := r.AddWorktree(t.Context(), filepath.Join(s.Home, "2/näme .x"), base)
		must(t, err)
		if one.Git.Own == two.Git.Own || one.Git.Common != r.Git.Common {
			t.Errorf("%s, %s", one.Git.Own, two.Git.Own)
		}
		must(t, r.RemoveWorktree(t.Context(), one.Root()))
		s.At(two.Root()).Clean()
	})
}

func TestRemoveWorktreeCopesWithWhatAnAgentDid(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for name, agent := range map[string]func(s *gittest.Sandbox, wt *Repo){
		"nothing":                      func(*gittest.Sandbox, *Repo) {},
		"the directory is gone":        func(_ *gittest.Sandbox, wt *Repo) { must(t, os.RemoveAll(wt.Root())) },
		"the .git file is gone":        func(s *gittest.Sandbox, _ *Repo) { s.Remove(".git") },
		"the .git file points away":    func(s *gittest.Sandbox, _ *Repo) { s.Write(".git", "gitdir: /tmp\n") },
		"the .git file is a directory": func(s *gittest.Sandbox, _ *Repo) { s.Remove(".git"); s.Run("init", "-q") },
		"the directory is a link":      func(s *gittest.Sandbox, _ *Repo) { s.Remove("."); must(t, os.Symlink(s.Home, s.Root)) },
		"the registration is gone":     func(_ *gittest.Sandbox, wt *Repo) { must(t, os.RemoveAll(wt.Git.Own)) },
		"the registration points away": func(_ *gittest.Sandbox, wt *Repo) {
			must(t, os.WriteFile(filepath.Join(wt.Git.Own, "gitdir"), []byte("/tmp/.git\n"), 0o644))
		},
		"directories are write-protected": func(s *gittest.Sandbox, _ *Repo) {
			s.Write("p/q/r", "x")
			s.Chmod(0o500, "p/q")
			s.Chmod(0o000, "p")
		},
		"it is locked":              func(s *gittest.Sandbox, _ *Repo) { s.Run("worktree", "lock", ".") },
		"there are untracked files": func(s *gittest.Sandbox, _ *Repo) { s.Write("x/y", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, s *gittest.Sandbox, env gitdir.Env) {
				t.Helper()
				s.Write("a", "a\n")
				base := s.Commit()
				s.At(s.Home).Write("precious", "x")
				r, err := Open(s.Root, env)
				must(t, err)
				in, wt := worktree(t, s, r, base)
				agent(in, wt)
				must(t, r.RemoveWorktree(t.Context(), wt.Root()))
				if _, err := os.Lstat(wt.Root()); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the directory remains (%v)", err)
				}
				if _, err := os.Lstat(wt.Git.Own); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the registration remains (%v)", err)
				}
				if _, err := os.Stat(filepath.Join(s.Home, "precious")); err != nil {
					t.Error(err)
				}
				must(t, r.RemoveWorktree(t.Context(), wt.Root())) // again
				s.Clean()
			})
		})
	}
}

func TestRemoveWorktreeOfAnEarlierRun(t *testing.T) {
	bothWays(t, func(t *testing.T, s *gittest.Sandbox, env gitdir.Env) {
		t.Helper()
		s.Write("a", "a\n")
		base := s.Commit()
		r, err := Open(s.Root, env)
		must(t, err)
		_, wt := worktree(t, s, r, base)
		must(t, os.RemoveAll(wt.Root()))
		again, err := Open(s.Root, env)
		must(t, err)
		must(t, again.RemoveWorktree(t.Context(), wt.Root()))
		if list := s.Run("worktree", "list"); strings.Contains(list, "\n") {
			t.Errorf("worktrees remain:\n%s", list)
		}
	})
}

func TestRemoveWorktreeNeverRemovesTheRepository(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	base := s.Commit()
	r := opened(s)
	_, wt := worktree(t, s, r, base)
	for _, dir := range []string{s.Root, filepath.Dir(s.Root), filepath.Join(s.Root, ".git"), "/"} {
		if err := r.RemoveWorktree(t.Context(), dir); err == nil {
			t.Errorf("%s: removed", dir)
		}
		if err := wt.RemoveWorktree(t.Context(), dir); err == nil {
			t.Errorf("%s: removed from the worktree", dir)
		}
	}
	s.Clean()
}

func TestSubmodulesAreEmptyDirectoriesInAWorktree(t *testing.T) {
	bothWays(t, func(t *testing.T, s *gittest.Sandbox, env gitdir.Env) {
		t.Helper()
		s.Write("a", "a\n")
		addSubmodule(s, "deep/sub")
		base := s.Run("rev-parse", "HEAD")
		r, err := Open(s.Root, env)
		must(t, err)
		in, wt := worktree(t, s, r, base)
		if diff := cmp.Diff([]state.Change(nil), measure(t, wt, base).Changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		in.Clean()
	})
}

// On one device, an index vouches for files that are a moment older than itself; on two, only for
// those of an earlier second, unless the time of the checkout is known.
func TestFilesOnAnotherDeviceAreTrusted(t *testing.T) {
	dir := gittest.OtherDevice(t)
	s := gittest.NewSandbox(t)
	s.Write("a.txt", "1\n")
	for n := range 1000 { // so that the checkout is longer than a tick of the clock
		s.Write(fmt.Sprintf("d/%d", n), "1\n")
	}
	s.Commit()
	r := opened(s)
	for n := range 20 { // a file as new as the end of the checkout is not trusted, so more than one try may be needed
		wt, err := r.AddWorktree(t.Context(), filepath.Join(dir, strconv.Itoa(n)), s.Run("rev-parse", "HEAD"))
		must(t, err)
		idx, err := wt.Git.Index()
		must(t, err)
		info, err := os.Lstat(filepath.Join(wt.Root(), "a.txt"))
		must(t, err)
		st := gitdir.StatOf(info)
		trusted := idx.Current(&idx.Entries[0], &st, true)
		must(t, r.RemoveWorktree(t.Context(), wt.Root()))
		if trusted {
			return
		}
	}
	t.Error("no file of a new worktree is trusted")
}
