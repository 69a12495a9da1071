package search

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A symlink that replaced a directory or a file after it was listed is not followed, not
// even within the root.
func TestReplacingSymlinksAreNotFollowed(t *testing.T) {
	root := openTree(t, map[string]string{"d/f": "x"})
	for name, target := range map[string]string{"directory": "d", "file": "d/f"} {
		if err := os.Symlink(target, filepath.Join(root.Name(), name)); err != nil {
			t.Fatal(err)
		}
	}
	top, err := openHandle(root)
	if err != nil {
		t.Fatal(err)
	}
	defer top.close()
	if _, err := top.directory("directory"); !errors.Is(err, errSpecial) {
		t.Errorf("directory: error %v", err)
	}
	if _, _, err := top.open("file"); !errors.Is(err, errSpecial) {
		t.Errorf("open: error %v", err)
	}
	if _, err := top.directory("missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: error %v", err)
	}
}
