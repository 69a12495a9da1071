package objectdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/millhand/millhand/internal/files/sharedfile"
)

// entry is the header of an object in a pack.
type entry struct {
	kind plumbing.ObjectType // or a kind of delta
	size int64               // of the content, or of the delta
	at   int64               // the offset of the header
	data int64               // the offset of the compressed data
	base int64               // the offset of the base of a delta, or
	ref  plumbing.Hash       // its name
}

func (e entry) isDelta() bool {
	return e.kind == plumbing.OFSDeltaObject || e.kind == plumbing.REFDeltaObject
}

const (
	packStart = int64(len(packHeader)) + 4 // of the objects, after their number
	maxEntry  = 32                         // an upper limit of the size of a header in bytes
	maxChain  = 4096                       // the maximum number of entries for an object, as in git
)

// openPack opens the pack unless it is open, and checks that the index is of this pack.
func (p *pack) openPack() error {
	if p.file != nil {
		return nil
	}
	f, err := sharedfile.Open(p.name + ".pack")
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		p.end = info.Size() - hashSize
		err = p.checkPack(f)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	p.file = f
	return nil
}

func (p *pack) checkPack(f *os.File) error {
	head, sum := make([]byte, packStart), make([]byte, hashSize)
	if err := errors.Join(p.readAt(f, head, 0), p.readAt(f, sum, p.end)); err != nil {
		return err
	}
	if string(head[:len(packHeader)]) != packHeader {
		return p.invalid("not a pack of version 2")
	}
	if plumbing.Hash(sum) != p.sum || binary.BigEndian.Uint32(head[len(packHeader):]) != p.fanout[255] {
		return p.invalid("the index is of another pack")
	}
	return nil
}

// entry reads the header at an offset.
func (p *pack) entry(at int64) (entry, error) {
	if at < packStart || at >= p.end {
		return entry{}, p.invalidAt(at)
	}
	var header [maxEntry]byte
	b := header[:min(maxEntry, p.end-at)]
	if err := p.readAt(p.file, b, at); err != nil {
		return entry{}, err
	}
	e := entry{at: at, kind: plumbing.ObjectType(b[0] >> 4 & 7), size: int64(b[0] & 15)}
	n := 1
	if b[0]&0x80 != 0 {
		high, k := binary.Uvarint(b[1:])
		if k <= 0 || high > 1<<55 {
			return entry{}, p.invalidAt(at)
		}
		e.size |= int64(high) << 4
		n += k
	}
	switch e.kind {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	case plumbing.OFSDeltaObject:
		distance, k := farVarint(b[n:])
		if k == 0 || distance > at-packStart {
			return entry{}, p.invalidAt(at)
		}
		e.base = at - distance
		n += k
	case plumbing.REFDeltaObject:
		n += copy(e.ref[:], b[n:])
	default:
		return entry{}, p.invalidAt(at)
	}
	e.data = at + int64(n)
	return e, nil
}

// farVarint reads the distance of a base, and returns its length; 0 if it is invalid.
func farVarint(b []byte) (distance int64, n int) {
	for n < min(len(b), 8) {
		c := b[n]
		distance = distance<<7 | int64(c&0x7f)
		n++
		if c&0x80 == 0 {
			if distance == 0 {
				return 0, 0
			}
			return distance, n
		}
		distance++
	}
	return 0, 0
}

// base returns the offset of the base of a delta.
func (p *pack) base(e entry) (int64, error) {
	if e.kind == plumbing.OFSDeltaObject {
		return e.base, nil
	}
	at, err := p.find(e.ref)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return 0, p.invalid("base %s of a delta not found", e.ref)
	}
	return at, err
}

// locate finds what is needed to read an object: its entry and those of its bases, up to one that
// is in the cache. The function that it returns reads them without the lock of the stores, and must
// be called.
func (p *pack) locate(hash plumbing.Hash, at int64, d *decoder) (read func() (*stored, error), err error) {
	var chain []entry
	key := cacheKey{pack: p, at: at}
	base := d.cached(key)
	for base == nil {
		if err := p.openPack(); err != nil {
			return nil, err
		}
		e, err := p.entry(at)
		if err != nil {
			return nil, err
		}
		if chain = append(chain, e); !e.isDelta() {
			break
		}
		if len(chain) == maxChain {
			return nil, p.invalid("chain of %d deltas", maxChain)
		}
		if at, err = p.base(e); err != nil {
			return nil, err
		}
		base = d.cached(cacheKey{pack: p, at: at})
	}
	p.use.RLock()
	return func() (*stored, error) {
		defer p.use.RUnlock()
		o, err := p.resolve(chain, base, d)
		if err == nil && o.hash != hash {
			o, err = d.putNamed(key, o, hash)
		}
		return o, err
	}, nil
}

// resolve reads the first entry of a chain, of which the last has the given base or needs none.
func (p *pack) resolve(chain []entry, base *stored, d *decoder) (*stored, error) {
	for i, e := range slices.Backward(chain) {
		o := &stored{kind: e.kind}
		var err error
		if o.data, err = d.inflate(p.content(e), e.size); err == nil && e.isDelta() {
			o.kind = base.kind
			o.data, err = packfile.PatchDelta(base.data, o.data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: object at offset %d: %w", p.name, e.at, err)
		}
		if base = o; i > 0 {
			d.put(cacheKey{pack: p, at: e.at}, o)
		}
	}
	return base, nil
}

// content returns the compressed data of an entry, and what follows it.
func (p *pack) content(e entry) io.Reader {
	return io.NewSectionReader(p.file, e.data, p.end-e.data)
}

// size returns the size of the object at an offset.
func (p *pack) size(at int64, d *decoder) (int64, error) {
	if o := d.cached(cacheKey{pack: p, at: at}); o != nil {
		return o.Size(), nil
	}
	if err := p.openPack(); err != nil {
		return 0, err
	}
	e, err := p.entry(at)
	if err != nil || !e.isDelta() {
		return e.size, err
	}
	head, err := d.inflateHead(p.content(e), 2*binary.MaxVarintLen64)
	if err != nil {
		return 0, fmt.Errorf("%s: object at offset %d: %w", p.name, at, err)
	}
	_, n := binary.Uvarint(head) // the size of the base
	if n <= 0 {
		return 0, p.invalidAt(at)
	}
	size, n := binary.Uvarint(head[n:])
	if n <= 0 || size > 1<<62 {
		return 0, p.invalidAt(at)
	}
	return int64(size), nil
}
