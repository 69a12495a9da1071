package gitops

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listing returns the files and links of a directory without .git, with their modes
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

func fillDirectory(s *sandbox) {
	s.write("a", "a\r\n", "d/b", "b\n", "x", "#!/bin/sh\n", ".gitignore", "*.o\n/build/\n", "m.o", "object", "build/out", "out", "caf\xe9", "x")
	s.chmod(0o755, "x")
	s.link("/etc/passwd", "abs")
	s.link("missing", "d/dangling")
	must(s.t, os.Mkdir(filepath.Join(s.root, "void"), 0o755))
}

func TestCopyDirectoryMakesTheSameCommitEverywhere(t *testing.T) {
	hashes := map[string]string{}
	for name, user := range map[string]func(*sandbox){
		"plain": func(*sandbox) {},
		"with a user who ignores and converts": func(s *sandbox) {
			s.at(s.home).write(".config/git/ignore", "*\n", ".config/git/attributes", "* text\n",
				".gitconfig", "[core]\n\tautocrlf = input\n[user]\n\tname = X\n")
		},
		"from a repository": func(s *sandbox) { s.run("init", "-q"); s.commit() },
		"with what is left out": func(s *sandbox) {
			s.write(".millhand/runs/1/x", "x", "d/.git/config", "x", ".GIT/x", "x")
			s.pipe("pipe")
		},
	} {
		s := newSandbox(t)
		s.remove(".git")
		fillDirectory(s)
		want := listing(t, s.root)
		user(s)
		before := listing(t, s.root)
		dst := filepath.Join(s.home, "copy")
		r, err := CopyDirectory(t.Context(), s.root, dst, s.env())
		must(t, err)
		if diff := cmp.Diff(want, listing(t, dst)); diff != "" {
			t.Errorf("%s: copy (-source +copy):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, listing(t, s.root)); diff != "" {
			t.Errorf("%s: source (-before +after):\n%s", name, diff)
		}
		head, err := r.Head()
		must(t, err)
		if head.Branch != "main" || head.Unborn {
			t.Errorf("%s: %+v", name, head)
		}
		hashes[name] = head.Hash
		in := s.at(dst)
		in.clean()
		if name == "plain" && in.run("rev-parse", "HEAD^{tree}") != in.addedTree() {
			t.Error("the tree is not git's")
		}
		if tracked := in.run("ls-files", "build", "m.o"); tracked != "" {
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
	r, err := CopyDirectory(t.Context(), src, filepath.Join(t.TempDir(), "deep/copy"), Env{})
	must(t, err)
	head, err := r.Head()
	must(t, err)
	if diff := cmp.Diff(Head{Branch: "main", Unborn: true}, head); diff != "" {
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
	r, err := CopyDirectory(t.Context(), src, filepath.Join(src, "work/copy"), Env{})
	must(t, err)
	if got := paths(measure(t, r, "")); !slices.Equal(got, []string{"a"}) {
		t.Errorf("copied: %v", got)
	}
}

func TestCopyDirectoryWantsAnEmptyDestination(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dst, "a"), nil, 0o644))
	if _, err := CopyDirectory(t.Context(), src, dst, Env{}); err == nil {
		t.Error("no error")
	}
	if _, err := CopyDirectory(t.Context(), filepath.Join(src, "missing"), filepath.Join(src, "x"), Env{}); err == nil {
		t.Error("a missing source: no error")
	}
}

func TestACopiedDirectoryWithFilteredFilesIsCommitted(t *testing.T) {
	src := t.TempDir()
	must(t, os.WriteFile(filepath.Join(src, ".gitattributes"), []byte("*.psd filter=lfs\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(src, "a.psd"), []byte("raw\n"), 0o644))
	_, err := CopyDirectory(t.Context(), src, filepath.Join(t.TempDir(), "copy"), Env{})
	must(t, err)
}
