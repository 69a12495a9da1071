package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// maxDepth is the maximum depth of a saved directory, far above that of any file system.
const maxDepth = 4096

// CopyStates copies the objects of saved states from one directory of [Checkpoints] to
// another. Objects that are missing there are in the repository, or are missing: Restore
// reports that.
func CopyStates(from, to string, trees []string) error {
	c := stateCopy{from: from, to: to, seen: map[plumbing.Hash]bool{}}
	for _, tree := range trees {
		if !plumbing.IsHash(tree) {
			return fmt.Errorf("copy a saved state: %q is not the hash of a tree", tree)
		}
		if err := c.tree(plumbing.NewHash(tree), 0); err != nil {
			return fmt.Errorf("copy the saved state %.10s: %w", tree, err)
		}
	}
	return nil
}

type stateCopy struct {
	from, to string
	seen     map[plumbing.Hash]bool
}

// tree copies a tree with everything in it.
func (c stateCopy) tree(hash plumbing.Hash, depth int) error {
	if c.seen[hash] {
		return nil
	}
	c.seen[hash] = true
	if depth > maxDepth {
		return errors.New("directories are nested too deeply")
	}
	if found, err := c.file(hash); err != nil || !found {
		return err
	}
	entries, err := c.entries(hash)
	if err != nil {
		return fmt.Errorf("tree %s: %w", hash, err)
	}
	for _, e := range entries {
		if e.Mode == filemode.Dir {
			err = c.tree(e.Hash, depth+1)
		} else if e.Mode != filemode.Submodule {
			_, err = c.file(e.Hash)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// name returns the path of a loose object in a directory.
func (c stateCopy) name(dir string, hash plumbing.Hash) string {
	id := hash.String()
	return filepath.Join(dir, id[:2], id[2:])
}

// file copies one object, if it is there.
func (c stateCopy) file(hash plumbing.Hash) (found bool, err error) {
	in, err := os.Open(c.name(c.from, hash))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer in.Close()
	dst := c.name(c.to, hash)
	if err := owner.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return false, err
	}
	out, err := objectdb.CreateTemp(c.to, objectdb.TempObject)
	if err != nil {
		return false, err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(0o444)); err == nil {
		err = os.Rename(out.Name(), dst)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(out.Name())
	}
	return err == nil, err
}

// entries reads a tree.
func (c stateCopy) entries(hash plumbing.Hash) ([]object.TreeEntry, error) {
	f, err := os.Open(c.name(c.from, hash))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rd, err := objfile.NewReader(f)
	if err != nil {
		return nil, err
	}
	defer rd.Close() //nolint:errcheck // it was only read
	kind, size, err := rd.Header()
	if err == nil && kind != plumbing.TreeObject {
		err = fmt.Errorf("it is a %s", kind)
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(rd, size))
	if err != nil {
		return nil, err
	}
	encoded := &plumbing.MemoryObject{}
	encoded.SetType(plumbing.TreeObject)
	if _, err := encoded.Write(data); err != nil {
		return nil, err
	}
	var t object.Tree
	if err := t.Decode(encoded); err != nil {
		return nil, err
	}
	return t.Entries, nil
}
