package objectdb

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/filelock"
	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/sharedfile"
)

// The kinds of temporary files, by the start of their names. git gc knows these names, too.
const (
	TempObject = "tmp_obj_"
	TempPack   = "tmp_pack_"
	TempIndex  = "tmp_idx_"
	TempTree   = "tmp_worktree_" // a directory: what is known of a worktree, before it is complete or while it is removed
)

// ours follows the kind in the names of what millhand makes.
const ours = "millhand_"

// CreateTemp creates a temporary file of a kind in a directory of objects, and locks it until it
// is closed: rename it before that. What a killed process leaves is thus known by its missing
// lock, and [RemoveStale] removes it.
func CreateTemp(dir, kind string) (*os.File, error) {
	return locked(func() (*os.File, error) {
		f, err := os.CreateTemp(dir, kind+ours)
		if err == nil {
			owner.Inherit(f)
		}
		return f, err
	})
}

// MkdirTemp is like [CreateTemp] for a directory of the kind [TempTree].
func MkdirTemp(dir string) (*os.File, error) {
	return locked(func() (*os.File, error) {
		name, err := os.MkdirTemp(dir, TempTree+ours)
		if err != nil {
			return nil, err
		}
		f, err := os.Open(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process removed it before it was opened
			return nil, errRemoved
		case err != nil:
			return nil, errors.Join(err, os.Remove(name))
		}
		return f, nil
	})
}

// TempTreeName returns a name for a directory of the kind [TempTree] that nobody works with.
func TempTreeName(dir string) string { return filepath.Join(dir, TempTree+ours+rand.Text()) }

// errRemoved is the error of a file that another process has removed since it was made.
var errRemoved = errors.New("removed")

// locked makes a file that is locked.
func locked(create func() (*os.File, error)) (*os.File, error) {
	for {
		f, err := create()
		switch {
		case errors.Is(err, errRemoved):
			continue
		case err != nil:
			return nil, err
		}
		switch err := filelock.Try(f, filelock.Exclusive); {
		case err == nil && exists(f), err != nil && !errors.Is(err, filelock.ErrHeld): // without locks nothing is removed
			return f, nil
		}
		_ = f.Close() // another process found it before it was locked
	}
}

func exists(f *os.File) bool {
	now, err := os.Lstat(f.Name())
	if err != nil {
		return false
	}
	made, err := f.Stat()
	return err == nil && os.SameFile(now, made)
}

// RemoveStale removes the temporary files and directories that killed processes left in a directory of
// objects, and in its directory of packs. It returns their number.
func RemoveStale(objects string) (removed int) {
	for _, dir := range []string{objects, filepath.Join(objects, "pack")} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if isTemp(e) && removeStale(filepath.Join(dir, e.Name())) {
				removed++
			}
		}
	}
	return removed
}

func isTemp(e fs.DirEntry) bool {
	kinds := []string{TempObject, TempPack, TempIndex}
	if e.IsDir() {
		kinds = []string{TempTree}
	}
	is := func(kind string) bool { return strings.HasPrefix(e.Name(), kind+ours) }
	return (e.IsDir() || e.Type().IsRegular()) && slices.ContainsFunc(kinds, is)
}

func removeStale(name string) bool {
	f, err := os.OpenFile(name, sharedfile.OpenFlags, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return filelock.Try(f, filelock.Exclusive) == nil && os.RemoveAll(name) == nil
}
