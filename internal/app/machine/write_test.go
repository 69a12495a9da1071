package machine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTryWriteLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := TryWrite(dir); err != nil {
		t.Error(err)
	}
	if err := TryWrite(filepath.Join(dir, "missing")); !os.IsNotExist(err) {
		t.Errorf("a missing directory: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left %v (%v)", entries, err)
	}
	if f, err := nameless("/dev/shm"); err == nil { // tmpfs has such files
		defer f.Close()
		if _, err := os.Lstat(f.Name()); err == nil && f.Name() != "/dev/shm" {
			t.Errorf("it has the name %s", f.Name())
		}
	}
}
