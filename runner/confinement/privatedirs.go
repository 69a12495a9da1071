package confinement

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/sharedfile"
)

// PrivateDirs are the private HOME and TMPDIR of a job's commands. A verify command gets
// them as setup left them, at the same paths, because tools store absolute paths: what
// the agent's commands, or other verify commands, wrote there must not decide its
// result. The copies are made before the agent starts.
type PrivateDirs struct {
	Paths []string
	Aside string // directory for the copies, and for the agent's directories during a verify command
}

// saved returns the path of the copy of a directory after setup.
func (p PrivateDirs) saved(i int) string { return filepath.Join(p.Aside, fmt.Sprintf("setup%d", i)) }

// Save copies the directories as setup has left them.
func (p PrivateDirs) Save(ctx context.Context) error {
	for i, dir := range p.Paths {
		if err := copyTree(ctx, dir, p.saved(i)); err != nil {
			return fmt.Errorf("copy the private directories: %w", err)
		}
	}
	return nil
}

// Replace replaces the directories until restore is called: by those that setup left,
// or by empty ones.
func (p PrivateDirs) Replace(ctx context.Context, asSetupLeft bool) (restore func() error, err error) {
	var undo []func() error
	restoreAll := func() error {
		var errs []error
		for _, one := range undo {
			errs = append(errs, one())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("replace the private directories: %w", err), restoreAll())
		}
	}()
	for i, dir := range p.Paths {
		agents := filepath.Join(p.Aside, fmt.Sprintf("agent%d", i))
		if err := os.MkdirAll(p.Aside, 0o700); err != nil {
			return nil, err
		}
		if err := os.Rename(dir, agents); err != nil {
			return nil, err
		}
		undo = append(undo, func() error { return errors.Join(sharedfile.RemoveAll(dir), os.Rename(agents, dir)) })
		from := p.saved(i)
		if _, err := os.Lstat(from); err == nil && asSetupLeft {
			if err := copyTree(ctx, from, dir); err != nil {
				return nil, err
			}
			continue
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		if err := owner.As(agents, dir); err != nil {
			return nil, err
		}
	}
	return restoreAll, nil
}

// Remove removes the copies.
func (p PrivateDirs) Remove() error { return sharedfile.RemoveAll(p.Aside) }

// MakePrivate creates a directory for commands, in one whose other entries are private as well: root's
// commands can run as another user, who needs to search that.
func MakePrivate(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil && os.Geteuid() == 0 {
		err = os.Chmod(filepath.Dir(dir), 0o711)
	}
	return err
}

// copyTree copies a directory to a path that does not exist, with modes, times and
// owners. Pipes, sockets, devices, and files that can't be read are skipped.
func copyTree(ctx context.Context, from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	var dirs []func() error // completed last: they may be read-only
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			dirs = append(dirs, func() error { return sameAttributes(path, target, info) })
			return os.Mkdir(target, 0o700)
		}
		if made, err := copyEntry(path, target, info); err != nil || !made {
			return err
		}
		return sameAttributes(path, target, info)
	})
	if err != nil {
		return err
	}
	for _, v := range slices.Backward(dirs) {
		if err := v(); err != nil {
			return err
		}
	}
	return nil
}

// copyEntry copies a symlink or a regular file. It returns false for other files, which
// are skipped.
func copyEntry(path, target string, info fs.FileInfo) (made bool, err error) {
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		text, err := os.Readlink(path)
		if err != nil {
			return false, err
		}
		return true, os.Symlink(text, target)
	case 0:
	default:
		return false, nil
	}
	in, err := os.OpenFile(path, sharedfile.OpenFlags, 0)
	if errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	_, err = io.Copy(out, in)
	return true, errors.Join(err, out.Close())
}

// sameAttributes gives a copy the owner, mode and times of the original.
func sameAttributes(path, target string, info fs.FileInfo) error {
	if err := owner.As(path, target); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return err
	}
	if err := os.Chmod(target, info.Mode()); err != nil {
		return err
	}
	return os.Chtimes(target, info.ModTime(), info.ModTime())
}
