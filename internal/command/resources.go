package command

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/reportdir"
)

// What a run needs at least: files that can be open, and bytes that are free for
// temporary files. Large repositories and many jobs need more.
const (
	leastFiles = 32
	leastTemp  = 1 << 20
)

// checkResources finds what this machine lacks that each run needs, before
// anything is spent, and before a sandbox is found missing for it.
func checkResources(w World) error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < leastFiles {
		return fail(event.ExitUsage, "only %d files can be open (ulimit -n), and a run needs %d: raise the limit; nothing was run", files.Cur, leastFiles)
	}
	if err := checkTemp(w.Getenv("TMPDIR")); err != nil {
		return fail(event.ExitUsage, "%w; nothing was run", err)
	}
	return nil
}

// checkTemp reports what is wrong with the directory for temporary files, given
// the value of TMPDIR.
func checkTemp(value string) error {
	dir, name := value, "TMPDIR="+value
	if dir == "" {
		dir = os.TempDir()
		name = dir + " (TMPDIR is not set)"
	}
	const fix = "set TMPDIR to a directory that you can write to"
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s: the path is not absolute: %s, by its absolute path", name, fix)
	}
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	free := uint64(st.Bavail) * uint64(st.Bsize) //nolint:gosec,unconvert // neither is negative; the types differ between systems
	switch {
	case err == nil && st.Blocks > 0 && free < leastTemp:
		return fmt.Errorf("%s: %d KiB are free on its disk: make room there, or %s", name, free>>10, fix)
	case err == nil:
		err = tryWrite(dir)
	}
	if reportdir.IsFull(err) {
		return fmt.Errorf("%s: its disk is full: make room there, or %s", name, fix)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, reportdir.Reason(err), fix)
	}
	return nil
}
