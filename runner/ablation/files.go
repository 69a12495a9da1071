package ablation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// ContentIn returns what a path is in a directory.
func ContentIn(dir, name string) (c Content, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return c, err
	}
	defer root.Close()
	return contentOf(root, name)
}

func contentOf(root *os.Root, name string) (c Content, err error) {
	info, err := root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		if c.Mode = Regular; mode&0o100 != 0 {
			c.Mode = Executable
		}
		c.Data, err = root.ReadFile(filepath.FromSlash(name))
	case mode&fs.ModeSymlink != 0:
		var target string
		c.Mode = Symlink
		target, err = root.Readlink(filepath.FromSlash(name))
		c.Data = []byte(target)
	case mode.IsDir(): // what was there is in it
	default:
		err = errors.New(name + " is neither a file nor a symlink")
	}
	return c, err
}

// WriteTo makes the files of a directory what they are in the tree. No process uses the directory meanwhile.
func (t Tree) WriteTo(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	t = slices.Clone(t)
	slices.SortStableFunc(t, func(a, b Entry) int { // a file that is removed can be in the way of a directory
		return min(len(a.Mode), 1) - min(len(b.Mode), 1)
	})
	for _, e := range t {
		if err := writeEntry(root, e); err != nil {
			return err
		}
	}
	return nil
}

// writeEntry writes one file unless it is as it has to be.
func writeEntry(root *os.Root, e Entry) error {
	name := filepath.FromSlash(e.Path)
	if now, err := contentOf(root, e.Path); err == nil && now.Mode == e.Mode && slices.Equal(now.Data, e.Data) {
		return nil
	}
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	switch e.Mode {
	case Absent:
		for dir := filepath.Dir(name); dir != "." && root.Remove(dir) == nil; dir = filepath.Dir(dir) { // git has no empty directories
		}
		return nil
	case Symlink:
		return errors.Join(root.MkdirAll(filepath.Dir(name), 0o777), root.Symlink(string(e.Data), name))
	case Regular, Executable:
	}
	mode := fs.FileMode(0o666)
	if e.Mode == Executable {
		mode = 0o777
	}
	return errors.Join(root.MkdirAll(filepath.Dir(name), 0o777), root.WriteFile(name, e.Data, mode))
}
