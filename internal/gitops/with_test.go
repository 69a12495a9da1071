package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/gitops/store"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// Two views of a repository share its stores, and none has what only the other has.
func TestObjectsTogetherWithThoseOfAnotherDirectory(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	first := s.Commit()
	s.Run("gc", "-q")
	r := opened(s)
	if _, err := r.SnapshotOf(first); err != nil { // reads the index of the pack
		t.Fatal(err)
	}
	s.Write("a", "2\n")
	second := s.Commit()
	s.Run("gc", "-q")
	dir := filepath.Join(s.Home, "objects")
	must(t, os.Mkdir(dir, 0o755))
	hash, err := store.NewCache(dir).WriteBytes(plumbing.BlobObject, []byte("only there\n"))
	must(t, err)

	both := r.Git.Objects.With(dir)
	must(t, err)
	if _, err := both.RootTree(plumbing.NewHash(second)); err != nil {
		t.Errorf("a commit in a newer pack: %v", err)
	}
	if data, err := both.Blob(hash); err != nil || string(data) != "only there\n" {
		t.Errorf("an object of the directory: %q, %v", data, err)
	}
	if _, err := r.Git.Objects.Blob(hash); !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Errorf("the same in the repository alone: %v", err)
	}
	if _, err := r.Git.Objects.RootTree(plumbing.NewHash(second)); err != nil {
		t.Errorf("the commit in the repository alone: %v", err)
	}
}
