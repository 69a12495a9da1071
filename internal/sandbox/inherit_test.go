//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFilesOfTheParentAreNotInherited(t *testing.T) {
	p := newFixture(t)
	f, err := os.Create(filepath.Join(p.outside, "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil { // so that the supervisor inherits it
		t.Fatal(err)
	}
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			s := inside(t, p.spec(), level)
			for range 2 { // the second one is run by a process that was started before
				if got := bash(t, s, "ls /proc/self/fd | wc -l"); got.err != nil || strings.TrimSpace(got.output) != "4" { // 0 to 2, and the directory
					t.Errorf("the command has %q files, %v", got.output, got.err)
				}
				ahead(t, s)
			}
		})
	}
}
