package objectdb

import (
	"errors"
	"os"
	"path/filepath"
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
)

// ours follows the kind in the names of files that millhand makes.
const ours = "millhand_"

// CreateTemp creates a temporary file of a kind in a directory of objects, and locks it until it
// is closed: rename it before that. What a killed process leaves is thus known by its missing
// lock, and [RemoveStale] removes it.
func CreateTemp(dir, kind string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(dir, kind+ours)
		if err != nil {
			return nil, err
		}
		owner.Inherit(f)
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

// RemoveStale removes the temporary files that killed processes left in a directory of objects,
// and in its directory of packs. It returns their number.
func RemoveStale(objects string) (removed int) {
	for _, dir := range []string{objects, filepath.Join(objects, "pack")} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if !e.Type().IsRegular() || !isTemp(e.Name()) {
				continue
			}
			if removeStale(filepath.Join(dir, e.Name())) {
				removed++
			}
		}
	}
	return removed
}

func isTemp(name string) bool {
	for _, kind := range []string{TempObject, TempPack, TempIndex} {
		if strings.HasPrefix(name, kind+ours) {
			return true
		}
	}
	return false
}

func removeStale(name string) bool {
	f, err := os.OpenFile(name, sharedfile.OpenFlags, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return filelock.Try(f, filelock.Exclusive) == nil && os.Remove(name) == nil
}
