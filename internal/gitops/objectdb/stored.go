package objectdb

import (
	"bytes"
	"container/list"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// stored is an object that was read. Its content must not be changed: it is cached.
type stored struct {
	hash plumbing.Hash // zero if the content was not compared with it
	kind plumbing.ObjectType
	data []byte
}

func (o *stored) Hash() plumbing.Hash            { return o.hash }
func (o *stored) Type() plumbing.ObjectType      { return o.kind }
func (o *stored) Size() int64                    { return int64(len(o.data)) }
func (o *stored) Reader() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(o.data)), nil }

// SetType, SetSize and Writer change nothing: an object of a store cannot be changed.
func (*stored) SetType(plumbing.ObjectType)     {}
func (*stored) SetSize(int64)                   {}
func (*stored) Writer() (io.WriteCloser, error) { return nil, errors.ErrUnsupported }

// decoder decompresses objects and caches them.
type decoder struct {
	inflaters sync.Pool // of *inflater

	mu      sync.Mutex
	entries map[cacheKey]*list.Element
	recent  list.List // of *cacheEntry, the most recently used first
	size    int       // of all entries
}

// entrySize is about the size of an entry of the cache without content.
const entrySize = 256

// cacheKey is the offset of an object in a pack, or the hash of a loose object.
type cacheKey struct {
	pack *pack
	at   int64
	hash plumbing.Hash
}

type cacheEntry struct {
	key cacheKey
	o   *stored
}

// cached returns an object of the cache; nil if it has none.
func (d *decoder) cached(key cacheKey) *stored {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[key]
	if e == nil {
		return nil
	}
	d.recent.MoveToFront(e)
	return e.Value.(*cacheEntry).o
}

// putNamed adds an object to the cache whose hash must be the given one: neither packs nor indexes
// are verified when they are opened.
func (d *decoder) putNamed(key cacheKey, o *stored, hash plumbing.Hash) (*stored, error) {
	if sum := plumbing.ComputeHash(o.kind, o.data); sum != hash {
		return nil, fmt.Errorf("corrupt: the content has the hash %s", sum)
	}
	o = &stored{hash: hash, kind: o.kind, data: o.data}
	d.put(key, o)
	return o, nil
}

// put adds an object to the cache, or replaces it.
func (d *decoder) put(key cacheKey, o *stored) {
	if len(o.data)+entrySize > cacheSize {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.entries[key]; e != nil {
		d.remove(e)
	}
	d.entries[key] = d.recent.PushFront(&cacheEntry{key, o})
	for d.size += entrySize + len(o.data); d.size > cacheSize; {
		d.remove(d.recent.Back())
	}
}

func (d *decoder) remove(e *list.Element) {
	old := d.recent.Remove(e).(*cacheEntry)
	delete(d.entries, old.key)
	d.size -= entrySize + len(old.o.data)
}
