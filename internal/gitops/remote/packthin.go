package remote

import (
	"context"
	"crypto/sha1" // git's checksums
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// errThin is the error of a pack with deltas whose bases are neither in it nor in the repository.
var errThin = errors.New("bases of deltas not found")

// completePack appends to a pack the bases of deltas that it lacks, because a stored pack can't refer to
// objects of another one, and returns its new checksum.
func completePack(ctx context.Context, f *os.File, store *objectdb.Objects) (sum []byte, err error) {
	bases, objects, err := missingBases(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, base := range bases {
		if _, err := store.Read(plumbing.AnyObject, base); err != nil {
			return nil, fmt.Errorf("%w: %w", errThin, err)
		}
	}
	head := binary.BigEndian.AppendUint32(nil, objects+uint32(len(bases))) //nolint:gosec // each object has at most one
	_, err = f.WriteAt(head, packHeader-int64(len(head)))
	if err == nil {
		err = appendObjects(ctx, f, store, bases)
	}
	var end int64
	if err == nil {
		end, err = f.Seek(-sha1.Size, io.SeekEnd)
	}
	hash := sha1.New()
	if err == nil {
		_, err = io.Copy(hash, io.NewSectionReader(f, 0, end))
	}
	sum = hash.Sum(nil)
	if err == nil {
		_, err = f.WriteAt(sum, end)
	}
	if err != nil {
		return nil, &storeError{err}
	}
	return sum, nil
}

// appendObjects replaces the checksum of a pack with objects and another one. They are written as a pack, whose
// header is then overwritten with the bytes that it replaced.
func appendObjects(ctx context.Context, f *os.File, store *objectdb.Objects, objects []plumbing.Hash) error {
	at, err := f.Seek(-sha1.Size-packHeader, io.SeekEnd)
	if err != nil {
		return err
	}
	var last [packHeader]byte
	if _, err := f.ReadAt(last[:], at); err != nil {
		return err
	}
	if err := writePack(ctx, f, store, objects); err != nil {
		return err
	}
	_, err = f.WriteAt(last[:], at)
	return err
}

// missingBases returns the bases that are named by deltas of a pack and are not among its objects, and the
// number of its objects. A base that is itself a delta in the pack can't be told from a missing one without
// its content; servers name such a base by its offset.
func missingBases(ctx context.Context, f *os.File) (bases []plumbing.Hash, objects uint32, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, 0, &storeError{err}
	}
	scanner := packfile.NewScanner(&stoppable{ctx, f})
	if _, objects, err = scanner.Header(); err != nil {
		return nil, 0, fmt.Errorf("read pack: %w", err)
	}
	known := map[plumbing.Hash]bool{}
	var named []plumbing.Hash
	for range objects {
		head, err := scanner.NextObjectHeader()
		if err != nil {
			return nil, 0, fmt.Errorf("read pack: %w", err)
		}
		content := plumbing.NewHasher(head.Type, head.Length)
		if _, _, err := scanner.NextObject(content); err != nil {
			return nil, 0, fmt.Errorf("read pack: %w", err)
		}
		switch {
		case head.Type == plumbing.REFDeltaObject:
			named = append(named, head.Reference)
		case !head.Type.IsDelta():
			known[content.Sum()] = true
		}
	}
	for _, base := range named {
		if !known[base] {
			known[base] = true
			bases = append(bases, base)
		}
	}
	return bases, objects, nil
}
