package gitops

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// listing returns the files and symlinks of a directory without .git, with their modes
// and contents.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	list := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(dir, path)
		must(t, err)
		info, err := d.Info()
		must(t, err)
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			must(t, err)
			text += " " + string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			must(t, err)
			text += " " + target
		}
		list[rel] = text
		return nil
	}))
	return list
}

func fillDirectory(s *gittest.Sandbox) {
	s.Write("a", "a\r\n", "d/b", "b\n", "x", "#!/bin/sh\n", ".gitignore", "*.o\n/build/\n", "m.o", "object", "build/out", "out", "caf\xe9", "x")
	s.Chmod(0o755, "x")
	s.Symlink("/etc/passwd", "abs")
	s.Symlink("missing", "d/dangling")
	must(s.T, os.Mkdir(filepath.Join(s.Root, "void"), 0o755))
}

func TestCopyDirectoryMakesTheSameCommitEverywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	hashes := map[string]string{}
	for name, user := range map[string]func(*gittest.Sandbox){
		"plain": func(*gittest.Sandbox) {},
		"with a user who ignores and converts": func(s *gittest.Sandbox) {
			s.At(s.Home).Write(".config/git/ignore", "*\n", ".config/git/attributes", "* text\n",
				".gitconfig", "[core]\n\tautocrlf = input\n[user]\n\tname = X\n")
		},
		"from a repository": func(s *gittest.Sandbox) { s.Run("init", "-q"); s.Commit() },
		"with what is left out": func(s *gittest.Sandbox) {
			s.Write(".millhand/runs/1/x", "x", "d/.git/config", "x", ".GIT/x", "x")
			s.Pipe("pipe")
		},
	} {
		s := gittest.NewSandbox(t)
		s.Remove(".git")
		fillDirectory(s)
		want := listing(t, s.Root)
		user(s)
		before := listing(t, s.Root)
		dst := filepath.Join(s.Home, "copy")
		r, err := CopyDirectory(t.Context(), s.Root, dst, envOf(s))
		must(t, err)
		if diff := cmp.Diff(want, listing(t, dst)); diff != "" {
			t.Errorf("%s: copy (-source +copy):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, listing(t, s.Root)); diff != "" {
			t.Errorf("%s: source (-before +after):\n%s", name, diff)
		}
		head, err := r.Git.Head()
		must(t, err)
		if head.Branch != "main" || head.Unborn {
			t.Errorf("%s: %+v", name, head)
		}
		hashes[name] = head.Hash
		in := s.At(dst)
		in.Clean()
		if name == "plain" && in.Run("rev-parse", "HEAD^{tree}") != in.AddedTree() {
			t.Error("the tree is not git's")
		}
		if tracked := in.Run("ls-files", "build", "m.o"); tracked != "" {
			t.Errorf("%s: ignored files are committed: %s", name, tracked)
		}
		if cs := measure(t, r, head.Hash); len(cs.Changes)+len(cs.Refused) > 0 {
			t.Errorf("%s: changes right after the copy: %+v", name, cs)
		}
	}
	for name, hash := range hashes {
		if hash != "cb63b84c980f26eb19b10e6e8b5c177bae3bedf0" {
			t.Errorf("%s: %s", name, hash)
		}
	}
}

func TestCopyDirectoryOfAnEmptyDirectoryIsUnborn(t *testing.T) {
	src := t.TempDir()
	r, err := CopyDirectory(t.Context(), src, filepath.Join(t.TempDir(), "deep/copy"), gitdir.Env{})
	must(t, err)
	head, err := r.Git.Head()
	must(t, err)
	if diff := cmp.Diff(gitdir.Head{Branch: "main", Unborn: true}, head); diff != "" {
		t.Error(diff)
	}
	must(t, os.WriteFile(filepath.Join(r.Root(), "a"), []byte("a\n"), 0o644))
	got, err := r.Commit(t.Context(), measure(t, r, ""), options(""))
	must(t, err)
	if got.Branch != "main" {
		t.Errorf("got %+v", got)
	}
}

func TestCopyDirectoryIntoItself(t *testing.T) {
	src := t.TempDir()
	must(t, os.WriteFile(filepath.Join(src, "a"), []byte("a\n"), 0o644))
	r, err := CopyDirectory(t.Context(), src, filepath.Join(src, "work/copy"), gitdir.Env{})
	must(t, err)
	if got := paths(measure(t, r, "")); !slices.Equal(got, []string{"a"}) {
		t.Errorf("copied: %v", got)
	}
}

func TestCopyDirectoryRequiresEmptyDestination(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dst, "a"), nil, 0o644))
	if _, err := CopyDirectory(t.Context(), src, dst, gitdir.Env{}); err == nil {
		t.Error("no error")
	}
	if _, err := CopyDirectory(t.Context(), filepath.Join(src, "missing"), filepath.Join(src, "x"), gitdir.Env{}); err == nil {
		t.Error("a missing source: no error")
	}
}

func TestCopiedDirectoryWithFilteredFilesIsCommitted(t *testing.T) {
	src := t.TempDir()
	must(t, os.WriteFile(filepath.Join(src, ".gitattributes"), []byte("*.psd filter=lfs\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(src, "a.psd"), []byte("raw\n"), 0o644))
	_, err := CopyDirectory(t.Context(), src, filepath.Join(t.TempDir(), "copy"), gitdir.Env{})
	must(t, err)
}
