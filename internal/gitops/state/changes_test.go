package state

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/testing/gittest"
)

func TestChangedPathsAreThoseOfTheChanges(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n", ".github/workflows/ci.yml", "1\n", "dir/x", "1\n", "Makefile", "1\n", ".gitignore", "*.o\n", "mine/x", "1\n")
	base := s.Commit()
	s.Write("a", "2\n", "new/x", "1\n", "x.o", "1\n", ".millhand/x", "1\n")
	s.Remove("dir", "Makefile", ".github")
	s.Write("dir", "instead of a directory\n", "Makefile/x", "1\n")
	s.Symlink("mine", ".github")
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	got, _, err := r.ChangedPaths(t.Context(), from)
	must(t, err)
	want := []string{".github", ".github/workflows/ci.yml", "Makefile", "Makefile/x", "a", "dir", "dir/x", "new/x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changed paths (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, paths(measure(t, r, base))); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	got, _, err = r.ChangedPaths(t.Context(), from.Below("dir"))
	if must(t, err); !cmp.Equal(got, []string{"dir/x"}) {
		t.Errorf("below a directory: %v", got)
	}
}

// Files that are refused for their size are not read, which would take as long after each turn.
func TestAddedFilesThatAreTooLargeAreNotRead(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	s.Run("config", "core.trustctime", "false")
	large := filepath.Join(s.Root, "large")
	must(t, os.WriteFile(large, nil, 0o600))
	must(t, os.Truncate(large, maxFileSize+1))
	then := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(large, then, then))
	s.Run("add", "large")
	f, err := os.OpenFile(large, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("x"), 0)
	must(t, errors.Join(err, f.Close()))
	must(t, os.Chtimes(large, then, then)) // so that only reading it shows the change
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	tree, err := r.openWorkTree(false)
	must(t, err)
	defer tree.Close()
	w := r.walkFrom(tree, from)
	w.largest = maxFileSize
	must(t, w.runAll(t.Context()))
	edits, err := w.readEdits(t.Context(), from)
	must(t, err)
	if got, want := edits["large"].after.Hash.String(), s.Run("rev-parse", ":large"); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

// Programs can make paths that system calls don't accept, by relative names.
func TestPathsThatAreTooLongAreRefused(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("plain", "1\n")
	base := s.Commit()
	s.Write("plain", "2\n")
	root, err := os.OpenRoot(s.Root)
	must(t, err)
	defer root.Close()
	must(t, root.MkdirAll("deep"+strings.Repeat("/"+strings.Repeat("d", 200), 30), 0o755))
	cs := measure(t, opened(s), base)
	if len(cs.Refused) != 1 || !strings.HasPrefix(cs.Refused[0].Path, "deep/ddd") || cs.Refused[0].Reason != "path is too long" || !slices.Equal(paths(cs), []string{"plain"}) {
		t.Errorf("refused %v, changed %v", cs.Refused, paths(cs))
	}
}

func TestNothingOutsideOfTheWorkTreeIsRead(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("d/f", "inside\n")
	base := s.Commit()
	s.At(s.Home).Write("d/f", "secret\n", "rules", "*\n")
	r := opened(s)
	tree, err := r.openWorkTree(false)
	must(t, err)
	defer tree.Close()
	s.Remove("d")
	s.Symlink(filepath.Join(s.Home, "d"), "d")
	if c, err := tree.Read("d/f", 0o100644, plumbing.ZeroHash); err == nil {
		t.Errorf("read %q through a link", c.Data)
	}
	s.Symlink(filepath.Join(s.Home, "rules"), ".gitignore")
	if got := paths(measure(t, r, base)); !slices.Equal(got, []string{".gitignore", "d", "d/f"}) {
		t.Errorf("changes: %v", got)
	}
}

func TestPatchOfADirtyStartAppliesOnTheDirtyStart(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "one\ntwo\n")
	s.Commit()
	huge := strings.Repeat("x\n", maxKeptSize)
	s.Write("a", "one\ntwo\nuser\n", "untracked", "u\n", "huge", huge, "gone", binaryText, "to-link", "x")
	r := opened(s)
	from, err := r.Snapshot(t.Context())
	must(t, err)
	before := filepath.Join(s.Home, "before")
	must(t, os.CopyFS(before, os.DirFS(s.Root)))
	s.Write("a", "one\n2\nuser\n", "untracked", "u\nv\n", "huge", huge+"y\n")
	s.Remove("gone", "to-link")
	s.Symlink("y", "to-link")
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	patch, err := r.Patch(t.Context(), cs)
	must(t, err)
	name := filepath.Join(s.Home, "patch")
	must(t, os.WriteFile(name, patch, 0o644))
	s.At(before).Run("apply", name)
	for _, path := range []string{"a", "untracked", "huge"} {
		want, err := os.ReadFile(filepath.Join(s.Root, path))
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(before, path)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v, %d bytes, want %d", path, err, len(got), len(want))
		}
	}
	if target, err := os.Readlink(filepath.Join(before, "to-link")); err != nil || target != "y" {
		t.Errorf("to-link: %q, %v", target, err)
	}
}

func TestTooLargeNewFileIsNotRead(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	s.Write("huge", "")
	if err := os.Truncate(filepath.Join(s.Root, "huge"), 1<<43); err != nil { // reading it would take hours
		t.Fatal(err)
	}
	cs := measure(t, opened(s), base)
	if want := []Refusal{{"huge", tooLarge}}; len(cs.Changes) > 0 || !slices.Equal(cs.Refused, want) {
		t.Errorf("changes %v, refused %v; want none and %v", cs.Changes, cs.Refused, want)
	}
}
