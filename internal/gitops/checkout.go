package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/gitops/store"
	"github.com/millhand/millhand/internal/proc/parallel"
)

// checkout is a checkout of a commit in a directory without files. The files have the contents that
// are stored. They are copied from a work tree where that has the same files, because reading
// objects is several times slower: a copy counts only if it has the hash of the object, whatever the index
// or another process did.
type checkout struct {
	to, from *state.Reader
	commit   *state.Snapshot
	dirs     []*newDir // parents first, starting with the root
	byPath   map[string]*newDir
	stored   int  // number of files that can't be copied
	large    bool // a file is larger than largestCopy

	time    time.Time // of the new files
	buffers sync.Pool
}

// newDir is a directory of a checkout with its own files.
type newDir struct {
	path  string // "" for the root
	files []newFile
}

// newFile is a file of a checkout.
type newFile struct {
	store.Placed
	size int64 // of the copy in the work tree, in bytes, as the index has it; -1 without one
}

// checkoutOf returns a checkout of a commit of a repository. Files are copied from the work tree of
// another one, which can be the same.
func checkoutOf(to, from *state.Reader, commit string) (c *checkout, err error) {
	c = &checkout{to: to, from: from, byPath: map[string]*newDir{}}
	c.buffers.New = func() any { return new([64 << 10]byte) }
	if c.commit, err = to.SnapshotOf(commit); err != nil {
		return nil, err
	}
	idx := &gitdir.Index{}
	if !from.Git.Bare() {
		if own, err := from.Git.Index(); err == nil { // without it, objects are read
			idx = own
		}
	}
	files, copies := c.commit.ByPath(), make(map[string]bool, len(idx.Entries))
	for i := range idx.Entries {
		e := &idx.Entries[i]
		if files[e.Path] != state.EntryState(e) || !content.IsPlain(e.Mode) || e.Stage() != 0 || e.SkipWorktree() || copies[e.Path] {
			continue
		}
		copies[e.Path] = true
		if err := c.add(store.Placed{Path: e.Path, State: state.EntryState(e)}, e.Stat.Size()); err != nil {
			return nil, err
		}
	}
	for path, at := range files {
		if copies[path] {
			continue
		}
		if err := c.add(store.Placed{Path: path, State: at}, -1); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *checkout) add(p store.Placed, size int64) error {
	parent, name := content.CutPath(p.Path)
	dir, err := c.dir(parent)
	if err != nil {
		return err
	}
	if size < 0 && p.Mode != filemode.Submodule {
		c.stored++
	}
	c.large = c.large || size > largestCopy
	dir.files = append(dir.files, newFile{p, size})
	return checkName(p.Path, name)
}

// dir returns a directory of the checkout.
func (c *checkout) dir(path string) (*newDir, error) {
	if d := c.byPath[path]; d != nil {
		return d, nil
	}
	d := &newDir{path: path}
	c.byPath[path] = d
	if path != "" {
		parent, name := content.CutPath(path)
		if err := checkName(path, name); err != nil {
			return nil, err
		}
		if _, err := c.dir(parent); err != nil {
			return nil, err
		}
	}
	c.dirs = append(c.dirs, d)
	return d, nil
}

// checkName rejects a path whose last name would escape the directory.
func checkName(path, name string) error {
	if name == "" || name == "." || name == ".." || content.Reserved(name) {
		return &gitdir.UnsupportedError{Reason: "the commit contains a path that git rejects", Paths: []string{path}}
	}
	return nil
}

// write writes the files to a directory, and the matching index to a git directory, which have none.
func (c *checkout) write(ctx context.Context, dir, gitDir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	now, err := root.Stat(".") // its .git was created just before
	if err != nil {
		return err
	}
	// Git, which compares seconds only, trusts files that are older than the index: otherwise it would read
	// all of them again at the first git status.
	c.time = now.ModTime().Truncate(time.Second).Add(-time.Second)
	for _, d := range c.dirs {
		if d.path == "" {
			continue
		}
		if err := root.Mkdir(filepath.FromSlash(d.path), 0o777); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	var entries []gitdir.IndexEntry
	err = parallel.Each(ctx, c.dirs, func(d *newDir) error {
		some, err := c.fill(ctx, root, d)
		mu.Lock()
		defer mu.Unlock()
		entries = append(entries, some...)
		return err
	})
	if err != nil {
		return err
	}
	index := filepath.Join(gitDir, "index")
	if err := os.WriteFile(index+".lock", gitdir.NewIndex(entries).Encode(), 0o666); err != nil {
		return err
	}
	return os.Rename(index+".lock", index)
}

// fill writes the files of a directory and returns their entries of the index.
func (c *checkout) fill(ctx context.Context, root *os.Root, d *newDir) ([]gitdir.IndexEntry, error) {
	to, err := root.Open(filepath.FromSlash(cmp.Or(d.path, ".")))
	if err != nil {
		return nil, err
	}
	defer to.Close()
	var from *os.File
	if slices.ContainsFunc(d.files, func(f newFile) bool { return f.size >= 0 }) {
		if from, err = sharedfile.OpenDirectory(filepath.Join(c.from.Git.Root, filepath.FromSlash(d.path))); err == nil { // without it, objects are read
			defer from.Close()
		}
	}
	buf := c.buffers.Get().(*[64 << 10]byte) //nolint:forcetypeassert // nothing else is in the pool
	defer c.buffers.Put(buf)
	entries := make([]gitdir.IndexEntry, 0, len(d.files))
	for _, f := range d.files {
		st, err := c.writeFile(to, from, f, buf[:])
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, fmt.Errorf("check out %s: %w", f.Path, err)
		}
		entries = append(entries, gitdir.IndexEntry{Path: f.Path, Mode: f.Mode, Hash: f.Hash, Stat: st})
	}
	return entries, nil
}

// writeFile writes a file of an open directory. from is the same directory of the work tree, or nil.
func (c *checkout) writeFile(to, from *os.File, f newFile, buf []byte) (gitdir.Stat, error) {
	_, name := content.CutPath(f.Path)
	if f.Mode == filemode.Submodule {
		return gitdir.Stat{}, sharedfile.MkdirIn(to, name)
	}
	data, ok := copyOf(from, name, f, buf)
	var err error
	if !ok {
		data, err = c.to.Git.Objects.Blob(f.Hash)
	}
	switch {
	case err != nil:
	case f.Mode == filemode.Symlink && c.to.Git.Settings.Symlinks:
		err = sharedfile.SymlinkIn(to, string(data), name)
	case f.Mode == filemode.Executable:
		err = sharedfile.WriteIn(to, name, data, 0o777)
	default:
		err = sharedfile.WriteIn(to, name, data, 0o666)
	}
	if err == nil {
		err = sharedfile.SetTimeIn(to, name, c.time)
	}
	if err != nil {
		return gitdir.Stat{}, err
	}
	info, err := gitdir.LstatIn(to, name)
	return info.Stat, err
}

// copyOf returns the content of a file from an open directory of the work tree; false if that is another one
// or can't be read. The content may be in buf.
func copyOf(from *os.File, name string, f newFile, buf []byte) (data []byte, ok bool) {
	if from == nil || f.size < 0 {
		return nil, false
	}
	if f.size > int64(len(buf)) {
		buf = make([]byte, f.size)
	}
	if f.size > 0 { // git writes 0 if it does not trust the other times
		buf = buf[:f.size]
	}
	n, err := sharedfile.ReadIn(from, name, buf)
	if err != nil {
		return nil, false
	}
	return buf[:n], plumbing.ComputeHash(plumbing.BlobObject, buf[:n]) == f.Hash
}
