package remote

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"

	"github.com/millhand/millhand/internal/files/sharedfile"
)

// clearDamage removes untrusted parts of a mirror: the remote's references, and
// packs and objects with wrong checksums. The branches, objects and worktrees
// of jobs are preserved.
func clearDamage(dir string) error {
	for _, name := range []string{"packed-refs", "shallow"} {
		if err := sharedfile.IgnoreMissing(os.Remove(filepath.Join(dir, name))); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "objects"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		directory := filepath.Join(dir, "objects", e.Name())
		switch {
		case !e.IsDir():
			err = os.Remove(directory)
		case e.Name() == "pack":
			err = clearPacks(directory)
		default:
			err = clearLoose(directory, e.Name())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clearPacks removes packs with a wrong checksum, and rebuilds invalid indexes.
func clearPacks(dir string) error {
	packs, err := filepath.Glob(filepath.Join(dir, "*.pack"))
	if err != nil {
		return err
	}
	for _, pack := range packs {
		base := strings.TrimSuffix(pack, ".pack")
		if packIsComplete(pack) && indexIsComplete(base+".idx") {
			continue
		}
		for _, name := range []string{".idx", ".pack", ".rev", ".bitmap", ".mtimes", ".keep"} {
			if err := sharedfile.IgnoreMissing(os.Remove(base + name)); err != nil {
				return err
			}
		}
	}
	indexes, err := filepath.Glob(filepath.Join(dir, "*.idx"))
	for _, name := range indexes {
		if _, missing := os.Lstat(strings.TrimSuffix(name, ".idx") + ".pack"); missing != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}

// packIsComplete reports whether a pack matches its trailing checksum.
func packIsComplete(name string) bool { return endsWithChecksum(name, packHeader) }

// indexIsComplete reports whether an index matches its trailing checksum.
func indexIsComplete(name string) bool { return endsWithChecksum(name, 2*len(plumbing.ZeroHash)) }

func endsWithChecksum(name string, least int) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < int64(least+len(plumbing.ZeroHash)) {
		return false
	}
	sum, stored, err := checksums(f, info.Size())
	return err == nil && bytes.Equal(sum, stored)
}

// clearLoose removes loose objects whose content does not match their ids.
func clearLoose(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if _, err := hex.DecodeString(prefix + e.Name()); err == nil && looseHash(name) == plumbing.NewHash(prefix+e.Name()) {
			continue
		}
		if err := sharedfile.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}

// looseHash returns the id of an object file's content; zero if it can't be
// read.
func looseHash(name string) plumbing.Hash {
	f, err := os.Open(name)
	if err != nil {
		return plumbing.ZeroHash
	}
	defer f.Close()
	rd, err := objfile.NewReader(f)
	if err != nil {
		return plumbing.ZeroHash
	}
	defer func() { _ = rd.Close() }() // opened for reading
	if _, _, err := rd.Header(); err != nil {
		return plumbing.ZeroHash
	}
	if _, err := io.Copy(io.Discard, rd); err != nil {
		return plumbing.ZeroHash
	}
	return rd.Hash()
}
