package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// fixture is a repository, the changes of a job in it, and git's expected
// result: the tests compare with git itself.
type fixture struct {
	name string
	base func(*gittest.Sandbox) // before the first commit; nil for an unborn branch
	prep func(*gittest.Sandbox) // after the first commit
	job  func(*gittest.Sandbox)

	untidy bool // git status has something to say about it afterwards
	lossy  bool // what is checked out differs from what is stored
}

const binaryText = "\x00\x01\x02GIF\xff\xfe\n\x00"

var fixtures = []fixture{
	{
		name: "files are changed, added and deleted",
		base: func(s *gittest.Sandbox) { s.Write("a.txt", "one\ntwo\n", "b/c.txt", "x\n", "b/d.txt", "y\n", "z", "") },
		job: func(s *gittest.Sandbox) {
			s.Write("a.txt", "one\n2\nthree\n", "new/deep/e.txt", "new\n")
			s.Remove("b/d.txt")
		},
	},
	{
		name: "executable bits come and go",
		base: func(s *gittest.Sandbox) { s.Write("run.sh", "#!/bin/sh\n", "x", "x\n"); s.Chmod(0o755, "x") },
		job:  func(s *gittest.Sandbox) { s.Chmod(0o755, "run.sh"); s.Chmod(0o644, "x") },
	},
	{
		name: "links are stored and never followed",
		base: func(s *gittest.Sandbox) { s.Write("t", "t\n"); s.Symlink("t", "l"); s.Symlink("nowhere", "gone") },
		job: func(s *gittest.Sandbox) {
			s.Remove("l", "gone")
			s.Symlink("/etc/passwd", "l")
			s.Symlink("..", "up")
			s.Symlink("missing", "dir/dangling")
		},
	},
	{
		name: "a file becomes a link and a link a file",
		base: func(s *gittest.Sandbox) { s.Write("f", "t"); s.Symlink("f", "l") },
		job: func(s *gittest.Sandbox) {
			s.Remove("f", "l")
			s.Symlink("t", "f")
			s.Write("l", "f")
		},
	},
	{
		name: "a file becomes a directory and a directory a file",
		base: func(s *gittest.Sandbox) {
			s.Write("f", "f\n", "d/x", "x\n", "d/y/z", "z\n", "d.txt", "sorted between\n")
		},
		job: func(s *gittest.Sandbox) {
			s.Remove("f", "d")
			s.Write("f/inner", "f\n", "f.txt", "sorted between\n", "d", "now a file\n")
		},
	},
	{
		name: "a directory becomes a link to a directory",
		base: func(s *gittest.Sandbox) { s.Write("d/x", "x\n", "e/x", "x\n") },
		job:  func(s *gittest.Sandbox) { s.Remove("d"); s.Symlink("e", "d") },
	},
	{
		name: "files are renamed and directories moved",
		base: func(s *gittest.Sandbox) { s.Write("a", "aaa\nbbb\nccc\n", "old/one", "1\n", "old/two", "2\n") },
		job: func(s *gittest.Sandbox) {
			must(s.T, os.Rename(filepath.Join(s.Root, "a"), filepath.Join(s.Root, "b")))
			must(s.T, os.Rename(filepath.Join(s.Root, "old"), filepath.Join(s.Root, "new")))
		},
	},
	{
		name: "nested ignore files with negations",
		base: func(s *gittest.Sandbox) {
			s.Write(".gitignore", "*.log\n/build/\n!keep.log\n", "sub/.gitignore", "!*.log\nsecret\n", "a", "a\n")
		},
		job: func(s *gittest.Sandbox) {
			s.Write("x.log", "no\n", "keep.log", "yes\n", "sub/y.log", "yes\n", "sub/secret", "no\n",
				"sub/deep/secret", "no\n", "build/out", "no\n", "sub/build/out", "yes\n")
		},
	},
	{
		name: "tracked files stay tracked though ignored",
		base: func(s *gittest.Sandbox) {
			s.Write("dist/app.js", "1\n", "x.log", "1\n")
			s.Run("add", "-A")
			s.Write(".gitignore", "dist/\n*.log\n")
		},
		job: func(s *gittest.Sandbox) {
			s.Write("dist/app.js", "2\n", "dist/new.js", "no\n", "x.log", "2\n", "y.log", "no\n", "dist/deep/n", "no\n")
		},
	},
	{
		name: "a job adds an ignore file",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n", "b.tmp", "tracked\n") },
		job:  func(s *gittest.Sandbox) { s.Write(".gitignore", "*.tmp\n", "c.tmp", "no\n", "b.tmp", "changed\n") },
	},
	{
		name: "info/exclude",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n") },
		prep: func(s *gittest.Sandbox) { s.Write(".git/info/exclude", "*.local\n") },
		job:  func(s *gittest.Sandbox) { s.Write("x.local", "no\n", "x", "yes\n") },
	},
	{
		name: "the user's excludes in their default place",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n", ".gitignore", "!b.swp\n") },
		prep: func(s *gittest.Sandbox) { s.At(s.Home).Write(".config/git/ignore", "*.swp\n") },
		job:  func(s *gittest.Sandbox) { s.Write("a.swp", "no\n", "b.swp", "yes\n") },
	},
	{
		name: "the user's excludes by core.excludesFile",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n") },
		prep: func(s *gittest.Sandbox) {
			s.At(s.Home).Write("my-ignores", "*.swp\n", ".gitconfig", "[core]\n\texcludesFile = ~/my-ignores\n", ".config/git/ignore", "*.x\n")
		},
		job: func(s *gittest.Sandbox) { s.Write("a.swp", "no\n", "b.x", "yes\n") },
	},
	{
		name: "the user's excludes and line endings by a conditional include", lossy: true,
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n") },
		prep: func(s *gittest.Sandbox) {
			s.At(s.Home).Write(".gitconfig", "[includeIf \"gitdir:"+s.Root+"/\"]\n\tpath = acme.cfg\n",
				"acme.cfg", "[core]\n\texcludesFile = ~/acme.ignore\n\tautocrlf = input\n", "acme.ignore", "*.secret\n")
		},
		job: func(s *gittest.Sandbox) { s.Write("my.secret", "no\n", "b", "b\r\n") },
	},
	{
		name: "a replaced commit, packed",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n") },
		prep: func(s *gittest.Sandbox) {
			s.Write("b", "b\n")
			s.Run("add", "b")
			s.Run("replace", "HEAD", s.Run("commit-tree", "-m", "instead", s.Run("write-tree")))
			s.Run("reset", "-q", "--hard")
			s.Run("pack-refs", "--all")
		},
		job: func(s *gittest.Sandbox) { s.Write("b", "changed\n", "new", "n\n") },
	},
	{
		name: "replacements that are switched off",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n", "d/b", "b\n", "e/c", "c\n") },
		prep: func(s *gittest.Sandbox) {
			s.Run("config", "core.useReplaceRefs", "false")
			s.Run("replace", "HEAD:d", s.Run("rev-parse", "HEAD:e"))
		},
		job: func(s *gittest.Sandbox) { s.Write("new", "n\n") },
	},
	{
		name: "a detached HEAD",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n") },
		prep: func(s *gittest.Sandbox) { s.Run("checkout", "-q", "--detach") },
		job:  func(s *gittest.Sandbox) { s.Write("a", "b\n") },
	},
	{
		name: "an unborn branch",
		job:  func(s *gittest.Sandbox) { s.Write("a", "a\n", "d/b", "b\n", "ignored", "x", ".gitignore", "ignored\n") },
	},
	{
		name: "packed references and objects",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n", "d/e/f", "f\n", "d/g", "g\n") },
		prep: func(s *gittest.Sandbox) { s.Run("gc", "-q"); s.Run("pack-refs", "--all") },
		job:  func(s *gittest.Sandbox) { s.Write("d/e/f", "changed\n") },
	},
	{
		name: "index version 4",
		base: func(s *gittest.Sandbox) {
			s.Write("aaa/bbb/c1", "1\n", "aaa/bbb/c2", "2\n", "aaa/d", "3\n", "e", "4\n")
		},
		prep: func(s *gittest.Sandbox) { s.Run("update-index", "--index-version", "4") },
		job:  func(s *gittest.Sandbox) { s.Write("aaa/bbb/c2", "22\n", "aaa/bbb/c3", "3\n"); s.Remove("e") },
	},
	{
		name: "untracked cache",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n", "d/b", "b\n") },
		prep: func(s *gittest.Sandbox) { s.Run("update-index", "--force-untracked-cache"); s.Run("status") },
		job:  func(s *gittest.Sandbox) { s.Write("d/c", "c\n", "a", "b\n") },
	},
	{
		name: "file names of any bytes",
		base: func(s *gittest.Sandbox) {
			s.Write("caf\xe9", "latin-1\n", "tab\there", "1\n", "new\nline", "1\n", "quote\"back\\slash", "1\n", "sp ace ", "1\n")
		},
		job: func(s *gittest.Sandbox) {
			s.Write("caf\xe9", "changed\n", "tab\there", "2\n", "new\nline", "2\n", "quote\"back\\slash", "2\n",
				"\xff\xfe/x", "1\n", "\x01\x7f", "1\n", "ünïcödé", "1\n", "-dash", "1\n", "sp ace ", "2\n", "*?[x]", "glob\n")
			s.Symlink("caf\xe9", "l\x1b[31m")
		},
	},
	{
		name: "empty files and directories",
		base: func(s *gittest.Sandbox) { s.Write("full", "x\n", "empty", "", "only/one", "1\n") },
		job: func(s *gittest.Sandbox) {
			s.Write("full", "", "empty", "now full\n", "also-empty", "")
			s.Remove("only/one")
			must(s.T, os.Mkdir(filepath.Join(s.Root, "void"), 0o755))
		},
	},
	{
		name: "no newline at the end",
		base: func(s *gittest.Sandbox) { s.Write("a", "one\ntwo", "b", "one\ntwo\n", "c", "x", "d", "only") },
		job:  func(s *gittest.Sandbox) { s.Write("a", "one\ntwo\n", "b", "one\ntwo", "c", "y", "d", "first\nonly") },
	},
	{
		name: "binary files",
		base: func(s *gittest.Sandbox) {
			s.Write("a.gif", binaryText, "b.gif", binaryText, "t", "text\n", "u", binaryText)
		},
		job: func(s *gittest.Sandbox) {
			s.Write("a.gif", binaryText+strings.Repeat("\x00abc", 5000), "c.gif", binaryText+"new", "t", binaryText+"was text", "u", "is text\n")
			s.Remove("b.gif")
		},
	},
	{
		name: "attributes that decide what is text, which symlinks do not have",
		base: func(s *gittest.Sandbox) {
			s.Write(".gitattributes", "*.log -diff\n*.dat diff\n", "a.log", "1\n", "b.dat", "\x00\n1\n")
			s.Symlink("a.log", "sym.log")
		},
		job: func(s *gittest.Sandbox) {
			s.Write("a.log", "2\n", "b.dat", "\x00\n2\n")
			s.Remove("sym.log")
			s.Symlink("b.dat", "sym.log")
			s.Symlink("a.log", "new.log")
		},
	},
	{
		name: "line endings by attributes", lossy: true,
		base: func(s *gittest.Sandbox) {
			s.Write(".gitattributes", "*.txt text\n*.auto text=auto\n*.bin -text\n*.lf eol=lf\n*.crlf text eol=crlf\n"+
				"*.b binary\n[attr]mine text\n*.mine mine\nsub/*.sub text\n\"q uote\" text\n*.late text\n*.late !text\n",
				"a.txt", "old\n", "sub/.gitattributes", "*.txt -text\nx.low text\n")
		},
		job: func(s *gittest.Sandbox) {
			for _, name := range []string{
				"a.txt", "n.txt", "n.auto", "n.bin", "n.lf", "n.crlf", "n.b", "n.mine", "n.none", "n.late",
				"sub/n.txt", "sub/n.sub", "sub/x.low", "sub/y.low", "sub/deep/n.sub", "q uote",
			} {
				s.Write(name, "one\r\ntwo\r\nlone\n")
			}
			s.Write("cr.auto", "one\r\ntwo\rthree\r\n", "cr.txt", "one\r\ntwo\rthree\r\r\n", "nul.auto", "a\r\n\x00", "nul.txt", "a\r\n\x00")
		},
	},
	{
		name: "line endings by core.autocrlf=input, stored ones are kept",
		base: func(s *gittest.Sandbox) { s.Write("stored", "one\r\ntwo\r\n", "plain", "one\ntwo\n") },
		prep: func(s *gittest.Sandbox) { s.Run("config", "core.autocrlf", "input") },
		job: func(s *gittest.Sandbox) {
			s.Write("stored", "one\r\ntwo\r\nthree\r\n", "plain", "one\r\ntwo\r\nthree\r\n", "new", "n\r\n", "bin", "\x01\x02\x03\r\n")
		},
	},
	{
		name: "line endings by the user's core.autocrlf=true and attributes", lossy: true,
		base: func(s *gittest.Sandbox) { s.Write("a", "one\n") },
		prep: func(s *gittest.Sandbox) {
			s.At(s.Home).Write(".gitconfig", "[core]\n\tautocrlf = true\n", ".config/git/attributes", "*.keep -text\n")
			must(s.T, os.MkdirAll(filepath.Join(s.Root, ".git/info"), 0o755))
			s.Write(".git/info/attributes", "*.raw -text\n")
		},
		job: func(s *gittest.Sandbox) {
			s.Write("a", "one\r\ntwo\r\n", "b.keep", "k\r\n", "c.raw", "r\r\n", ".gitattributes", "*.raw text\nd.keep text\n", "d.keep", "d\r\n")
		},
	},
	{
		name: "the ident keyword", lossy: true,
		base: func(s *gittest.Sandbox) { s.Write(".gitattributes", "*.c ident\n", "a.c", "/* $Id$ */\n") },
		job: func(s *gittest.Sandbox) {
			s.Write("a.c", "/* $Id: 1234 $ */\nx\n", "b.c", "$Id: a\n$ $Id:$ $Idx: y$\n", "b.h", "$Id: x $\n")
		},
	},
	{
		name: "a submodule is left as it is", untidy: true,
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n") },
		prep: func(s *gittest.Sandbox) { addSubmodule(s, "sub") },
		job:  func(s *gittest.Sandbox) { s.Write("a", "b\n", "sub/dirty", "x\n", "sub/f", "changed\n") },
	},
	{
		name: "core.fileMode is off",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n", "x", "x\n"); s.Chmod(0o755, "x") },
		prep: func(s *gittest.Sandbox) { s.Run("config", "core.fileMode", "false") },
		job: func(s *gittest.Sandbox) {
			s.Write("a", "b\n", "n", "n\n", "x", "y\n")
			s.Chmod(0o755, "a")
			s.Chmod(0o755, "n")
			s.Chmod(0o644, "x")
		},
	},
	{
		name: "names that git reserves are passed over",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n") },
		job:  func(s *gittest.Sandbox) { s.Write("a", "b\n", "d/.git/x", "not a repository\n", "d/y", "y\n") },
	},
	{
		name: "everything is deleted",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n", "d/b", "b\n") },
		job:  func(s *gittest.Sandbox) { s.Remove("a", "d") },
	},
	{
		name: "the agent staged something", untidy: true,
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n", "b", "b\n", "c", "c\n", ".gitignore", "*.o\n") },
		job: func(s *gittest.Sandbox) {
			s.Write("a", "staged\n", "n", "staged and deleted\n", "forced.o", "x\n")
			s.Run("add", "-A")
			s.Run("add", "-f", "forced.o")
			s.Run("rm", "-q", "--cached", "b")
			s.Remove("n")
			s.Write("a", "changed again\n")
		},
	},
	{
		name: "an entry that is only intended to be added",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n") },
		job:  func(s *gittest.Sandbox) { s.Write("n", "n\n"); s.Run("add", "-N", "n") },
	},
	{
		name: "pipes are passed over",
		base: func(s *gittest.Sandbox) { s.Write("a", "a\n", "b", "b\n") },
		job:  func(s *gittest.Sandbox) { s.Write("a", "b\n"); s.Pipe("pipe") },
	},
}

func addSubmodule(s *gittest.Sandbox, path string) {
	other := s.At(filepath.Join(s.Home, "other"))
	must(s.T, os.MkdirAll(other.Root, 0o755))
	other.Run("init", "-q", "-b", "main")
	other.Write("f", "f\n")
	other.Commit()
	s.Run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.Root, path)
	s.Commit()
}

// tidy checks the state after a fixture's job.
func tidy(s *gittest.Sandbox, f fixture) {
	s.T.Helper()
	if f.untidy {
		s.Fsck()
		return
	}
	s.Clean()
}

// start creates a fixture's repository before the job and returns the base commit.
func (f fixture) start(t *testing.T) (*gittest.Sandbox, string) {
	t.Helper()
	s := gittest.NewSandbox(t)
	base := ""
	if f.base != nil {
		f.base(s)
		base = s.Commit()
	}
	if f.prep != nil {
		f.prep(s)
		base = s.Run("rev-parse", "HEAD")
	}
	return s, base
}

func TestCommitInPlaceMatchesGit(t *testing.T) {
	for _, f := range nightly.Sample(fixtures, 6, 3) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s, base := f.start(t)
			r := opened(s)
			f.job(s)
			want := s.AddedTree()
			got, err := r.Commit(t.Context(), measure(t, r, base), options(base))
			must(t, err)
			if got.Tree != want {
				t.Errorf("tree differs from git's:\n%s", s.Run("diff-tree", "-r", "-p", want, got.Tree))
			}
			if head := s.Run("rev-parse", "HEAD"); head != got.Hash {
				t.Errorf("HEAD is %s, committed %s", head, got.Hash)
			}
			tidy(s, f)
		})
	}
}

func TestCommitInLinkedWorktreeMatchesGit(t *testing.T) {
	for i, f := range nightly.Sample(fixtures, 6, 1) {
		if f.base == nil {
			continue
		}
		for _, way := range nightly.Sample([]string{"with git", "without git"}, 2, i%2) {
			t.Run(f.name+" "+way, func(t *testing.T) {
				t.Parallel()
				s, base := f.start(t)
				env := envOf(s)
				if way == "without git" {
					env.GitProgram = ""
				}
				r, err := Open(s.Root, env)
				must(t, err)
				dir := filepath.Join(filepath.Dir(s.Root), "job")
				wt, err := r.AddWorktree(t.Context(), dir, base)
				must(t, err)
				in := s.At(dir)
				in.Clean()
				f.job(in)
				want := in.AddedTree()
				o := options(base)
				o.Branch, o.MustNotExist = "millhand/job", true
				got, err := wt.Commit(t.Context(), measure(t, wt, base), o)
				must(t, err)
				if got.Tree != want {
					t.Errorf("tree differs from git's:\n%s", s.Run("diff-tree", "-r", "-p", want, got.Tree))
				}
				if at := s.Run("rev-parse", "millhand/job"); at != got.Hash {
					t.Errorf("branch is %s, committed %s", at, got.Hash)
				}
				tidy(in, f)
				must(t, r.RemoveWorktree(t.Context(), dir))
				if list := s.Run("worktree", "list"); strings.Count(list, "\n") != 0 {
					t.Errorf("worktrees that remain:\n%s", list)
				}
			})
		}
	}
}

func TestPatchAppliesOnTheBaseAndGivesTheSameTree(t *testing.T) {
	for _, f := range nightly.Sample(fixtures, 6, 2) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s, base := f.start(t)
			r := opened(s)
			f.job(s)
			cs := measure(t, r, base)
			patch, err := r.Patch(t.Context(), cs)
			must(t, err)
			want := s.AddedTree()

			name := filepath.Join(t.TempDir(), "job.patch")
			must(t, os.WriteFile(name, patch, 0o644))
			clone := s.At(filepath.Join(s.Home, "clone"))
			must(t, os.MkdirAll(clone.Root, 0o755))
			clone.Run("init", "-q", "-b", "main")
			if base != "" {
				clone.Run("-c", "protocol.file.allow=always", "fetch", "-q", "--update-shallow", s.Root, "HEAD", "refs/replace/*:refs/replace/*")
				clone.Run("-c", "core.autocrlf=false", "reset", "-q", "--hard", base)
			}
			clone.Run("-c", "core.autocrlf=false", "apply", "--index", "--whitespace=nowarn", name)
			if got := clone.Run("write-tree"); got != want {
				t.Errorf("tree differs:\n%s\npatch:\n%s", clone.Run("diff-index", "-p", "--cached", "HEAD"), patch)
			}
			if !f.lossy {
				clone.Run("apply", "--index", "--whitespace=nowarn", "-R", name)
			}
		})
	}
}

func TestLineCountsMatchGit(t *testing.T) {
	for _, f := range nightly.Sample(fixtures, 6, 0) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s, base := f.start(t)
			r := opened(s)
			f.job(s)
			tree := s.AddedTree()
			if base == "" {
				base = s.Run("hash-object", "-w", "-t", "tree", "/dev/null")
			}
			want := s.Run("diff-tree", "-r", "--no-renames", "--numstat", "-z", base, tree)
			from := base
			if f.base == nil {
				from = ""
			}
			if got := numstat(measure(t, r, from)); got != want {
				t.Errorf("got\n%q\ngit says\n%q", got, want)
			}
		})
	}
}

// numstat formats changes like git diff --numstat -z.
func numstat(cs *state.ChangeSet) string {
	var out strings.Builder
	for _, c := range cs.Changes {
		if c.Binary {
			fmt.Fprintf(&out, "-\t-\t%s\x00", c.Path)
			continue
		}
		fmt.Fprintf(&out, "%d\t%d\t%s\x00", c.Added, c.Removed, c.Path)
	}
	return out.String()
}
