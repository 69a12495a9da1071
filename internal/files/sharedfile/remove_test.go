package sharedfile

import (
	"os"
	"path/filepath"
	"testing"
)

// A tree that is deeper than the longest path, or has more levels than a process can have
// open files, is removed, with write-protected directories.
func TestDeepDirectoriesAreRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	top := filepath.Join(t.TempDir(), "top")
	if err := os.MkdirAll(top, 0o755); err != nil {
		t.Fatal(err)
	}
	const depth = 3000 // paths are longer than PATH_MAX
	at, err := os.OpenRoot(top)
	for range depth {
		if err == nil {
			err = at.Mkdir("d", 0o700)
		}
		var below *os.Root
		if err == nil {
			below, err = at.OpenRoot("d")
		}
		if err != nil {
			t.Fatal(err)
		}
		at.Close()
		at = below
	}
	defer at.Close()
	if err := at.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := at.Chmod(".", 0o500); err != nil {
		t.Fatal(err)
	}
	if err := flatten(top); err != nil {
		t.Fatal(err)
	}
	most := 0
	err = filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
		most = max(most, len(path)-len(top))
		return err
	})
	if err != nil || most > maxNested+100 {
		t.Errorf("paths of %d bytes are left, %v", most, err)
	}
	if err := RemoveAll(top); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(top); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
	if err := RemoveAll(top); err != nil {
		t.Errorf("a missing directory: %v", err)
	}
}

// Directories below the levels that prune removes are removed, too, and those that symlinks lead to
// are not.
func TestRemoveAllFollowsNoSymlinks(t *testing.T) {
	outside, top := t.TempDir(), filepath.Join(t.TempDir(), "top")
	deepest := top
	for range maxPruned + 2 {
		deepest = filepath.Join(deepest, "d")
	}
	if err := os.MkdirAll(deepest, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.WriteFile(filepath.Join(outside, "file"), nil, 0o600),
		os.WriteFile(filepath.Join(deepest, "file"), nil, 0o600),
		os.Symlink(outside, filepath.Join(top, "symlink")),
		os.Symlink(outside, filepath.Join(deepest, "symlink")),
		os.MkdirAll(filepath.Join(top, "protected", "d"), 0o755),
		os.Chmod(filepath.Join(top, "protected"), 0o500),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	prune(top)
	if _, err := os.Lstat(filepath.Join(top, "symlink")); !os.IsNotExist(err) {
		t.Errorf("a symlink is left: %v", err)
	}
	if err := RemoveAll(top); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(top); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(outside, "file")); err != nil {
		t.Error(err)
	}
}
