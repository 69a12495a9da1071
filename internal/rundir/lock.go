package rundir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/filelock"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/text/printable"
)

// The files of a report directory that a run locks while it writes there, and a pass that follows the run.
// The kernel releases the lock however the process ends. The files are not removed: then two
// processes could lock two files of the same name.
const (
	lockFile   = "run.lock"
	followFile = "follow.lock"
)

// ErrInUse is wrapped by the error of a lock that another process holds.
var ErrInUse = errors.New("in use")

// Lock is the lock of a report directory, until it is closed.
type Lock struct{ file *os.File }

// holder is the content of the lock file: the process that holds the lock.
type holder struct {
	Holder string    `json:"holder"`
	PID    int       `json:"pid"`
	Host   string    `json:"host"`
	Since  time.Time `json:"since"`
}

// TakeLock locks a report directory for a run. It waits only for children of a holder that has
// ended. Child processes do not inherit the lock. The error wraps [ErrInUse] if another process holds it. A file
// system without locks is an error too, because runs could overlap unnoticed.
func TakeLock(ctx context.Context, dir, runID string, c clock.Clock) (*Lock, error) {
	l, err := takeLock(dir, lockFile, holder{Holder: holderOf(runID), Since: c.Now()}, soon(ctx, c.Sleep))
	if errors.Is(err, ErrInUse) {
		err = fmt.Errorf("%w, or choose another --report-dir", err)
	}
	return l, err
}

// TakeFollowLock is like [TakeLock] for a pass that follows the run. It excludes other passes, not runs.
func TakeFollowLock(ctx context.Context, dir string, c clock.Clock) (*Lock, error) {
	return takeLock(dir, followFile, holder{Holder: "a pass that follows the run", Since: c.Now()}, soon(ctx, c.Sleep))
}

// lockNew locks a directory that this process has just created.
func lockNew(dir, runID string, since time.Time) (*Lock, error) {
	return takeLock(dir, lockFile, holder{Holder: holderOf(runID), Since: since}, claim)
}

// holderOf names a run as the holder of a lock.
func holderOf(runID string) string { return "run " + runID }

// takeLock is TakeLock for any file and holder. It sets the holder's process.
func takeLock(dir, name string, by holder, claim func(*os.File) error) (*Lock, error) {
	for {
		f, err := openRegular(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE)
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
		f.Close() // removed between opening and locking: retry
	}
}

// Close releases the lock. An empty file means that nobody holds it.
func (l *Lock) Close() {
	l.file.Truncate(0) //nolint:errcheck // only read while locked
	l.file.Close()
}

// leave releases the lock as the end of the process does: the file still names the run.
func (l *Lock) leave() { l.file.Close() }

// inUse reports whether a process holds the lock of a directory, and which one. It does
// not prevent others from taking the lock.
func inUse(dir string) (bool, holder, error) {
	f, err := openRegular(filepath.Join(dir, lockFile), os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, holder{}, nil
	case err != nil:
		return false, holder{}, fmt.Errorf("check for an active run: %w", err)
	}
	defer f.Close()
	switch err = filelock.Try(f, filelock.Shared); {
	case err == nil:
		return false, holder{}, nil
	case errors.Is(err, filelock.ErrHeld):
		return true, readHolder(f), nil
	}
	return false, holder{}, fmt.Errorf("check for an active run in %s: %w", dir, err)
}

// The time that soon waits for the children of a process that was killed.
const (
	orphanWait  = 10 * time.Second
	orphanPause = 20 * time.Millisecond
)

// soon is claim, but waits if the process that holds the lock has ended: then a child of it
// that was just started, and has not executed its program yet, still has the file open.
func soon(ctx context.Context, sleep clock.Sleep) func(*os.File) error {
	return func(f *os.File) error {
		for range orphanWait / orphanPause {
			err := claim(f)
			if !errors.Is(err, filelock.ErrHeld) || !readHolder(f).ended() {
				return err
			}
			if err := sleep.For(ctx, orphanPause); err != nil {
				return err
			}
		}
		return claim(f)
	}
}

// ended reports whether the holder was a process of this machine that has ended. A process of
// another container seems so, too.
func (h holder) ended() bool {
	host, err := os.Hostname()
	return err == nil && h.PID > 0 && h.Host == host && errors.Is(unix.Kill(h.PID, 0), unix.ESRCH)
}

// claim locks a file unless a run holds the lock. inUse holds a shared lock for a
// moment: if the lock can be shared, no run holds it, and claim retries.
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

// stillThere reports whether the path of an open file still leads to it.
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

// sign writes the holder to the locked file.
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

// lockError explains why a lock could not be taken, and how to fix it.
func lockError(dir string, f *os.File, err error) error {
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return fmt.Errorf("report directory %s is %w by %s: wait for it", dir, ErrInUse, readHolder(f).describe())
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("the file system of report directory %s does not support locks, so runs could overlap: choose a --report-dir on another file system: %w", dir, err)
	}
	return fmt.Errorf("lock the report directory %s: %w", dir, err)
}

// readHolder reads the holder from a locked file; the zero value if it is not written yet.
func readHolder(in io.ReaderAt) holder {
	text := make([]byte, 4<<10)
	n, _ := in.ReadAt(text, 0) // unreadable means unknown
	var h holder
	if json.Unmarshal(text[:n], &h) != nil {
		return holder{}
	}
	return h
}

// describe describes the holder for error messages.
func (h holder) describe() string {
	if h.Holder == "" {
		return "another process that is starting or ending"
	}
	return fmt.Sprintf("%s (pid %d on %s since %s)", printable.Line(h.Holder, printable.Width), h.PID, printable.Line(h.Host, printable.Width), h.Since.UTC().Format(time.RFC3339))
}

// openRegular opens a regular file. An agent may have created the path, so symlinks and
// FIFOs are errors.
func openRegular(path string, flags int) (*os.File, error) {
	return files.OpenRegular(path, flags, 0o644)
}

// NotInUse returns an error that wraps [ErrInUse] if a process holds the lock of a report
// directory. It changes nothing.
func NotInUse(dir string) error {
	held, by, err := inUse(dir)
	if err == nil && held {
		err = fmt.Errorf("report directory %s is %w by %s: wait for it", dir, ErrInUse, by.describe())
	}
	return err
}
