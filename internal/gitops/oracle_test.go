package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixture is a repository, what a job does in it, and what git is expected to
// make of both: the tests compare with git itself.
type fixture struct {
	name string
	base func(*sandbox) // before the first commit; nil for an unborn branch
	prep func(*sandbox) // after the first commit
	job  func(*sandbox)

	untidy bool // git status has something to say about it afterwards
	lossy  bool // what is checked out differs from what is stored
}

const binaryText = "\x00\x01\x02GIF\xff\xfe\n\x00"

var fixtures = []fixture{
	{
		name: "files are changed, added and deleted",
		base: func(s *sandbox) { s.write("a.txt", "one\ntwo\n", "b/c.txt", "x\n", "b/d.txt", "y\n", "z", "") },
		job: func(s *sandbox) {
			s.write("a.txt", "one\n2\nthree\n", "new/deep/e.txt", "new\n")
			s.remove("b/d.txt")
		},
	},
	{
		name: "executable bits come and go",
		base: func(s *sandbox) { s.write("run.sh", "#!/bin/sh\n", "x", "x\n"); s.chmod(0o755, "x") },
		job:  func(s *sandbox) { s.chmod(0o755, "run.sh"); s.chmod(0o644, "x") },
	},
	{
		name: "links are stored and never followed",
		base: func(s *sandbox) { s.write("t", "t\n"); s.link("t", "l"); s.link("nowhere", "gone") },
		job: func(s *sandbox) {
			s.remove("l", "gone")
			s.link("/etc/passwd", "l")
			s.link("..", "up")
			s.link("missing", "dir/dangling")
		},
	},
	{
		name: "a file becomes a link and a link a file",
		base: func(s *sandbox) { s.write("f", "t"); s.link("f", "l") },
		job: func(s *sandbox) {
			s.remove("f", "l")
			s.link("t", "f")
			s.write("l", "f")
		},
	},
	{
		name: "a file becomes a directory and a directory a file",
		base: func(s *sandbox) { s.write("f", "f\n", "d/x", "x\n", "d/y/z", "z\n", "d.txt", "sorted between\n") },
		job: func(s *sandbox) {
			s.remove("f", "d")
			s.write("f/inner", "f\n", "f.txt", "sorted between\n", "d", "now a file\n")
		},
	},
	{
		name: "a directory becomes a link to a directory",
		base: func(s *sandbox) { s.write("d/x", "x\n", "e/x", "x\n") },
		job:  func(s *sandbox) { s.remove("d"); s.link("e", "d") },
	},
	{
		name: "files are renamed and directories moved",
		base: func(s *sandbox) { s.write("a", "aaa\nbbb\nccc\n", "old/one", "1\n", "old/two", "2\n") },
		job: func(s *sandbox) {
			must(s.t, os.Rename(filepath.Join(s.root, "a"), filepath.Join(s.root, "b")))
			must(s.t, os.Rename(filepath.Join(s.root, "old"), filepath.Join(s.root, "new")))
		},
	},
	{
		name: "nested ignore files with negations",
		base: func(s *sandbox) {
			s.write(".gitignore", "*.log\n/build/\n!keep.log\n", "sub/.gitignore", "!*.log\nsecret\n", "a", "a\n")
		},
		job: func(s *sandbox) {
			s.write("x.log", "no\n", "keep.log", "yes\n", "sub/y.log", "yes\n", "sub/secret", "no\n",
				"sub/deep/secret", "no\n", "build/out", "no\n", "sub/build/out", "yes\n")
		},
	},
	{
		name: "tracked files stay tracked though ignored",
		base: func(s *sandbox) {
			s.write("dist/app.js", "1\n", "x.log", "1\n")
			s.run("add", "-A")
			s.write(".gitignore", "dist/\n*.log\n")
		},
		job: func(s *sandbox) {
			s.write("dist/app.js", "2\n", "dist/new.js", "no\n", "x.log", "2\n", "y.log", "no\n", "dist/deep/n", "no\n")
		},
	},
	{
		name: "a job adds an ignore file",
		base: func(s *sandbox) { s.write("a", "a\n", "b.tmp", "tracked\n") },
		job:  func(s *sandbox) { s.write(".gitignore", "*.tmp\n", "c.tmp", "no\n", "b.tmp", "changed\n") },
	},
	{
		name: "info/exclude",
		base: func(s *sandbox) { s.write("a", "a\n") },
		prep: func(s *sandbox) {
			must(s.t, os.WriteFile(filepath.Join(s.root, ".git/info/exclude"), []byte("*.local\n"), 0o644))
		},
		job: func(s *sandbox) { s.write("x.local", "no\n", "x", "yes\n") },
	},
	{
		name: "the user's excludes in their default place",
		base: func(s *sandbox) { s.write("a", "a\n", ".gitignore", "!b.swp\n") },
		prep: func(s *sandbox) { s.at(s.home).write(".config/git/ignore", "*.swp\n") },
		job:  func(s *sandbox) { s.write("a.swp", "no\n", "b.swp", "yes\n") },
	},
	{
		name: "the user's excludes by core.excludesFile",
		base: func(s *sandbox) { s.write("a", "a\n") },
		prep: func(s *sandbox) {
			s.at(s.home).write("my-ignores", "*.swp\n", ".gitconfig", "[core]\n\texcludesFile = ~/my-ignores\n", ".config/git/ignore", "*.x\n")
		},
		job: func(s *sandbox) { s.write("a.swp", "no\n", "b.x", "yes\n") },
	},
	{
		name: "a detached HEAD",
		base: func(s *sandbox) { s.write("a", "a\n") },
		prep: func(s *sandbox) { s.run("checkout", "-q", "--detach") },
		job:  func(s *sandbox) { s.write("a", "b\n") },
	},
	{
		name: "an unborn branch",
		job:  func(s *sandbox) { s.write("a", "a\n", "d/b", "b\n", "ignored", "x", ".gitignore", "ignored\n") },
	},
	{
		name: "packed references and objects",
		base: func(s *sandbox) { s.write("a", "a\n", "d/e/f", "f\n", "d/g", "g\n") },
		prep: func(s *sandbox) { s.run("gc", "-q"); s.run("pack-refs", "--all") },
		job:  func(s *sandbox) { s.write("d/e/f", "changed\n") },
	},
	{
		name: "index version 4",
		base: func(s *sandbox) { s.write("aaa/bbb/c1", "1\n", "aaa/bbb/c2", "2\n", "aaa/d", "3\n", "e", "4\n") },
		prep: func(s *sandbox) { s.run("update-index", "--index-version", "4") },
		job:  func(s *sandbox) { s.write("aaa/bbb/c2", "22\n", "aaa/bbb/c3", "3\n"); s.remove("e") },
	},
	{
		name: "untracked cache",
		base: func(s *sandbox) { s.write("a", "a\n", "d/b", "b\n") },
		prep: func(s *sandbox) { s.run("update-index", "--force-untracked-cache"); s.run("status") },
		job:  func(s *sandbox) { s.write("d/c", "c\n", "a", "b\n") },
	},
	{
		name: "file names of any bytes",
		base: func(s *sandbox) {
			s.write("caf\xe9", "latin-1\n", "tab\there", "1\n", "new\nline", "1\n", "quote\"back\\slash", "1\n", "sp ace ", "1\n")
		},
		job: func(s *sandbox) {
			s.write("caf\xe9", "changed\n", "tab\there", "2\n", "new\nline", "2\n", "quote\"back\\slash", "2\n",
				"\xff\xfe/x", "1\n", "\x01\x7f", "1\n", "ünïcödé", "1\n", "-dash", "1\n", "sp ace ", "2\n", "*?[x]", "glob\n")
			s.link("caf\xe9", "l\x1b[31m")
		},
	},
	{
		name: "empty files and directories",
		base: func(s *sandbox) { s.write("full", "x\n", "empty", "", "only/one", "1\n") },
		job: func(s *sandbox) {
			s.write("full", "", "empty", "now full\n", "also-empty", "")
			s.remove("only/one")
			must(s.t, os.Mkdir(filepath.Join(s.root, "void"), 0o755))
		},
	},
	{
		name: "no newline at the end",
		base: func(s *sandbox) { s.write("a", "one\ntwo", "b", "one\ntwo\n", "c", "x", "d", "only") },
		job:  func(s *sandbox) { s.write("a", "one\ntwo\n", "b", "one\ntwo", "c", "y", "d", "first\nonly") },
	},
	{
		name: "binary files",
		base: func(s *sandbox) { s.write("a.gif", binaryText, "b.gif", binaryText, "t", "text\n", "u", binaryText) },
		job: func(s *sandbox) {
			s.write("a.gif", binaryText+strings.Repeat("\x00abc", 5000), "c.gif", binaryText+"new", "t", binaryText+"was text", "u", "is text\n")
			s.remove("b.gif")
		},
	},
	{
		name: "line endings by attributes", lossy: true,
		base: func(s *sandbox) {
			s.write(".gitattributes", "*.txt text\n*.auto text=auto\n*.bin -text\n*.lf eol=lf\n*.crlf text eol=crlf\n"+
				"*.b binary\n[attr]mine text\n*.mine mine\nsub/*.sub text\n\"q uote\" text\n*.late text\n*.late !text\n",
				"a.txt", "old\n", "sub/.gitattributes", "*.txt -text\nx.low text\n")
		},
		job: func(s *sandbox) {
			for _, name := range []string{
				"a.txt", "n.txt", "n.auto", "n.bin", "n.lf", "n.crlf", "n.b", "n.mine", "n.none", "n.late",
				"sub/n.txt", "sub/n.sub", "sub/x.low", "sub/y.low", "sub/deep/n.sub", "q uote",
			} {
				s.write(name, "one\r\ntwo\r\nlone\n")
			}
			s.write("cr.auto", "one\r\ntwo\rthree\r\n", "cr.txt", "one\r\ntwo\rthree\r\r\n", "nul.auto", "a\r\n\x00", "nul.txt", "a\r\n\x00")
		},
	},
	{
		name: "line endings by core.autocrlf=input, stored ones are kept",
		base: func(s *sandbox) { s.write("stored", "one\r\ntwo\r\n", "plain", "one\ntwo\n") },
		prep: func(s *sandbox) { s.run("config", "core.autocrlf", "input") },
		job: func(s *sandbox) {
			s.write("stored", "one\r\ntwo\r\nthree\r\n", "plain", "one\r\ntwo\r\nthree\r\n", "new", "n\r\n", "bin", "\x01\x02\x03\r\n")
		},
	},
	{
		name: "line endings by the user's core.autocrlf=true and attributes", lossy: true,
		base: func(s *sandbox) { s.write("a", "one\n") },
		prep: func(s *sandbox) {
			s.at(s.home).write(".gitconfig", "[core]\n\tautocrlf = true\n", ".config/git/attributes", "*.keep -text\n")
			must(s.t, os.MkdirAll(filepath.Join(s.root, ".git/info"), 0o755))
			must(s.t, os.WriteFile(filepath.Join(s.root, ".git/info/attributes"), []byte("*.raw -text\n"), 0o644))
		},
		job: func(s *sandbox) {
			s.write("a", "one\r\ntwo\r\n", "b.keep", "k\r\n", "c.raw", "r\r\n", ".gitattributes", "*.raw text\nd.keep text\n", "d.keep", "d\r\n")
		},
	},
	{
		name: "the ident keyword", lossy: true,
		base: func(s *sandbox) { s.write(".gitattributes", "*.c ident\n", "a.c", "/* $Id$ */\n") },
		job: func(s *sandbox) {
			s.write("a.c", "/* $Id: 1234 $ */\nx\n", "b.c", "$Id: a\n$ $Id:$ $Idx: y$\n", "b.h", "$Id: x $\n")
		},
	},
	{
		name: "a submodule is left as it is", untidy: true,
		base: func(s *sandbox) { s.write("a", "a\n") },
		prep: func(s *sandbox) { addSubmodule(s, "sub") },
		job:  func(s *sandbox) { s.write("a", "b\n", "sub/dirty", "x\n", "sub/f", "changed\n") },
	},
	{
		name: "core.fileMode is off",
		base: func(s *sandbox) { s.write("a", "a\n", "x", "x\n"); s.chmod(0o755, "x") },
		prep: func(s *sandbox) { s.run("config", "core.fileMode", "false") },
		job: func(s *sandbox) {
			s.write("a", "b\n", "n", "n\n", "x", "y\n")
			s.chmod(0o755, "a")
			s.chmod(0o755, "n")
			s.chmod(0o644, "x")
		},
	},
	{
		name: "names that git reserves are passed over",
		base: func(s *sandbox) { s.write("a", "a\n") },
		job:  func(s *sandbox) { s.write("a", "b\n", "d/.git/x", "not a repository\n", "d/y", "y\n") },
	},
	{
		name: "everything is deleted",
		base: func(s *sandbox) { s.write("a", "a\n", "d/b", "b\n") },
		job:  func(s *sandbox) { s.remove("a", "d") },
	},
	{
		name: "the agent staged something", untidy: true,
		base: func(s *sandbox) { s.write("a", "a\n", "b", "b\n", "c", "c\n", ".gitignore", "*.o\n") },
		job: func(s *sandbox) {
			s.write("a", "staged\n", "n", "staged and deleted\n", "forced.o", "x\n")
			s.run("add", "-A")
			s.run("add", "-f", "forced.o")
			s.run("rm", "-q", "--cached", "b")
			s.remove("n")
			s.write("a", "changed again\n")
		},
	},
	{
		name: "an entry that is only intended to be added",
		base: func(s *sandbox) { s.write("a", "a\n") },
		job:  func(s *sandbox) { s.write("n", "n\n"); s.run("add", "-N", "n") },
	},
	{
		name: "pipes are passed over",
		base: func(s *sandbox) { s.write("a", "a\n", "b", "b\n") },
		job:  func(s *sandbox) { s.write("a", "b\n"); s.pipe("pipe") },
	},
}

func addSubmodule(s *sandbox, path string) {
	other := s.at(filepath.Join(s.home, "other"))
	must(s.t, os.MkdirAll(other.root, 0o755))
	other.run("init", "-q", "-b", "main")
	other.write("f", "f\n")
	other.commit()
	s.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.root, path)
	s.commit()
}

// tidy checks what a fixture left behind.
func (s *sandbox) tidy(f fixture) {
	s.t.Helper()
	if f.untidy {
		s.fsck()
		return
	}
	s.clean()
}

// start makes a fixture's repository up to the job and returns the base commit.
func (f fixture) start(t *testing.T) (*sandbox, string) {
	t.Helper()
	s := newSandbox(t)
	base := ""
	if f.base != nil {
		f.base(s)
		base = s.commit()
	}
	if f.prep != nil {
		f.prep(s)
		base = s.run("rev-parse", "HEAD")
	}
	return s, base
}

func TestCommitInPlaceMakesTheTreeThatGitWouldMake(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s, base := f.start(t)
			r := s.open()
			f.job(s)
			want := s.addedTree()
			got, err := r.Commit(t.Context(), measure(t, r, base), options(base))
			must(t, err)
			if got.Tree != want {
				t.Errorf("tree differs from git's:\n%s", s.run("diff-tree", "-r", "-p", want, got.Tree))
			}
			if head := s.run("rev-parse", "HEAD"); head != got.Hash {
				t.Errorf("HEAD is %s, committed %s", head, got.Hash)
			}
			s.tidy(f)
		})
	}
}

func TestCommitInALinkedWorktreeMakesTheTreeThatGitWouldMake(t *testing.T) {
	for _, f := range fixtures {
		if f.base == nil {
			continue
		}
		for _, way := range []string{"with git", "without git"} {
			t.Run(f.name+" "+way, func(t *testing.T) {
				t.Parallel()
				s, base := f.start(t)
				env := s.env()
				if way == "without git" {
					env.GitProgram = ""
				}
				r, err := Open(s.root, env)
				must(t, err)
				dir := filepath.Join(filepath.Dir(s.root), "job")
				wt, err := r.AddWorktree(t.Context(), dir, base)
				must(t, err)
				in := s.at(dir)
				in.clean()
				f.job(in)
				want := in.addedTree()
				o := options(base)
				o.Branch, o.MustNotExist = "millhand/job", true
				got, err := wt.Commit(t.Context(), measure(t, wt, base), o)
				must(t, err)
				if got.Tree != want {
					t.Errorf("tree differs from git's:\n%s", s.run("diff-tree", "-r", "-p", want, got.Tree))
				}
				if at := s.run("rev-parse", "millhand/job"); at != got.Hash {
					t.Errorf("branch is %s, committed %s", at, got.Hash)
				}
				in.tidy(f)
				must(t, r.RemoveWorktree(t.Context(), dir))
				if list := s.run("worktree", "list"); strings.Count(list, "\n") != 0 {
					t.Errorf("worktrees that remain:\n%s", list)
				}
			})
		}
	}
}

func TestPatchAppliesOnTheBaseAndGivesTheSameTree(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s, base := f.start(t)
			r := s.open()
			f.job(s)
			cs := measure(t, r, base)
			patch, err := r.Patch(t.Context(), cs)
			must(t, err)
			want := s.addedTree()

			name := filepath.Join(t.TempDir(), "job.patch")
			must(t, os.WriteFile(name, patch, 0o644))
			clone := s.at(filepath.Join(s.home, "clone"))
			must(t, os.MkdirAll(clone.root, 0o755))
			clone.run("init", "-q", "-b", "main")
			if base != "" {
				clone.run("-c", "protocol.file.allow=always", "fetch", "-q", "--update-shallow", s.root, "HEAD")
				clone.run("-c", "core.autocrlf=false", "reset", "-q", "--hard", base)
			}
			clone.run("-c", "core.autocrlf=false", "apply", "--index", "--whitespace=nowarn", name)
			if got := clone.run("write-tree"); got != want {
				t.Errorf("tree differs:\n%s\npatch:\n%s", clone.run("diff-index", "-p", "--cached", "HEAD"), patch)
			}
			if !f.lossy {
				clone.run("apply", "--index", "--whitespace=nowarn", "-R", name)
			}
		})
	}
}

func TestLineCountsAreThoseOfGit(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s, base := f.start(t)
			r := s.open()
			f.job(s)
			tree := s.addedTree()
			if base == "" {
				base = s.run("hash-object", "-w", "-t", "tree", "/dev/null")
			}
			want := s.run("diff-tree", "-r", "--no-renames", "--numstat", "-z", base, tree)
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

// numstat writes changes as git diff --numstat -z does.
func numstat(cs *ChangeSet) string {
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
