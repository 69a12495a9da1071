package gitops

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// treeIn describes all files of a work tree except .git, with their permissions and contents.
func treeIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		name, err := filepath.Rel(dir, path)
		must(t, err)
		if name == ".git" && d.IsDir() {
			return fs.SkipDir
		}
		if name == ".git" || name == "." {
			return nil
		}
		info, err := d.Info()
		must(t, err)
		text := ""
		if info.Mode().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			text = string(data)
		} else if !d.IsDir() {
			text, err = os.Readlink(path)
		}
		must(t, err)
		files[name] = info.Mode().String() + " " + text
		return nil
	}))
	return files
}

// compareWithGit adds worktrees of HEAD by AddWorktree and by git, compares them, and reports
// whether git was not needed.
func compareWithGit(t *testing.T, s *gittest.Sandbox) (plain bool) {
	t.Helper()
	r := opened(s)
	base := s.Run("rev-parse", "HEAD")
	files, err := checkoutOf(r.Reader, r.Reader, base)
	must(t, err)
	plain = files.plain()

	byGit := filepath.Join(s.Home, "by-git")
	settings, harmless, err := gitSettings(r.Git)
	must(t, err)
	if !harmless {
		t.Fatal("the configuration does not permit to run git")
	}
	must(t, os.Mkdir(byGit, 0o777)) // as AddWorktree does
	must(t, addWithGit(t.Context(), r.Git, settings, byGit, base))
	wt, err := r.AddWorktree(t.Context(), filepath.Join(s.Home, "by-us"), base)
	must(t, err)
	if diff := cmp.Diff(treeIn(t, byGit), treeIn(t, wt.Root())); diff != "" {
		t.Errorf("files (-git +got):\n%s", diff)
	}
	for _, root := range []string{byGit, wt.Root()} {
		// Git compares contents of files that are as new as the index, and replaced ones differ.
		later := time.Now().Add(time.Minute)
		must(t, os.Chtimes(s.At(root).Run("rev-parse", "--path-format=absolute", "--git-path", "index"), later, later))
	}
	for _, args := range [][]string{{"ls-files", "-s", "-v"}, {"status", "--porcelain"}, {"diff", "--stat", "HEAD"}, {"diff", "--cached", "--stat"}} {
		if diff := cmp.Diff(s.At(byGit).Run(args...), s.At(wt.Root()).Run(args...)); diff != "" {
			t.Errorf("git %s (-git +got):\n%s", strings.Join(args, " "), diff)
		}
	}
	if plain { // git warns of some others
		s.Fsck()
	}
	return plain
}

func TestCheckoutIsThatOfGit(t *testing.T) {
	for _, f := range nightly.Sample(fixtures, 12, 0) {
		if f.base == nil {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s, _ := f.start(t)
			r := opened(s)
			if _, harmless, err := gitSettings(r.Git); err != nil || !harmless || !compareWithGit(t, s) {
				t.Log("not plain")
			}
		})
	}
}

// TestPlainCheckouts has what decides whether git is needed for a checkout. In each case the result is that of git.
func TestPlainCheckouts(t *testing.T) {
	cases := map[string]struct {
		plain   bool
		prepare func(s *gittest.Sandbox) // before the commit, which it can make by itself
	}{
		"usual files": {true, func(*gittest.Sandbox) {}},
		"packed":      {true, func(s *gittest.Sandbox) { s.Commit(); s.Run("gc", "-q") }},
		"a submodule": {true, func(s *gittest.Sandbox) { addSubmodule(s, "deep/sub") }},
		"text and binary attributes": {true, func(s *gittest.Sandbox) {
			s.Write(".gitattributes", "* text=auto eol=lf\n*.png binary\n*.c diff=cpp -crlf\n")
		}},
		"core.autocrlf input": {true, func(s *gittest.Sandbox) { s.Run("config", "core.autocrlf", "input") }},
		"core.eol lf":         {true, func(s *gittest.Sandbox) { s.Run("config", "core.eol", "lf") }},
		"core.fileMode":       {true, func(s *gittest.Sandbox) { s.Commit(); s.Run("config", "core.fileMode", "false") }},
		"a sparse checkout, one file": {true, func(s *gittest.Sandbox) {
			s.Commit()
			s.Run("sparse-checkout", "set", "--no-cone", "/a")
			s.Run("config", "--unset", "extensions.worktreeConfig")
		}},
		"hooks": {true, func(s *gittest.Sandbox) {
			s.Write(".git/hooks/post-checkout", "#!/bin/sh\nexit 1\n")
			s.Chmod(0o755, ".git/hooks/post-checkout")
		}},
		"index version 4": {true, func(s *gittest.Sandbox) { s.Commit(); s.Run("update-index", "--index-version", "4") }},
		"a stale index": {true, func(s *gittest.Sandbox) {
			s.Commit()
			must(s.T, os.Chtimes(filepath.Join(s.Root, "a"), time.Unix(1, 0), time.Unix(1, 0)))
		}},
		"borrowed objects": {true, func(s *gittest.Sandbox) {
			s.Commit()
			s.Run("clone", "-q", "--bare", ".", filepath.Join(s.Home, "lender"))
			s.Write(".git/objects/info/alternates", filepath.Join(s.Home, "lender", "objects")+"\n")
			s.Run("repack", "-adlq")
			s.Run("prune-packed")
		}},

		"a filter": {false, func(s *gittest.Sandbox) { s.Write(".gitattributes", "a filter=lfs\n") }},
		"an encoding": {false, func(s *gittest.Sandbox) {
			s.Write("d/.gitattributes", "u working-tree-encoding=UTF-16LE\n", "d/u", "x\x00\n\x00")
		}},
		"ident":    {false, func(s *gittest.Sandbox) { s.Write(".gitattributes", "*.c ident\n", "x.c", "$Id$\n") }},
		"eol=crlf": {false, func(s *gittest.Sandbox) { s.Write("d/.gitattributes", "*.bat eol=crlf\n", "d/x.bat", "a\nb\n") }},
		"a macro": {false, func(s *gittest.Sandbox) {
			s.Write(".gitattributes", "[attr]dos text eol=crlf\n*.bat dos\n", "x.bat", "a\nb\n")
		}},
		"info/attributes":          {false, func(s *gittest.Sandbox) { s.Write(".git/info/attributes", "*.bat text eol=crlf\n", "x.bat", "a\nb\n") }},
		"a symlink .gitattributes": {false, func(s *gittest.Sandbox) { s.Symlink("*.bat eol=crlf", ".gitattributes"); s.Write("x.bat", "a\nb\n") }},
		"core.attributesFile": {false, func(s *gittest.Sandbox) {
			s.At(s.Home).Write("more", "* ident\n")
			s.Run("config", "core.attributesFile", filepath.Join(s.Home, "more"))
			s.Write("x.c", "$Id$\n")
		}},
		"the user's attributes": {false, func(s *gittest.Sandbox) { s.At(s.Home).Write(".config/git/attributes", "* eol=crlf\n") }},
		"core.autocrlf":         {false, func(s *gittest.Sandbox) { s.Commit(); s.Run("config", "core.autocrlf", "true") }},
		"core.eol": {false, func(s *gittest.Sandbox) {
			s.Write(".gitattributes", "* text=auto\n")
			s.Commit()
			s.Run("config", "core.eol", "crlf")
		}},
		"core.symlinks":         {false, func(s *gittest.Sandbox) { s.Commit(); s.Run("config", "core.symlinks", "false") }},
		"core.ignoreCase":       {false, func(s *gittest.Sandbox) { s.Commit(); s.Run("config", "core.ignoreCase", "true") }},
		"core.ignoreStat":       {false, func(s *gittest.Sandbox) { s.Commit(); s.Run("config", "core.ignoreStat", "true") }},
		"core.sharedRepository": {false, func(s *gittest.Sandbox) { s.Run("config", "core.sharedRepository", "group") }},
		"a replaced object": {false, func(s *gittest.Sandbox) {
			s.Commit()
			s.Run("replace", "HEAD:a", "HEAD:d/b")
		}},
		"many files that are only objects": {false, func(s *gittest.Sandbox) { manyFiles(s); s.Commit(); s.Run("rm", "-rq", "many") }},
		"a large file":                     {false, func(s *gittest.Sandbox) { s.Write("large", strings.Repeat("x", largestCopy+1)) }},
		"a large file that is only an object": {false, func(s *gittest.Sandbox) {
			s.Write("large", strings.Repeat("x", largestCopy+1))
			s.Commit()
			s.Run("rm", "-q", "large")
		}},
	}
	for _, name := range nightly.Sample(slices.Sorted(maps.Keys(cases)), 3, 0) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gittest.NewSandbox(t)
			s.Write("a", "a\n", "d/b", "b\r\n", "d/e/empty", "", "x", "#!/bin/sh\n", "long", strings.Repeat("0123456789\n", 20_000), "caf\xe9 \"\n", "1")
			s.Chmod(0o755, "x")
			s.Symlink("d/b", "l")
			s.Symlink("missing", "d/l")
			c.prepare(s)
			if s.Run("for-each-ref") == "" {
				s.Commit()
			}
			if plain := compareWithGit(t, s); plain != c.plain {
				t.Errorf("plain: %v", plain)
			}
		})
	}
}

func manyFiles(s *gittest.Sandbox) {
	for n := range 2 * mostStored {
		s.Write(fmt.Sprintf("many/%d", n), fmt.Sprint(n))
	}
}

// TestCheckoutDoesNotTrustTheWorkTree has files of the user that differ from the commit although the
// index has their times, or are none.
func TestCheckoutDoesNotTrustTheWorkTree(t *testing.T) {
	for name, change := range map[string]func(s *gittest.Sandbox){
		"other content of the same size and time": func(s *gittest.Sandbox) {
			name := filepath.Join(s.Root, "d/f")
			info, err := os.Stat(name)
			must(s.T, err)
			s.Write("d/f", "Content\n")
			must(s.T, os.Chtimes(name, info.ModTime(), info.ModTime()))
		},
		"more content":             func(s *gittest.Sandbox) { s.Write("d/f", "content\nand more\n") },
		"less content":             func(s *gittest.Sandbox) { s.Write("d/f", "cont") },
		"no content":               func(s *gittest.Sandbox) { s.Write("d/f", "") },
		"no file":                  func(s *gittest.Sandbox) { s.Remove("d/f") },
		"no directory":             func(s *gittest.Sandbox) { s.Remove("d") },
		"a directory":              func(s *gittest.Sandbox) { s.Remove("d/f"); s.Write("d/f/content", "content\n") },
		"a symlink":                func(s *gittest.Sandbox) { s.Remove("d/f"); s.Symlink("../same", "d/f") },
		"a pipe":                   func(s *gittest.Sandbox) { s.Remove("d/f"); s.Pipe("d/f") },
		"a pipe for the directory": func(s *gittest.Sandbox) { s.Remove("d"); s.Pipe("d") },
		"a symlink for the directory": func(s *gittest.Sandbox) {
			s.Remove("d")
			s.At(s.Home).Write("elsewhere/f", "content of others\n")
			s.Symlink(filepath.Join(s.Home, "elsewhere"), "d")
		},
		"an unreadable file": func(s *gittest.Sandbox) { s.Chmod(0, "d/f") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gittest.NewSandbox(t)
			s.Write("d/f", "content\n", "same", "content\n")
			base := s.Commit()
			before := treeIn(t, s.Root)
			change(s)
			r := opened(s)
			files, err := checkoutOf(r.Reader, r.Reader, base)
			must(t, err)
			if !files.plain() {
				t.Error("not plain")
			}
			wt, err := r.AddWorktree(t.Context(), filepath.Join(s.Home, "wt"), base)
			must(t, err)
			if diff := cmp.Diff(before, treeIn(t, wt.Root())); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			s.At(wt.Root()).Clean()
		})
	}
}

// TestCheckoutWhileFilesChange makes worktrees while a file of the user gets other contents again and again.
func TestCheckoutWhileFilesChange(t *testing.T) {
	s := gittest.NewSandbox(t)
	texts := []string{strings.Repeat("one\n", 30_000), strings.Repeat("two\n", 30_000)}
	s.Write("f", texts[0])
	base := s.Commit()
	r := opened(s)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				s.Write("f", texts[n%2])
			}
		}
	}()
	for n := range 50 {
		wt, err := r.AddWorktree(t.Context(), filepath.Join(s.Home, fmt.Sprint(n)), base)
		must(t, err)
		if data, err := os.ReadFile(filepath.Join(wt.Root(), "f")); err != nil || string(data) != texts[0] {
			t.Errorf("other content, %v", err)
		}
	}
	close(stop)
	<-stopped
}

// TestStatusReadsNoFileOfACheckout runs git status right after a checkout.
func TestStatusReadsNoFileOfACheckout(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not on PATH")
	}
	s := gittest.NewSandbox(t)
	s.Write("d/unread", "content\n", ".gitignore", "*.log\n")
	s.Symlink("unread", "d/unread-too")
	base := s.Commit()
	wt, err := opened(s).AddWorktree(t.Context(), filepath.Join(s.Home, "wt"), base)
	must(t, err)
	cmd := s.At(wt.Root()).Command("status", "--porcelain")
	cmd.Path, cmd.Args = strace, append([]string{strace, "-f", "-e", "trace=open,openat,readlink,readlinkat", s.Git}, cmd.Args[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("strace: %v\n%s", err, out)
	}
	if text := string(out); !strings.Contains(text, ".gitignore") || strings.Contains(text, "unread") {
		t.Errorf("system calls:\n%s", text)
	}
}
