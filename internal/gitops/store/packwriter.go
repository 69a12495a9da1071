package store

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" // git's checksums
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// packWriter writes objects into one pack, without deltas. It is much faster than a file
// for each object, as each would have to be synced. Nothing of it can be seen before
// finish.
type packWriter struct {
	file        *os.File
	compressors *sync.Pool // of *compressor

	mu     sync.Mutex
	size   int64
	stored map[plumbing.Hash]bool
	index  *idxfile.Writer
	keep   string // file that protects the pack from git repack; "" before finish
}

func newPackWriter(objects string, shared *Packing) (*packWriter, error) {
	dir := filepath.Join(objects, "pack")
	if err := owner.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	f, err := objectdb.CreateTemp(dir, objectdb.TempPack)
	if err != nil {
		return nil, err
	}
	shared.releaseStale(dir, f)
	w := &packWriter{file: f, compressors: &shared.compressors, stored: map[plumbing.Hash]bool{}, index: &idxfile.Writer{}}
	n, err := f.Write(packHeader(0)) // without the number of objects
	if w.size = int64(n); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// keepText is the content of the .keep files that packWriter creates.
const keepText = "millhand\n"

// staleKeep is the age of a .keep file after which it is assumed to be left by a killed run.
const staleKeep = time.Hour

// Packing is what a repository and its worktrees share for the packs that they write.
type Packing struct {
	compressors sync.Pool // of *compressor. Each has tables of 800 KB, far more than most jobs change.
	mu          sync.Mutex
	released    map[string]bool // see releaseStale
}

// NewPacking returns what the packs of a repository share.
func NewPacking() *Packing {
	return &Packing{
		compressors: sync.Pool{New: func() any { return &compressor{z: zlib.NewWriter(nil)} }},
		released:    map[string]bool{},
	}
}

// releaseStale removes the .keep files that killed runs left in a directory of packs: once, because each commit adds
// a pack to the directory. created is a file there that has just been created, whose time is that of the file system's clock.
func (p *Packing) releaseStale(dir string, created *os.File) {
	p.mu.Lock()
	released := p.released[dir]
	p.released[dir] = true
	p.mu.Unlock()
	if released {
		return
	}
	now, err := created.Stat()
	if err != nil {
		return
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*.keep"))
	for _, name := range found {
		info, err := os.Lstat(name)
		if err != nil || now.ModTime().Sub(info.ModTime()) < staleKeep {
			continue
		}
		if text, err := os.ReadFile(name); err == nil && string(text) == keepText {
			_ = os.Remove(name)
		}
	}
}

func packHeader(objects int) []byte {
	return binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(objects)) //nolint:gosec // one for each changed path
}

// compressor compresses one object at a time into memory.
type compressor struct {
	bytes.Buffer
	z *zlib.Writer
}

// add writes an object of a known size.
func (w *packWriter) add(t plumbing.ObjectType, size int64, content io.Reader) (plumbing.Hash, error) {
	c, _ := w.compressors.Get().(*compressor)
	defer w.compressors.Put(c)
	c.Reset()
	c.Write(entryHead(t, size))
	c.z.Reset(&c.Buffer)
	id := plumbing.NewHasher(t, size)
	n, err := io.Copy(io.MultiWriter(c.z, id), content)
	if err == nil && n != size {
		err = fmt.Errorf("%d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	}
	if err := errors.Join(err, c.z.Close()); err != nil {
		return plumbing.ZeroHash, err
	}
	object := id.Sum()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stored[object] {
		return object, nil
	}
	w.stored[object] = true
	w.index.Add(object, uint64(w.size), crc32.ChecksumIEEE(c.Bytes())) //nolint:gosec // a size
	written, err := w.file.Write(c.Bytes())
	w.size += int64(written)
	return object, err
}

// entryHead returns the type and size that an object in a pack starts with.
func entryHead(t plumbing.ObjectType, size int64) []byte {
	head := []byte{byte(t)<<4 | byte(size&0xf)}
	for size >>= 4; size > 0; size >>= 7 {
		head[len(head)-1] |= 0x80
		head = append(head, byte(size&0x7f))
	}
	return head
}

// finish completes the pack and makes it durable. It is not removed by a git repack that
// runs at the same time, before close is called.
func (w *packWriter) finish(ctx context.Context) error {
	if len(w.stored) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	if _, err := w.file.WriteAt(packHeader(len(w.stored)), 0); err != nil {
		return err
	}
	sum := sha1.New()
	if _, err := io.Copy(sum, io.NewSectionReader(w.file, 0, w.size)); err != nil {
		return err
	}
	checksum := plumbing.Hash(sum.Sum(nil))
	if _, err := w.file.Write(checksum[:]); err != nil {
		return err
	}
	if err := w.index.OnFooter(checksum); err != nil {
		return err
	}
	index, err := w.index.Index()
	if err != nil {
		return err
	}
	dir, name := filepath.Dir(w.file.Name()), "pack-"+checksum.String()
	w.keep = filepath.Join(dir, name+".keep")
	if err := owner.WriteFile(w.keep, []byte(keepText), 0o666); err != nil {
		return err
	}
	return objectdb.InstallPack(dir, w.file, index, name)
}

// close releases the pack, and removes what is left if it is not complete.
func (w *packWriter) close() {
	_ = w.file.Close()
	_ = os.Remove(w.file.Name()) // renamed if it is complete
	if w.keep != "" {
		_ = os.Remove(w.keep)
	}
}
