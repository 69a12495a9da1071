package sandbox

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// guardMax is the largest file that a Guard keeps the content of; of a larger
// one it keeps the size and a digest.
const guardMax = 1 << 20

// Guard watches over files that commands at level Partial are able to change,
// and must not: those that Unprotected names, git's control files above all. It
// keeps what they were, says what has changed, and puts it back. It works below
// one directory, which commands can't replace, and follows no link out of it.
type Guard struct {
	root  *os.Root
	names []string
	kept  map[string]keptFile
}

// keptFile is what a name stands for; the zero value is nothing.
type keptFile struct {
	mode  fs.FileMode
	text  string // a link's, or a file's that isn't too large
	large string // size and digest of one that is
}

// NewGuard keeps what the names below a directory, and everything in them, are
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
// directory: what no command needs to change that only looks. A name may hold
// wildcards, as for the directories of submodules and linked worktrees.
func GitControls(gitDir string) []string {
	var names []string
	for _, below := range []string{"", "worktrees/*", "modules/*", "modules/*/modules/*"} {
		for _, n := range []string{"HEAD", "config", "config.worktree", "hooks", "info", "objects/info/alternates", "refs/replace", "commondir", "gitdir"} {
			names = append(names, path.Join(gitDir, below, n))
		}
	}
	return names
}

// Close gives up the directory.
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
	now, err := g.look()
	if err != nil {
		return err
	}
	for _, name := range differing(g.kept, now) { // what is new goes first, and a directory before what is in it
		if err := g.clear(name, g.kept[name]); err != nil {
			return err
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

// clear makes room for what a name was. A directory that is one still keeps what is
// in it: most of that nobody has a copy of.
func (g *Guard) clear(name string, was keptFile) error {
	info, err := g.root.Lstat(name)
	if err == nil && info.IsDir() {
		mode := was.mode.Perm()
		if !was.mode.IsDir() {
			mode = 0o700 // so that it can be emptied
		}
		if err := g.root.Chmod(name, mode); err != nil || was.mode.IsDir() {
			return err
		}
	}
	if err := g.root.RemoveAll(name); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
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

// look finds out what everything is now, what leads to it included: a directory
// that is replaced by a link leads elsewhere, and so does a pointer file.
// Everything is read anew each time: times can be set, and where a file system
// is held in memory, they don't even change with what is written by way of a
// mapping.
func (g *Guard) look() (map[string]keptFile, error) {
	found := map[string]keptFile{}
	for _, pattern := range g.names {
		names, err := g.match(pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if err := g.lookTowards(name, found); err != nil {
				return nil, fmt.Errorf("look at %s: %w", name, err)
			}
		}
	}
	return found, nil
}

// match returns the names that a pattern stands for now; the pattern itself if
// it holds no wildcard, whether or not there is such a file.
func (g *Guard) match(pattern string) ([]string, error) {
	if !strings.Contains(pattern, "*") {
		return []string{pattern}, nil
	}
	names, err := fs.Glob(g.root.FS(), pattern)
	if err != nil {
		return nil, fmt.Errorf("look for %s: %w", pattern, err)
	}
	return names, nil
}

// lookTowards looks at a name and at what leads to it.
func (g *Guard) lookTowards(name string, found map[string]keptFile) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, seen := found[dir]; seen {
			break
		}
		info, err := g.root.Lstat(dir)
		switch {
		case err != nil: // what leads there says why
		case info.IsDir():
			found[dir] = keptFile{mode: info.Mode()}
		default:
			if err := g.lookAt(dir, found); err != nil {
				return err
			}
		}
	}
	return g.lookAt(name, found)
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
	case info.Mode().IsRegular():
		k.text, k.large, err = g.read(name, info.Size())
	}
	if err != nil { // it was made unreadable, or was taken away in this moment
		k.large = "unreadable"
	}
	found[name] = k
	return nil
}

func (g *Guard) lookInto(name string, k keptFile, found map[string]keptFile) error {
	found[name] = k
	entries, err := fs.ReadDir(g.root.FS(), name)
	if err != nil { // as with a file
		k.large = "unreadable"
		found[name] = k
		return nil //nolint:nilerr // it differs from what was kept
	}
	for _, e := range entries {
		if err := g.lookAt(path.Join(name, e.Name()), found); err != nil {
			return err
		}
	}
	return nil
}

// read returns a file's content or, of one that is too large to keep, its size
// and digest.
func (g *Guard) read(name string, size int64) (text, large string, err error) {
	f, err := g.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that took the file's place must not block
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	if size <= guardMax {
		var b bytes.Buffer
		_, err = b.ReadFrom(io.LimitReader(f, guardMax+1))
		return b.String(), "", err
	}
	if was := g.kept[name]; g.kept != nil && !strings.HasPrefix(was.large, fmt.Sprint(size, " ")) {
		return "", fmt.Sprint(size, " not looked at"), nil // it differs already, and may be endless
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, size)); err != nil {
		return "", "", err
	}
	return "", fmt.Sprintf("%d %x", size, sum.Sum(nil)), nil
}
