package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/filelock"
	"github.com/millhand/millhand/internal/printable"
)

// lockFile is the file of a report directory that is locked for as long as a
// run writes there. The kernel lets go of it however the run ends. The file
// stays: removing it would let two runs lock two files of one name.
const lockFile = "run.lock"

// ErrInUse is wrapped by the error of a lock that another process holds.
var ErrInUse = errors.New("in use")

// Lock is the right to write into a report directory, until it is closed.
type Lock struct{ file *os.File }

// holder is what the locked file says of who has the lock.
type holder struct {
	Holder string    `json:"holder"`
	PID    int       `json:"pid"`
	Host   string    `json:"host"`
	Since  time.Time `json:"since"`
}

// TakeLock takes the lock of a report directory for a run, at once or not at
// all. Children do not inherit it. The error wraps [ErrInUse] if another process
// has it. A file system without locks is an error, too: nobody would notice an
// overlap.
func TakeLock(dir, runID string, since time.Time) (*Lock, error) {
	return takeLock(dir, holder{Holder: holderOf(runID), Since: since})
}

// holderOf is a run as the holder of a lock.
func holderOf(runID string) string { return "run " + runID }

// takeLock is TakeLock for any holder, whose process it fills in.
func takeLock(dir string, by holder) (*Lock, error) {
	for {
		f, err := openRegular(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, fmt.Errorf("lock the report directory: %w", err)
		}
		current := false
		if err = claim(f); err == nil {
			current, err = stillThere(f)
		}
		if err == nil && current {
			err = sign(f, by)
		}
		switch {
		case err != nil:
			err = lockError(dir, f, err)
			f.Close()
			return nil, err
		case current:
			return &Lock{f}, nil
		}
		f.Close() // pruned between opening and locking: what is there now counts
	}
}

// Close gives the lock back. An empty file says that nobody has it.
func (l *Lock) Close() {
	l.file.Truncate(0) //nolint:errcheck // who reads it has found it locked by another
	l.file.Close()
}

// inUse reports whether a process has the lock of a directory, and which, and
// keeps nobody from taking it.
func inUse(dir string) (bool, holder, error) {
	f, err := openRegular(filepath.Join(dir, lockFile), os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, holder{}, nil
	case err != nil:
		return false, holder{}, fmt.Errorf("see whether a run is going on: %w", err)
	}
	defer f.Close()
	switch err = filelock.Try(f, filelock.Shared); {
	case err == nil:
		return false, holder{}, nil
	case errors.Is(err, filelock.ErrHeld):
		return true, readHolder(f), nil
	}
	return false, holder{}, fmt.Errorf("see whether a run is going on in %s: %w", dir, err)
}

// claim locks a file unless a run has. Who only looks shares the lock for a
// moment: where it can be shared no run has it, and the next try may succeed.
func claim(f *os.File) error {
	for {
		err := filelock.Try(f, filelock.Exclusive)
		if !errors.Is(err, filelock.ErrHeld) {
			return err
		}
		if err := filelock.Try(f, filelock.Shared); err != nil {
			return err
		}
	}
}

// stillThere reports whether an open file is the one that its path leads to.
func stillThere(f *os.File) (bool, error) {
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(opened, named), err
}

// sign writes into the locked file who has it.
func sign(f *os.File, by holder) error {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	by.PID, by.Host, by.Since = os.Getpid(), host, by.Since.UTC().Truncate(time.Second)
	text, err := json.Marshal(by)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(text, '\n'), 0)
	return err
}

// lockError says why a lock could not be had, and what to do about it.
func lockError(dir string, f *os.File, err error) error {
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return fmt.Errorf("report directory %s is %w by %s: wait for it, or give another --report-dir", dir, ErrInUse, readHolder(f).words())
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("the file system of the report directory %s has no locks that work, so two runs could overlap there: give a --report-dir on another one: %w", dir, err)
	}
	return fmt.Errorf("lock the report directory %s: %w", dir, err)
}

// readHolder reads what a locked file says; nothing, if it has not been signed.
func readHolder(in io.ReaderAt) holder {
	text := make([]byte, 4<<10)
	n, _ := in.ReadAt(text, 0) // what can't be read says nothing
	var h holder
	if json.Unmarshal(text[:n], &h) != nil {
		return holder{}
	}
	return h
}

// words names the holder to others.
func (h holder) words() string {
	if h.Holder == "" {
		return "another process, which has just begun or ended"
	}
	return fmt.Sprintf("%s (pid %d on %s since %s)", printable.Line(h.Holder, printable.Width), h.PID, printable.Line(h.Host, printable.Width), h.Since.UTC().Format(time.RFC3339))
}

// openRegular opens a regular file, and nothing that leads elsewhere or waits
// for somebody: an agent may have made it.
func openRegular(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
