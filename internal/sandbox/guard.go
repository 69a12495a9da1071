package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"syscall"
)

// guardMax is the largest file that a Guard keeps the content of; of a larger
// one it keeps the size and the time of its last change.
const guardMax = 1 << 20

// Guard watches over files that commands at level Partial are able to change,
// and must not: those that Unprotected names, git's control files above all. It
// keeps what they were, says what has changed, and puts it back. It works below
// one folder, which commands can't replace, and follows no link out of it.
type Guard struct {
	root  *os.Root
	names []string
	kept  map[string]keptFile
}

// keptFile is what a name stands for; the zero value is nothing.
type keptFile struct {
	mode  fs.FileMode
	text  string // a link's, or a file's that isn't too large
	large string // size and time of one that is
}

// NewGuard keeps what the names below a folder, and everything in them, are
// now. A name that doesn't exist is kept as such. The caller closes it.
func NewGuard(dir string, names []string) (*Guard, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("watch over files in %s: %w", dir, err)
	}
	g := &Guard{root: root, names: names}
	if g.kept, err = g.look(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return g, nil
}

// GitControls returns the names of what decides how git behaves, in a git
// directory: what no command needs to change that only looks.
func GitControls(gitDir string) []string {
	var names []string
	for _, n := range []string{"config", "config.worktree", "hooks", "info", "objects/info/alternates", "commondir", "gitdir"} {
		names = append(names, path.Join(gitDir, n))
	}
	return names
}

// Close gives up the folder.
func (g *Guard) Close() error { return g.root.Close() }

// Changed returns the names of what isn't what it was, sorted.
func (g *Guard) Changed() ([]string, error) {
	now, err := g.look()
	if err != nil {
		return nil, err
	}
	return differing(g.kept, now), nil
}

func differing(kept, now map[string]keptFile) []string {
	var out []string
	for name, was := range kept {
		if now[name] != was {
			out = append(out, name)
		}
	}
	for name := range now {
		if _, ok := kept[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Restore puts back what has changed, and fails if it can't: what a file that
// is too large was, is not known any more.
func (g *Guard) Restore() error {
	changed, err := g.Changed()
	if err != nil {
		return err
	}
	for _, name := range changed { // what is new goes first, and a folder before what is in it
		if err := g.root.RemoveAll(name); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.kept)) {
		if err := g.put(name, g.kept[name]); err != nil {
			return fmt.Errorf("put %s back: %w", name, err)
		}
	}
	left, err := g.Changed()
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("put files back: %v differ still", left)
	}
	return err
}

// put makes a name what it was, if it is gone.
func (g *Guard) put(name string, was keptFile) error {
	if _, err := g.root.Lstat(name); err == nil || was.mode == 0 && was.text == "" {
		return nil
	}
	switch {
	case was.mode.IsDir():
		return g.root.MkdirAll(name, was.mode.Perm())
	case was.mode&fs.ModeSymlink != 0:
		return g.root.Symlink(was.text, name)
	case was.mode.IsRegular() && was.large == "":
		return g.root.WriteFile(name, []byte(was.text), was.mode.Perm())
	}
	return nil
}

// look finds out what everything is now, the folders that lead to it included:
// one that is replaced by a link leads elsewhere.
func (g *Guard) look() (map[string]keptFile, error) {
	found := map[string]keptFile{}
	for _, name := range g.names {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if info, err := g.root.Lstat(dir); err == nil {
				found[dir] = keptFile{mode: info.Mode()}
			}
		}
		if err := g.lookAt(name, found); err != nil {
			return nil, fmt.Errorf("look at %s: %w", name, err)
		}
	}
	return found, nil
}

func (g *Guard) lookAt(name string, found map[string]keptFile) error {
	info, err := g.root.Lstat(name)
	if err != nil { // it isn't there, or something that leads to it isn't what it was
		found[name] = keptFile{}
		return nil //nolint:nilerr // that is the answer
	}
	k := keptFile{mode: info.Mode()}
	switch {
	case info.IsDir():
		return g.lookInto(name, k, found)
	case info.Mode()&fs.ModeSymlink != 0:
		k.text, err = g.root.Readlink(name)
	case !info.Mode().IsRegular():
	case info.Size() > guardMax:
		k.large = fmt.Sprint(info.Size(), info.ModTime())
	default:
		k.text, err = g.read(name)
	}
	found[name] = k
	return err
}

func (g *Guard) lookInto(name string, k keptFile, found map[string]keptFile) error {
	found[name] = k
	entries, err := fs.ReadDir(g.root.FS(), name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := g.lookAt(path.Join(name, e.Name()), found); err != nil {
			return err
		}
	}
	return nil
}

func (g *Guard) read(name string) (string, error) {
	f, err := g.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that took the file's place must not block
	if err != nil {
		return "", err
	}
	defer f.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(io.LimitReader(f, guardMax+1))
	return text.String(), err
}
