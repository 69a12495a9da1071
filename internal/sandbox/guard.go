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

// guardMax is the maximum size in bytes of a file whose content a Guard saves; of larger
// files it saves the size and a digest.
const guardMax = 1 << 20

// Guard detects and reverts changes of files that commands at level Partial can write
// but must not change, such as git's control files. It saves their state, returns which
// have changed, and restores them. It works below one directory, which commands can't
// replace, and follows no symlink out of it.
type Guard struct {
	root  *os.Root
	names []string
	saved map[string]savedFile
	which map[string]inode // of the saved files and directories
}

// savedFile is the saved state of a name; the zero value is a missing file.
type savedFile struct {
	mode  fs.FileMode
	text  string // the target of a symlink, or the content of a file up to guardMax
	large string // size and digest of a larger file
}

// NewGuard saves the state of the names below a directory, recursively. A missing name
// is saved as missing. The caller closes the guard.
func NewGuard(dir string, names []string) (*Guard, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("guard files in %s: %w", dir, err)
	}
	g := &Guard{root: root, names: names}
	if g.saved, err = g.readAll(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	g.which = map[string]inode{}
	for name := range g.saved {
		if id, ok := g.identify(name); ok {
			g.which[name] = id
		}
	}
	return g, nil
}

// controls are the files and directories in a git directory that determine git's behavior
// and that read-only git commands don't change: settings, programs, objects of other
// repositories, and the commands of a rebase or a sequence in progress.
func controls() []string {
	return []string{
		"HEAD", "config", "config.worktree", "hooks", "info", "objects/info/alternates", "objects/info/http-alternates", "refs/replace",
		"commondir", "gitdir", "sequencer", "rebase-merge", "rebase-apply", "branches", "remotes",
	}
}

// modules is the name of the directory with the git directories of submodules. Their names
// can contain slashes, so it is searched at any depth.
const modules = "modules"

// GitControls returns the names of a git directory's controls, and of those of its linked
// worktrees and submodules. Names may contain wildcards.
func GitControls(gitDir string) []string {
	names := []string{path.Join(gitDir, modules)}
	for _, below := range []string{"", "worktrees/*"} {
		for _, n := range controls() {
			names = append(names, path.Join(gitDir, below, n))
		}
	}
	return names
}

// inModules returns the names of the controls below a directory of submodules: those of
// git directories, and everything else, which git did not make.
func (g *Guard) inModules(dir string) []string {
	if info, err := g.root.Lstat(dir); err != nil || !info.IsDir() {
		return []string{dir}
	}
	var names []string
	entries, err := fs.ReadDir(g.root.FS(), dir)
	if err != nil {
		return []string{path.Join(dir, "HEAD")} // unreadable
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		_, err := g.root.Lstat(path.Join(name, "objects"))
		switch isGitDir := e.IsDir() && err == nil; {
		case isGitDir:
			names = append(names, GitControls(name)...)
		case e.IsDir():
			names = append(names, g.inModules(name)...)
		default:
			names = append(names, name)
		}
	}
	return names
}

// Close closes the directory.
func (g *Guard) Close() error { return g.root.Close() }

// Changed returns the names of changed, new and missing files, sorted.
func (g *Guard) Changed() ([]string, error) {
	now, err := g.readAll()
	if err != nil {
		return nil, err
	}
	return differing(g.saved, now), nil
}

func differing(saved, now map[string]savedFile) []string {
	var out []string
	for name, was := range saved {
		if now[name] != was {
			out = append(out, name)
		}
	}
	for name := range now {
		if _, ok := saved[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Restore reverts all changes. It fails if that is not possible: the content of large
// files was not saved.
func (g *Guard) Restore() error {
	g.moveBack()
	now, err := g.readAll()
	if err != nil {
		return err
	}
	for _, name := range differing(g.saved, now) { // remove new files first, directories before their content
		if err := g.removeNew(name, g.saved[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.saved)) {
		if err := g.restoreFile(name, g.saved[name]); err != nil {
			return fmt.Errorf("restore %s: %w", name, err)
		}
	}
	left, err := g.Changed()
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("restore files: still different: %s", strings.Join(left, ", "))
	}
	return err
}

// moveBack gives files and directories that were moved to other places below the directory their
// names again: what was not saved, such as objects, is in them, and they would be left beside what is
// restored. What can't be found or moved is restored from what was saved.
func (g *Guard) moveBack() {
	missing := map[inode]string{}
	for name, was := range g.which {
		if now, ok := g.identify(name); !ok || now != was {
			missing[was] = name
		}
	}
	if len(missing) == 0 {
		return
	}
	moved := map[string]string{} // where they are now
	_ = fs.WalkDir(g.root.FS(), ".", func(at string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what can't be read is not searched
		}
		if id, ok := g.identify(at); ok && missing[id] != "" {
			moved[missing[id]] = at
		}
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(moved)) { // a directory before its content, which then is in place
		if now, ok := g.identify(name); ok && now == g.which[name] || strings.HasPrefix(name, moved[name]+"/") {
			continue
		}
		if g.root.RemoveAll(name) == nil && g.root.MkdirAll(path.Dir(name), 0o755) == nil {
			_ = g.root.Rename(moved[name], name)
		}
	}
}

// identify returns which file or directory a name is; false for others.
func (g *Guard) identify(name string) (inode, bool) {
	info, err := g.root.Lstat(name)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return inode{}, false
	}
	f, err := g.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return inode{}, false
	}
	defer f.Close()
	return inodeOf(f)
}

// removeNew removes a name so that it can be restored. A directory that still is one keeps
// its content, most of which was not saved.
func (g *Guard) removeNew(name string, was savedFile) error {
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

// restoreFile restores a name if it is missing.
func (g *Guard) restoreFile(name string, was savedFile) error {
	if _, err := g.root.Lstat(name); err == nil || was.mode == 0 && was.text == "" {
		return nil
	}
	if err := g.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
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

// readAll returns the current state of all names, including their parents: a directory can
// be replaced by a symlink or a pointer file. It reads all contents each time, because
// modification times can be set, and do not change with writes through a mapping on
// in-memory file systems.
func (g *Guard) readAll() (map[string]savedFile, error) {
	found := map[string]savedFile{}
	for _, pattern := range g.names {
		names, err := g.match(pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if err := g.readParents(name, found); err != nil {
				return nil, fmt.Errorf("look at %s: %w", name, err)
			}
		}
	}
	return found, nil
}

// match returns the names that a pattern matches now. A pattern without a wildcard
// matches itself, even if the file does not exist.
func (g *Guard) match(pattern string) ([]string, error) {
	if path.Base(pattern) == modules {
		var all []string
		for _, name := range g.inModules(pattern) {
			if name == pattern {
				all = append(all, name)
				continue
			}
			below, err := g.match(name)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
		return all, nil
	}
	if !strings.Contains(pattern, "*") {
		return []string{pattern}, nil
	}
	names, err := fs.Glob(g.root.FS(), pattern)
	if err != nil {
		return nil, fmt.Errorf("look for %s: %w", pattern, err)
	}
	return names, nil
}

// readParents adds the state of a name and of its parents.
func (g *Guard) readParents(name string, found map[string]savedFile) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, seen := found[dir]; seen {
			break
		}
		info, err := g.root.Lstat(dir)
		switch {
		case err != nil: // one of its parents has changed
		case info.IsDir():
			if inGitDir(dir) { // commands may change and remove others
				found[dir] = savedFile{mode: info.Mode()}
			}
		default:
			if err := g.readPath(dir, found); err != nil {
				return err
			}
		}
	}
	return g.readPath(name, found)
}

// inGitDir reports whether a path is a .git or below one.
func inGitDir(name string) bool { return slices.Contains(strings.Split(name, "/"), ".git") }

func (g *Guard) readPath(name string, found map[string]savedFile) error {
	info, err := g.root.Lstat(name)
	if err != nil { // missing, or a parent has changed
		found[name] = savedFile{}
		return nil //nolint:nilerr // recorded as missing
	}
	k := savedFile{mode: info.Mode()}
	switch {
	case info.IsDir():
		return g.readContent(name, k, found)
	case info.Mode()&fs.ModeSymlink != 0:
		k.text, err = g.root.Readlink(name)
	case info.Mode().IsRegular():
		k.text, k.large, err = g.read(name, info.Size())
	}
	if err != nil { // unreadable, or removed since Lstat
		k.large = "unreadable"
	}
	found[name] = k
	return nil
}

func (g *Guard) readContent(name string, k savedFile, found map[string]savedFile) error {
	found[name] = k
	entries, err := fs.ReadDir(g.root.FS(), name)
	if err != nil { // as with a file
		k.large = "unreadable"
		found[name] = k
		return nil //nolint:nilerr // recorded as different
	}
	for _, e := range entries {
		if err := g.readPath(path.Join(name, e.Name()), found); err != nil {
			return err
		}
	}
	return nil
}

// read returns the content of a file, or the size and digest of a file larger than
// guardMax.
func (g *Guard) read(name string, size int64) (text, large string, err error) {
	f, err := g.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that replaced the file must not block
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	if size <= guardMax {
		var b bytes.Buffer
		_, err = b.ReadFrom(io.LimitReader(f, guardMax+1))
		return b.String(), "", err
	}
	if was := g.saved[name]; g.saved != nil && !strings.HasPrefix(was.large, fmt.Sprint(size, " ")) {
		return "", fmt.Sprint(size, " not looked at"), nil // the size differs already, and the file may be endless
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, size)); err != nil {
		return "", "", err
	}
	return "", fmt.Sprintf("%d %x", size, sum.Sum(nil)), nil
}
