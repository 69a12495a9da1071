package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// MoveTo moves the named files and directories into another directory, where they
// replace existing files. Each is renamed or, across devices, copied, synced and then
// removed: at any time one of the two directories has it completely, and none has an incomplete one by its name.
func (d *Dir) MoveTo(to *Dir, names []string) error {
	var errs []error
	for _, name := range names {
		if !d.Exists(name) {
			continue
		}
		if err := d.move(to, name); err != nil {
			errs = append(errs, fmt.Errorf("move %s to %s: %w", name, to.Path(), err))
		}
	}
	return errors.Join(errs...)
}

func (d *Dir) move(to *Dir, name string) error {
	if err := to.RemoveAll(name); err != nil {
		return err
	}
	err := d.renameTo(to, name)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	incomplete := "." + name + ".0" // see RemoveTemporary
	if err := to.RemoveAll(incomplete); err != nil {
		return err
	}
	if err = d.copyTo(to, name, incomplete); err == nil {
		err = to.Rename(incomplete, name)
	}
	if err != nil {
		to.RemoveAll(incomplete) //nolint:errcheck // the original still exists
		return err
	}
	if err := errors.Join(d.RemoveAll(incomplete), d.Rename(name, incomplete)); err != nil {
		return err
	}
	return d.RemoveAll(incomplete)
}

// renameTo moves a direct entry from one directory into another.
func (d *Dir) renameTo(to *Dir, name string) error {
	from, err := d.root().Open(d.prefix)
	if err != nil {
		return err
	}
	defer from.Close()
	into, err := to.root().Open(to.prefix)
	if err != nil {
		return err
	}
	defer into.Close()
	return unix.Renameat(int(from.Fd()), name, int(into.Fd()), name)
}

// copyTo copies a file or directory to another name, with modes and symlinks.
func (d *Dir) copyTo(to *Dir, name, as string) error {
	from := path.Join(d.prefix, name)
	return fs.WalkDir(d.root().FS(), from, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		dst := path.Join(to.prefix, as+at[len(from):])
		switch {
		case e.IsDir():
			return to.root().MkdirAll(dst, info.Mode().Perm()|0o700)
		case e.Type()&fs.ModeSymlink != 0:
			text, err := d.root().Readlink(at)
			if err != nil {
				return err
			}
			return to.root().Symlink(text, dst)
		case e.Type().IsRegular():
			return d.copyFile(to, at, dst, info.Mode().Perm())
		}
		return nil // other files are never written
	})
}

// copyFile copies one file; names are relative to the roots.
func (d *Dir) copyFile(to *Dir, from, dst string, mode fs.FileMode) error {
	in, err := d.root().Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.root().OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		err = out.Chmod(mode)
	}
	return errors.Join(err, out.Close())
}
