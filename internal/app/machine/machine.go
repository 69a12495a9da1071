// Package machine checks what every run needs of this machine, open files and a directory for temporary files,
// and limits the concurrent jobs of a plan to what it has. It decides nothing else about a run.
package machine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tasks"
)

// The minimum number of open files, and of free bytes and inodes for temporary files. Large
// repositories and many jobs need more.
const (
	minFiles  = 48
	minTemp   = 1 << 20
	minInodes = 64
)

// Check checks resources that every run needs. It is called before money is
// spent, and before the sandbox is probed, which needs them too.
func Check(w world.World) error {
	if n := OpenFiles(); n < minFiles {
		return fault.New(event.ExitUsage, "open file limit too low: %d, required %d; raise it (ulimit -n); nothing was run", n, minFiles)
	}
	if err := checkTemp(w.Getenv("TMPDIR")); err != nil {
		return fault.New(event.ExitUsage, "%w; nothing was run", err)
	}
	return nil
}

// What millhand itself and each job that runs need, of open files with a server and without, and
// of processes and threads.
const (
	ownFiles, jobFiles, serverFiles = 40, 8, 6
	ownProcesses, jobProcesses      = 16, 8
)

// FitJobs returns a plan with the number of jobs that run concurrently lowered to what the machine has for
// them, with a note: a job that lacks something when it starts a command ends.
func FitJobs(plan *tasks.Plan, openFiles, processes uint64) *tasks.Plan {
	servers := len(plan.MCP)
	if plan.LSP != nil {
		servers += len(plan.LSP.Servers)
	}
	for _, have := range []struct {
		limit, own, each uint64
		fix              string
	}{
		{openFiles, ownFiles, jobFiles + serverFiles*uint64(servers), "open files: raise the limit (ulimit -n)"},
		{processes, ownProcesses, jobProcesses, "processes: raise the limit (ulimit -u, or that of the container)"},
	} {
		most := 1
		if have.limit > have.own+have.each {
			most = int(min((have.limit-have.own)/have.each, math.MaxInt32)) //nolint:gosec // it fits
		}
		if jobs := max(plan.Parallel, 1); jobs > most {
			plan = plan.WithParallel(most, fmt.Sprintf("only %d of %d jobs run concurrently, for which the machine has enough %s", most, jobs, have.fix))
		}
	}
	return plan
}

// OpenFiles is how many files the process may have open.
func OpenFiles() uint64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxUint64
	}
	return l.Cur
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
	case err == nil && st.Files > 0 && st.Ffree < minInodes:
		return fmt.Errorf("%s: only %s can be created on its disk: remove files there, or %s", name, figures.Count(int(st.Ffree), "file"), fix) //nolint:gosec // it is small
	case err == nil:
		err = TryWrite(dir)
	}
	if files.IsFull(err) {
		return fmt.Errorf("%s: its disk is full: free space there, or %s", name, fix)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, files.Reason(err), fix)
	}
	return nil
}

// TryWrite writes a file, which a process that is killed meanwhile does not leave if the file
// system permits that.
func TryWrite(dir string) error {
	f, err := nameless(dir)
	remove := func() error { return nil }
	if errors.Is(err, errors.ErrUnsupported) {
		if f, err = os.CreateTemp(dir, ".millhand-doctor-"); err == nil {
			remove = func() error { return os.Remove(f.Name()) }
		}
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close(), remove())
}
