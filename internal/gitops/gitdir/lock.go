package gitdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/sharedfile"
)

// LockFile is git's lock on a file: a file of the same name with ".lock"
// appended, which is created exclusively, written, and renamed over the file. A
// lock of another process is waited for and never removed here.
type LockFile struct {
	target string
	file   *os.File
	name   string
}

// defaultLockWait is how long to wait for a lock if Env does not say.
const defaultLockWait = 10 * time.Second

// Lock acquires the lock of a file, whose directory must exist. It fails with
// ErrConflict if another process holds it for longer than env.LockWait.
func Lock(ctx context.Context, target string, env Env) (*LockFile, error) {
	return lock(ctx, target, env, nil)
}

// lock is Lock for a file whose new content is known. If the file system permits it, the lock
// appears with that content, so that a process that is killed leaves no lock without it.
func lock(ctx context.Context, target string, env Env, content []byte) (*LockFile, error) {
	patience, cancel := context.WithTimeout(ctx, cmp.Or(env.LockWait, defaultLockWait))
	defer cancel()
	name := target + ".lock"
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		l, err := createLock(target, content)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		if env.Sleep.For(patience, pause) != nil {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("wait for %s: %w", name, err)
			}
			return nil, fmt.Errorf("%s exists%s: %w", name, age(name, env), ErrConflict)
		}
	}
}

func createLock(target string, content []byte) (*LockFile, error) {
	name := target + ".lock"
	if content != nil {
		f, err := createWith(name, content)
		switch {
		case err == nil:
			return &LockFile{target: target, file: f, name: name}, nil
		case !errors.Is(err, errors.ErrUnsupported):
			return nil, err
		}
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	owner.Inherit(f)
	l := &LockFile{target: target, file: f, name: name}
	if content != nil {
		if err := l.Write(content); err != nil {
			l.Release()
			return nil, err
		}
	}
	return l, nil
}

// LockedFor returns the commit that the holder of a branch's lock moves the branch to; "" if the
// branch, given with refs/heads/, is not locked, or the lock does not contain a commit yet.
func (d *Dir) LockedFor(branch string) string {
	f, err := sharedfile.Open(d.LockOf(branch))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 100))
	commit := strings.TrimSuffix(string(text), "\n")
	if err != nil || !plumbing.IsHash(commit) {
		return ""
	}
	return commit
}

// LockOf returns the path of a branch's lock. The branch is given with refs/heads/.
func (d *Dir) LockOf(branch string) string {
	return filepath.Join(d.Common, filepath.FromSlash(branch)) + ".lock"
}

// WaitUnlocked waits until no process holds the locks of files, without taking them.
// It fails with ErrConflict if one is older than env.LockWait: then Lock would fail,
// too, and a program that was killed has probably left it.
func WaitUnlocked(ctx context.Context, env Env, targets ...string) error {
	for _, target := range targets {
		name := target + ".lock"
		for {
			info, err := os.Lstat(name)
			if sharedfile.Absent(err) {
				break
			}
			if err != nil {
				return err
			}
			if env.Now == nil || env.Now().Sub(info.ModTime()) >= cmp.Or(env.LockWait, defaultLockWait) {
				return fmt.Errorf("%s exists%s: %w", name, age(name, env), ErrConflict)
			}
			if env.Sleep.For(ctx, 100*time.Millisecond) != nil {
				return fmt.Errorf("wait for %s: %w", name, ctx.Err())
			}
		}
	}
	return nil
}

// age describes the age of a lock file; one left by a killed program is old.
func age(name string, env Env) string {
	info, err := os.Lstat(name)
	if err != nil || env.Now == nil {
		return ""
	}
	return fmt.Sprintf(" for %s", env.Now().Sub(info.ModTime()).Round(time.Second))
}

// Write writes and syncs the lock file.
func (l *LockFile) Write(data []byte) error {
	if _, err := l.file.Write(data); err != nil {
		return err
	}
	return l.file.Sync()
}

// Chmod sets the mode of the new file.
func (l *LockFile) Chmod(mode os.FileMode) error { return l.file.Chmod(mode) }

// Commit renames the lock file to the locked file.
func (l *LockFile) Commit() error {
	if err := l.file.Close(); err != nil {
		return errors.Join(err, os.Remove(l.name))
	}
	if err := os.Rename(l.name, l.target); err != nil {
		return errors.Join(err, os.Remove(l.name))
	}
	l.file = nil
	// git pack-refs, and so git gc, may have packed the reference, and removed it and its directory since.
	return sharedfile.IgnoreMissing(sharedfile.SyncDir(filepath.Dir(l.target)))
}

// Release releases the lock unless it was committed. It is meant for defer, so
// errors are not reported; at worst a lock file remains.
func (l *LockFile) Release() {
	if l == nil || l.file == nil {
		return
	}
	_ = l.file.Close()
	_ = os.Remove(l.name)
	l.file = nil
}
