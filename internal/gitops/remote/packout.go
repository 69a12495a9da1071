package remote

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// writePack writes objects as a pack, in their order, and without deltas: a
// job's changes are small, and computing deltas costs more than it saves.
func writePack(ctx context.Context, to io.Writer, store *objectdb.Objects, objects []plumbing.Hash) error {
	buffered := bufio.NewWriterSize(to, 64<<10)
	if _, err := packfile.NewEncoder(buffered, unread{ctx: ctx, store: store}, false).Encode(objects, 0); err != nil {
		return err
	}
	return buffered.Flush()
}

// unread is a store whose objects are read when the encoder writes them, because it lists all of them
// before it writes the first.
type unread struct {
	storer.EncodedObjectStorer                 // nil: the encoder calls nothing else
	ctx                        context.Context //nolint:containedctx // it is used up by one call
	store                      *objectdb.Objects
}

func (u unread) EncodedObject(_ plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	return &deferred{from: u, hash: hash}, nil
}

// deferred is an object that is read when the encoder asks for its type, and released when it asks for its content.
type deferred struct {
	plumbing.EncodedObject
	from unread
	hash plumbing.Hash
	err  error
}

func (d *deferred) Type() plumbing.ObjectType {
	d.EncodedObject, d.err = &plumbing.MemoryObject{}, d.from.ctx.Err()
	if d.err != nil {
		return plumbing.InvalidObject
	}
	o, err := d.from.store.Read(plumbing.AnyObject, d.hash)
	if d.err = err; err == nil {
		d.EncodedObject = o
	}
	return d.EncodedObject.Type()
}

func (d *deferred) Reader() (io.ReadCloser, error) {
	if d.err != nil {
		return nil, fmt.Errorf("pack object %s: %w", d.hash, d.err)
	}
	o := d.EncodedObject
	d.EncodedObject = nil
	return o.Reader()
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
