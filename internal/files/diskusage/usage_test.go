//go:build linux

package diskusage

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// nest creates a directory at a depth and returns a descriptor of it.
func nest(t *testing.T, dir, name string, depth int) int {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	for range depth {
		if err == nil {
			err = unix.Mkdirat(fd, name, 0o755)
		}
		below := -1
		if err == nil {
			below, err = unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		fd = below
	}
	return fd
}

// Files below the longest path that the kernel accepts count, and empty files do.
func TestDiskUsageOfDeepTreesAndEmptyFiles(t *testing.T) {
	workspace, tmp, home := t.TempDir(), t.TempDir(), t.TempDir()
	for i := range 100 {
		fill(t, filepath.Join(home, fmt.Sprint(i)), 0)
	}
	if n, err := usage(t.Context(), home); err != nil || n != 101*inodeBytes {
		t.Errorf("100 empty files: %d, %v", n, err)
	}
	fd := nest(t, workspace, strings.Repeat("d", 100), 60)
	f, err := unix.Openat(fd, "file", unix.O_CREAT|unix.O_WRONLY, 0o644)
	if err == nil {
		_, err = unix.Write(f, make([]byte, 1<<20))
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(f)
	unix.Close(fd)
	if n, err := usage(t.Context(), workspace); err != nil || n < 1<<20 {
		t.Errorf("got %d, %v", n, err)
	}
	unix.Close(nest(t, tmp, strings.Repeat("d", 250), 400))
	if _, err := usage(t.Context(), tmp); !errors.Is(err, errTooDeep) {
		t.Errorf("got %v", err)
	}
}
