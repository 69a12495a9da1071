package remote

import (
	"bufio"
	"compress/zlib"
	"context"
	"crypto/sha1" // git's checksums
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// writePack writes objects as a pack (gitformat-pack(5)) without deltas: a
// job's changes are small, and computing deltas costs more than it saves.
func writePack(ctx context.Context, to io.Writer, store *objectdb.Objects, objects []plumbing.Hash) error {
	sum := sha1.New()
	buffered := bufio.NewWriterSize(to, 64<<10)
	out := io.MultiWriter(buffered, sum)
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects))) // memory ends before
	if _, err := out.Write(head); err != nil {
		return err
	}
	z := zlib.NewWriter(out)
	for _, hash := range objects {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := packObject(out, z, store, hash); err != nil {
			return fmt.Errorf("pack object %s: %w", hash, err)
		}
	}
	if _, err := buffered.Write(sum.Sum(nil)); err != nil {
		return err
	}
	return buffered.Flush()
}

func packObject(out io.Writer, z *zlib.Writer, store *objectdb.Objects, hash plumbing.Hash) error {
	o, err := store.Read(plumbing.AnyObject, hash)
	if err != nil {
		return err
	}
	rd, err := o.Reader()
	if err != nil {
		return err
	}
	defer rd.Close()
	if _, err := out.Write(objectHead(o.Type(), o.Size())); err != nil {
		return err
	}
	z.Reset(out)
	n, err := io.Copy(z, rd)
	if err == nil && n != o.Size() {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	return z.Close()
}

// objectHead is an object's type and size: four bits of the size beside the
// type, then seven to the byte, while the highest bit means that more follow.
func objectHead(t plumbing.ObjectType, size int64) []byte {
	c := byte(t)<<4 | byte(size&0x0f)
	head := []byte{}
	for size >>= 4; size > 0; size >>= 7 {
		head = append(head, c|0x80)
		c = byte(size & 0x7f)
	}
	return append(head, c)
}

// spoolPack writes a pack to a file without a name, or with one that goes away
// when the file is closed. Its size has to be known before it is sent.
func spoolPack(ctx context.Context, store *objectdb.Objects, objects []plumbing.Hash) (f *os.File, size int64, err error) {
	dir := filepath.Join(store.Dir, "pack")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, 0, err
	}
	if f, err = objectdb.CreateTemp(dir, objectdb.TempPack); err != nil {
		return nil, 0, err
	}
	if err = writePack(ctx, f, store, objects); err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		discard(f)
		return nil, 0, err
	}
	return f, size, nil
}

// discard closes a temporary file and removes it.
func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}
