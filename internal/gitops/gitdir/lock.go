package gitdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// LockFile is git's lock on a file: a file of the same name with ".lock" at its end,
// which is created exclusively, filled, and renamed over the file. A lock of somebody
// else is waited for and never removed.
type LockFile struct {
	target string
	file   *os.File
}

// Lock takes the lock of a file, whose directory exists. It fails with ErrConflict
// when somebody else holds it for longer than env.LockWait.
func Lock(ctx context.Context, target string, env Env) (*LockFile, error) {
	patience, cancel := context.WithTimeout(ctx, cmp.Or(env.LockWait, 10*time.Second))
	defer cancel()
	name := target + ".lock"
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err == nil {
			return &LockFile{target: target, file: f}, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		select {
		case <-patience.Done():
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("wait for %s: %w", name, err)
			}
			return nil, fmt.Errorf("%s exists%s: %w", name, age(name, env), ErrConflict)
		case <-time.After(pause):
		}
	}
}

// age says since when a lock file exists: one left behind by a program that was
// killed is old.
func age(name string, env Env) string {
	info, err := os.Lstat(name)
	if err != nil || env.Now == nil {
		return ""
	}
	return fmt.Sprintf(" for %s", env.Now().Sub(info.ModTime()).Round(time.Second))
}

// Write fills the lock file and makes its content durable.
func (l *LockFile) Write(data []byte) error {
	if _, err := l.file.Write(data); err != nil {
		return err
	}
	return l.file.Sync()
}

// Chmod gives the file that is to come a mode.
func (l *LockFile) Chmod(mode os.FileMode) error { return l.file.Chmod(mode) }

// Commit puts the lock file in the place of the file that it locked.
func (l *LockFile) Commit() error {
	if err := l.file.Close(); err != nil {
		return errors.Join(err, os.Remove(l.file.Name()))
	}
	if err := os.Rename(l.file.Name(), l.target); err != nil {
		return errors.Join(err, os.Remove(l.file.Name()))
	}
	l.file = nil
	return SyncDir(filepath.Dir(l.target))
}

// Release gives the lock up unless it was committed. It is meant for defer, so
// failures are not reported: the worst is a lock file that remains.
func (l *LockFile) Release() {
	if l == nil || l.file == nil {
		return
	}
	_ = l.file.Close()
	_ = os.Remove(l.file.Name())
	l.file = nil
}
