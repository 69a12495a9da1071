package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bothWays runs a test with the git program and without it.
func bothWays(t *testing.T, test func(t *testing.T, s *sandbox, env Env)) {
	t.Helper()
	t.Run("with git", func(t *testing.T) {
		s := newSandbox(t)
		test(t, s, s.env())
	})
	t.Run("without git", func(t *testing.T) {
		s := newSandbox(t)
		env := s.env()
		env.GitProgram = ""
		test(t, s, env)
	})
}

func TestAddWorktreeRunsNothingThatTheRepositoryAsksFor(t *testing.T) {
	for name, hostile := range map[string]func(s *sandbox, run string){
		"hooks": func(s *sandbox, run string) {
			for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
				s.write(".git/hooks/"+hook, "#!/bin/sh\n"+run)
				s.chmod(0o755, ".git/hooks/"+hook)
			}
		},
		"a filter": func(s *sandbox, run string) {
			s.run("config", "filter.evil.smudge", run+"; cat")
			s.run("config", "filter.evil.required", "true")
		},
		"a filter process": func(s *sandbox, run string) { s.run("config", "filter.evil.process", run) },
		"a filter of a strange name": func(s *sandbox, run string) {
			s.write(".git/info/attributes", "* filter=a=b\n")
			s.run("config", "filter.a=b.smudge", run+"; cat")
		},
		"an included filter": func(s *sandbox, run string) {
			s.at(s.home).write("more", "[filter \"evil\"]\n\tsmudge = "+run+"; cat\n")
			s.run("config", "include.path", filepath.Join(s.home, "more"))
		},
		"a configured hook": func(s *sandbox, run string) {
			s.run("config", "hook.x.event", "post-checkout")
			s.run("config", "hook.x.command", run)
		},
		"fsmonitor": func(s *sandbox, run string) { s.run("config", "core.fsmonitor", run) },
		"the user's filter": func(s *sandbox, run string) {
			s.run("config", "--global", "filter.evil.smudge", run+"; cat")
		},
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, s *sandbox, env Env) {
				t.Helper()
				s.write("a", "a\n", ".gitattributes", "a filter=evil\n")
				base := s.commit()
				mark := filepath.Join(s.home, "ran")
				hostile(s, "touch "+mark)
				r, err := Open(s.root, env)
				must(t, err)
				wt, err := r.AddWorktree(t.Context(), filepath.Join(s.home, "wt"), base)
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

func TestAddWorktreeFallsBackWhenGitFails(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "a\n", "x", "x\n")
	s.chmod(0o755, "x")
	s.link("a", "l")
	base := s.commit()
	env := s.env()
	for _, broken := range []string{"/bin/false", filepath.Join(s.home, "missing")} {
		env.GitProgram = broken
		r, err := Open(s.root, env)
		must(t, err)
		dir := filepath.Join(s.home, "wt")
		_, err = r.AddWorktree(t.Context(), dir, base)
		must(t, err)
		s.at(dir).clean()
		must(t, r.RemoveWorktree(t.Context(), dir))
	}
}

func TestAddWorktreeRefusesWhatItCanNotMake(t *testing.T) {
	bothWays(t, func(t *testing.T, s *sandbox, env Env) {
		t.Helper()
		s.write("a", "a\n")
		base := s.commit()
		r, err := Open(s.root, env)
		must(t, err)
		full := filepath.Join(s.home, "full")
		s.at(full).write("x", "x")
		for name, try := range map[string][2]string{
			"a full directory": {full, base},
			"no hash":          {filepath.Join(s.home, "wt"), "main"},
			"a missing commit": {filepath.Join(s.home, "wt"), strings.Repeat("1", 40)},
			"a tree":           {filepath.Join(s.home, "wt"), s.run("rev-parse", "HEAD^{tree}")},
		} {
			if _, err := r.AddWorktree(t.Context(), try[0], try[1]); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if list := s.run("worktree", "list"); strings.Contains(list, "\n") {
			t.Errorf("worktrees remain:\n%s", list)
		}
		if _, err := os.Stat(filepath.Join(full, "x")); err != nil {
			t.Error(err)
		}
	})
}

func TestACommitOfHostileNamesIsNotCheckedOut(t *testing.T) {
	for _, name := range []string{".git", "..", ".GIT", "git~1"} {
		s := newSandbox(t)
		blob := s.run("hash-object", "-w", "--stdin")
		cmd := s.command("mktree")
		cmd.Stdin = strings.NewReader("040000 tree " + treeOf(s, "100644 blob "+blob+"\tconfig\n") + "\t" + name + "\n")
		tree, err := cmd.Output()
		must(t, err)
		commit := s.run("commit-tree", "-m", "x", strings.TrimSpace(string(tree)))
		env := s.env()
		env.GitProgram = ""
		r, err := Open(s.root, env)
		must(t, err)
		dir := filepath.Join(s.home, "trees", "wt")
		var unsupported *UnsupportedError
		if _, err := r.AddWorktree(t.Context(), dir, commit); !errors.As(err, &unsupported) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: directory remains (%v)", name, err)
		}
	}
}

func treeOf(s *sandbox, entries string) string {
	cmd := s.command("mktree")
	cmd.Stdin = strings.NewReader(entries)
	out, err := cmd.Output()
	must(s.t, err)
	return strings.TrimSpace(string(out))
}

func TestWorktreesOfTheSameNameStandSideBySide(t *testing.T) {
	bothWays(t, func(t *testing.T, s *sandbox, env Env) {
		t.Helper()
		s.write("a", "a\n")
		base := s.commit()
		r, err := Open(s.root, env)
		must(t, err)
		one, err := r.AddWorktree(t.Context(), filepath.Join(s.home, "1/näme .x"), base)
		must(t, err)
		two, err := r.AddWorktree(t.Context(), filepath.Join(s.home, "2/näme .x"), base)
		must(t, err)
		if one.GitDir() == two.GitDir() || one.CommonDir() != r.CommonDir() {
			t.Errorf("%s, %s", one.GitDir(), two.GitDir())
		}
		must(t, r.RemoveWorktree(t.Context(), one.Root()))
		s.at(two.Root()).clean()
	})
}

func TestRemoveWorktreeCopesWithWhatAnAgentDid(t *testing.T) {
	for name, agent := range map[string]func(s *sandbox, wt *Repo){
		"nothing":                      func(*sandbox, *Repo) {},
		"the directory is gone":        func(_ *sandbox, wt *Repo) { must(t, os.RemoveAll(wt.Root())) },
		"the .git file is gone":        func(s *sandbox, _ *Repo) { s.remove(".git") },
		"the .git file points away":    func(s *sandbox, _ *Repo) { s.write(".git", "gitdir: /tmp\n") },
		"the .git file is a directory": func(s *sandbox, _ *Repo) { s.remove(".git"); s.run("init", "-q") },
		"the directory is a link":      func(s *sandbox, _ *Repo) { s.remove("."); must(t, os.Symlink(s.home, s.root)) },
		"the registration is gone":     func(_ *sandbox, wt *Repo) { must(t, os.RemoveAll(wt.GitDir())) },
		"the registration points away": func(_ *sandbox, wt *Repo) {
			must(t, os.WriteFile(filepath.Join(wt.GitDir(), "gitdir"), []byte("/tmp/.git\n"), 0o644))
		},
		"directories are write-protected": func(s *sandbox, _ *Repo) {
			s.write("p/q/r", "x")
			s.chmod(0o500, "p/q")
			s.chmod(0o000, "p")
		},
		"it is locked":              func(s *sandbox, _ *Repo) { s.run("worktree", "lock", ".") },
		"there are untracked files": func(s *sandbox, _ *Repo) { s.write("x/y", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, s *sandbox, env Env) {
				t.Helper()
				s.write("a", "a\n")
				base := s.commit()
				s.at(s.home).write("precious", "x")
				r, err := Open(s.root, env)
				must(t, err)
				in, wt := worktree(t, s, r, base)
				agent(in, wt)
				must(t, r.RemoveWorktree(t.Context(), wt.Root()))
				if _, err := os.Lstat(wt.Root()); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the directory remains (%v)", err)
				}
				if _, err := os.Lstat(wt.GitDir()); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the registration remains (%v)", err)
				}
				if _, err := os.Stat(filepath.Join(s.home, "precious")); err != nil {
					t.Error(err)
				}
				must(t, r.RemoveWorktree(t.Context(), wt.Root())) // again
				s.clean()
			})
		})
	}
}

func TestRemoveWorktreeOfAnEarlierRun(t *testing.T) {
	bothWays(t, func(t *testing.T, s *sandbox, env Env) {
		t.Helper()
		s.write("a", "a\n")
		base := s.commit()
		r, err := Open(s.root, env)
		must(t, err)
		_, wt := worktree(t, s, r, base)
		must(t, os.RemoveAll(wt.Root()))
		again, err := Open(s.root, env)
		must(t, err)
		must(t, again.RemoveWorktree(t.Context(), wt.Root()))
		if list := s.run("worktree", "list"); strings.Contains(list, "\n") {
			t.Errorf("worktrees remain:\n%s", list)
		}
	})
}

func TestRemoveWorktreeNeverRemovesTheRepository(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "a\n")
	base := s.commit()
	r := s.open()
	_, wt := worktree(t, s, r, base)
	for _, dir := range []string{s.root, filepath.Dir(s.root), filepath.Join(s.root, ".git"), "/"} {
		if err := r.RemoveWorktree(t.Context(), dir); err == nil {
			t.Errorf("%s: removed", dir)
		}
		if err := wt.RemoveWorktree(t.Context(), dir); err == nil {
			t.Errorf("%s: removed from the worktree", dir)
		}
	}
	s.clean()
}

func TestSubmodulesAreEmptyDirectoriesInAWorktree(t *testing.T) {
	bothWays(t, func(t *testing.T, s *sandbox, env Env) {
		t.Helper()
		s.write("a", "a\n")
		addSubmodule(s, "deep/sub")
		base := s.run("rev-parse", "HEAD")
		r, err := Open(s.root, env)
		must(t, err)
		in, wt := worktree(t, s, r, base)
		if diff := cmp.Diff([]Change(nil), measure(t, wt, base).Changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		in.clean()
	})
}
