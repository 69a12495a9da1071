package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/testing/gittest"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// packed returns the objects of a repository whose only commit is in a pack.
func packed(t *testing.T) (*gittest.Sandbox, *objectdb.Objects) {
	t.Helper()
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n", "dir/b", "b\n")
	s.Commit()
	s.Run("gc", "-q")
	git, err := gitdir.Open(s.Root, gitdir.Env{Home: s.Home})
	must(t, err)
	return s, git.Objects
}

// git gc removes old unreachable loose objects.
func TestRewrittenObjectGetsNewModTime(t *testing.T) {
	s, objects := packed(t)
	w := &Writer{dir: objects.Dir, dirs: map[string]bool{}} // of large objects
	hash, err := w.WriteBytes(plumbing.BlobObject, []byte("again\n"))
	must(t, err)
	name := filepath.Join(s.Root, ".git/objects", hash.String()[:2], hash.String()[2:])
	must(t, os.Chtimes(name, gittest.TestTime, gittest.TestTime))
	_, err = w.WriteBytes(plumbing.BlobObject, []byte("again\n"))
	must(t, err)
	s.Run("gc", "-q")
	if _, err := os.Lstat(name); os.IsNotExist(err) {
		t.Error("git gc has removed it")
	}
}

// TestStaleKeepFilesAreRemoved leaves .keep files as a killed run does, and one of the user's.
func TestStaleKeepFilesAreRemoved(t *testing.T) {
	s, objects := packed(t)
	dir := filepath.Join(s.Root, ".git/objects/pack")
	for name, text := range map[string]string{"pack-1.keep": keepText, "pack-2.keep": "mine\n", "pack-3.keep": keepText} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		if name != "pack-3.keep" {
			must(t, os.Chtimes(filepath.Join(dir, name), gittest.TestTime, gittest.TestTime))
		}
	}
	w, err := New(objects, NewPacking())
	must(t, err)
	w.Close()
	left, _ := filepath.Glob(filepath.Join(dir, "*.keep"))
	if len(left) != 2 || filepath.Base(left[0]) != "pack-2.keep" || filepath.Base(left[1]) != "pack-3.keep" {
		t.Errorf("left: %q", left)
	}
}

// The packs of earlier jobs are not listed again for each commit.
func TestAPackIsWrittenWithoutListingOthers(t *testing.T) {
	s, objects := packed(t)
	dir := filepath.Join(s.Root, ".git/objects/pack")
	for i := range 2000 {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("pack-%d.idx", i)), nil, 0o644))
	}
	shared := NewPacking()
	write := func() {
		w, err := New(objects, shared)
		must(t, err)
		w.Close()
	}
	write()
	if n := testing.AllocsPerRun(10, write); n > 500 {
		t.Errorf("%.0f allocations", n)
	}
}
