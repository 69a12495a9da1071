package remote

import (
	"bytes"
	"context"
	"crypto/sha1" // git's checksums
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// storeError is a local failure while receiving objects.
type storeError struct{ err error }

func (e *storeError) Error() string { return "store objects: " + e.err.Error() }

func (e *storeError) Unwrap() error { return e.err }

// storePack adds a pack to the objects of a repository, with an index. Each object's id is made from
// its content. The bases that a thin pack lacks are added to it. It is durable when storePack returns;
// until then nothing of it can be seen.
func storePack(ctx context.Context, into *objectdb.Objects, pack io.Reader) error {
	dir := filepath.Join(into.Dir, "pack")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return &storeError{err}
	}
	f, err := objectdb.CreateTemp(dir, objectdb.TempPack)
	if err != nil {
		return &storeError{err}
	}
	defer os.Remove(f.Name()) // already renamed on success
	defer f.Close()
	sum, objects, err := spool(f, pack)
	if err != nil || objects == 0 {
		return err
	}
	idx, err := indexPack(ctx, f)
	if errors.Is(err, errThin) {
		if sum, err = completePack(ctx, f, into); err == nil {
			idx, err = indexPack(ctx, f)
		}
	}
	if err != nil {
		return err
	}
	if err := objectdb.InstallPack(dir, f, idx, fmt.Sprintf("pack-%x", sum)); err != nil {
		return &storeError{err}
	}
	return nil
}

// packHeader is the size of a pack's header, with its number of objects.
const packHeader = 12

// smallestObject is a lower bound of the size of an object in a pack.
const smallestObject = 8

// spool writes a pack to a file and verifies its trailing checksum.
func spool(f *os.File, pack io.Reader) (sum []byte, objects uint32, err error) {
	from := &readError{r: pack}
	size, err := io.Copy(f, from)
	switch {
	case from.err != nil:
		return nil, 0, from.err
	case err != nil:
		return nil, 0, &storeError{err}
	case size < packHeader+sha1.Size:
		return nil, 0, fmt.Errorf("pack has %d bytes: %w", size, io.ErrUnexpectedEOF)
	}
	sum, stored, err := checksums(f, size)
	if err != nil {
		return nil, 0, &storeError{err}
	}
	if !bytes.Equal(sum, stored) {
		return nil, 0, errors.New("pack checksum mismatch")
	}
	var head [packHeader]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil, 0, &storeError{err}
	}
	objects = binary.BigEndian.Uint32(head[8:])
	if int64(objects) > size/smallestObject { // memory for this many is allocated together
		return nil, 0, fmt.Errorf("invalid pack: %d bytes can't contain %d objects", size, objects)
	}
	return sum, objects, nil
}

// checksums returns the checksum of all that is before the one at a file's end, and
// that one.
func checksums(f io.ReaderAt, size int64) (sum, stored []byte, err error) {
	hash := sha1.New()
	if _, err := io.Copy(hash, io.NewSectionReader(f, 0, size-sha1.Size)); err != nil {
		return nil, nil, err
	}
	stored = make([]byte, sha1.Size)
	if _, err := f.ReadAt(stored, size-sha1.Size); err != nil {
		return nil, nil, err
	}
	return hash.Sum(nil), stored, nil
}

// readError records read errors, to distinguish them from write errors.
type readError struct {
	r   io.Reader
	err error
}

func (r *readError) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// indexPack reads all objects of a pack.
func indexPack(ctx context.Context, f *os.File) (*idxfile.MemoryIndex, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, &storeError{err}
	}
	entries := &idxfile.Writer{}
	parser, err := packfile.NewParser(packfile.NewScanner(&stoppable{ctx, f}), entries)
	if err != nil {
		return nil, err
	}
	_, err = parser.Parse()
	switch {
	case errors.Is(err, packfile.ErrReferenceDeltaNotFound):
		return nil, errThin
	case err != nil:
		return nil, fmt.Errorf("read pack: %w", err)
	}
	return entries.Index()
}

// stoppable is a file whose reading ends with a context.
type stoppable struct {
	ctx context.Context //nolint:containedctx // it is used up by one call
	*os.File
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.File.Read(p)
}
