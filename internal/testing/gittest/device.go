package gittest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// OtherDevice returns a new directory on another file system than those of t.TempDir. It skips
// the test if no other is found.
func OtherDevice(tb testing.TB) string {
	tb.Helper()
	var usual, other unix.Stat_t
	if err := unix.Stat(tb.TempDir(), &usual); err != nil {
		tb.Fatal(err)
	}
	for _, parent := range []string{"/dev/shm", "/tmp", "/var/tmp"} {
		if err := unix.Stat(parent, &other); err != nil || other.Dev == usual.Dev {
			continue
		}
		if dir, err := os.MkdirTemp(parent, "millhand-test-"); err == nil { //nolint:usetesting // on that file system
			tb.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	tb.Skip("no second file system found")
	return ""
}
