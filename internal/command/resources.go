package command

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/figures"
	"github.com/millhand/millhand/internal/files"
)

// The minimum number of open files, and of free bytes for temporary files. Large
// repositories and many jobs need more.
const (
	minFiles = 32
	minTemp  = 1 << 20
)

// checkResources checks resources that every run needs. It is called before money is
// spent, and before the sandbox is probed, which needs them too.
func checkResources(w World) error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < minFiles {
		return fail(event.ExitUsage, "open file limit too low: %d, required %d; raise it (ulimit -n); nothing was run", files.Cur, minFiles)
	}
	if err := checkTemp(w.Getenv("TMPDIR")); err != nil {
		return fail(event.ExitUsage, "%w; nothing was run", err)
	}
	return nil
}

// checkTemp checks the directory for temporary files, given the value of TMPDIR.
func checkTemp(value string) error {
	dir, name := value, "TMPDIR="+value
	if dir == "" {
		dir = os.TempDir()
		name = dir + " (TMPDIR is not set)"
	}
	const fix = "set TMPDIR to a directory that you can write to"
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s: not an absolute path: %s", name, fix)
	}
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	free := uint64(st.Bavail) * uint64(st.Bsize) //nolint:gosec,unconvert // neither is negative; the types differ between systems
	switch {
	case err == nil && st.Blocks > 0 && free < minTemp:
		return fmt.Errorf("%s: only %s free on its disk: free space there, or %s", name, figures.Bytes(free), fix)
	case err == nil:
		err = tryWrite(dir)
	}
	if files.IsFull(err) {
		return fmt.Errorf("%s: its disk is full: free space there, or %s", name, fix)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, files.Reason(err), fix)
	}
	return nil
}
