package objectdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/files/sharedfile"
)

// pack is a pack and its index, of which only the fanout table is in memory. The rest is read
// when an object is looked up, so that time and memory do not depend on the number of objects.
type pack struct {
	name string // the path without its extension

	idx    *os.File     // nil while it is closed; its fields below stay
	fanout *[256]uint32 // the number of objects whose first byte is at most the index; nil before it was opened
	large  int64        // the size of the table of 64-bit offsets
	sum    plumbing.Hash

	file *os.File // nil while it is closed
	end  int64    // of the objects in it
	use  sync.RWMutex
}

// The layout of version 2 of an index: header, fanout table, names, checksums, offsets, 64-bit
// offsets, and the checksums of the pack and of the index.
const (
	packHeader   = "PACK\x00\x00\x00\x02"
	hashSize     = int64(len(plumbing.ZeroHash))
	indexHeader  = "\xfftOc\x00\x00\x00\x02"
	indexNames   = int64(len(indexHeader)) + 256*4
	indexTrailer = 2 * hashSize
	indexEntry   = hashSize + 4 + 4
)

// openIndex opens the index unless it is open.
func (p *pack) openIndex() error {
	if p.idx != nil {
		return nil
	}
	f, err := sharedfile.Open(p.name + ".idx")
	if err == nil {
		p.idx = f
		err = p.readFanout()
	}
	if err != nil {
		p.close()
	}
	return err
}

func (p *pack) readFanout() error {
	info, err := p.idx.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, indexNames)
	if err := p.readAt(p.idx, head, 0); err != nil {
		return err
	}
	if string(head[:len(indexHeader)]) != indexHeader {
		return p.invalid("not a pack index of version 2")
	}
	fanout, last := new([256]uint32), uint32(0)
	for i := range fanout {
		n := binary.BigEndian.Uint32(head[len(indexHeader)+4*i:])
		if n < last {
			return p.invalid("fanout table of the index is not sorted")
		}
		fanout[i], last = n, n
	}
	objects := int64(last)
	p.large = info.Size() - indexNames - objects*indexEntry - indexTrailer
	if p.large < 0 || p.large > 8*objects {
		return p.invalid("index of %d objects has %d bytes", objects, info.Size())
	}
	if err := p.readAt(p.idx, p.sum[:], info.Size()-indexTrailer); err != nil {
		return err
	}
	p.fanout = fanout
	return nil
}

// close closes the files. A pack that another goroutine reads stays open until the next call, or
// until the garbage collector closes it.
func (p *pack) close() {
	if p.idx != nil {
		p.idx.Close() // it was only read
		p.idx = nil
	}
	if p.file != nil && p.use.TryLock() {
		p.file.Close()
		p.file = nil
		p.use.Unlock()
	}
}

// indexBlock is the maximum number of names that one search reads after its last step.
const indexBlock = 64

// search returns the first name in the index that is not less than a hash, and its position, from
// the names with the same first byte.
func (p *pack) search(hash plumbing.Hash) (i int64, name plumbing.Hash, err error) {
	low, high := int64(0), int64(p.fanout[hash[0]])
	if hash[0] > 0 {
		low = int64(p.fanout[hash[0]-1])
	}
	if low == high {
		return 0, name, plumbing.ErrObjectNotFound
	}
	if err := p.openIndex(); err != nil {
		return 0, name, err
	}
	for end := high; end-low >= indexBlock; {
		middle := low + (end-low)/2
		if err := p.names(name[:], middle); err != nil {
			return 0, name, err
		}
		if bytes.Compare(name[:], hash[:]) < 0 {
			low = middle + 1
		} else {
			end = middle
		}
	}
	var block [indexBlock * hashSize]byte
	n := min(indexBlock, high-low)
	if err := p.names(block[:n*hashSize], low); err != nil {
		return 0, name, err
	}
	at := func(i int) []byte { return block[int64(i)*hashSize:][:hashSize] }
	first := sort.Search(int(n), func(i int) bool { return bytes.Compare(at(i), hash[:]) >= 0 })
	if first == int(n) {
		return 0, name, plumbing.ErrObjectNotFound
	}
	return low + int64(first), plumbing.Hash(at(first)), nil
}

// names fills a buffer with the names from a position on.
func (p *pack) names(b []byte, i int64) error { return p.readAt(p.idx, b, indexNames+i*hashSize) }

// find returns the offset of an object in the pack.
func (p *pack) find(hash plumbing.Hash) (int64, error) {
	i, name, err := p.search(hash)
	if err == nil && name != hash {
		err = plumbing.ErrObjectNotFound
	}
	if err != nil {
		return 0, err
	}
	return p.offset(i)
}

// withPrefix adds the objects whose hashes start with some bytes to a set.
func (p *pack) withPrefix(prefix []byte, set map[plumbing.Hash]bool) error {
	var from plumbing.Hash
	copy(from[:], prefix)
	i, name, err := p.search(from)
	for err == nil && bytes.HasPrefix(name[:], prefix) {
		set[name] = true
		if i++; i == int64(p.fanout[from[0]]) {
			return nil
		}
		err = p.names(name[:], i)
	}
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		err = nil
	}
	return err
}

// offset returns the offset of an object from its position in the index.
func (p *pack) offset(i int64) (int64, error) {
	objects := int64(p.fanout[255])
	table := indexNames + objects*(hashSize+4)
	var b [8]byte
	if err := p.readAt(p.idx, b[:4], table+4*i); err != nil {
		return 0, err
	}
	short := binary.BigEndian.Uint32(b[:])
	if short>>31 == 0 {
		return int64(short), nil
	}
	at := 8 * int64(short&math.MaxInt32)
	if at+8 > p.large {
		return 0, p.invalid("the index has no such 64-bit offset")
	}
	if err := p.readAt(p.idx, b[:], table+4*objects+at); err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(b[:])), nil // reading the object rejects what is not in the pack
}

// invalid returns an error about the content of the pack or of its index.
func (p *pack) invalid(format string, args ...any) error {
	return fmt.Errorf("%s: %s", p.name, fmt.Sprintf(format, args...))
}

func (p *pack) invalidAt(at int64) error { return p.invalid("invalid object at offset %d", at) }

// readAt fills a buffer. The end of the file is unexpected.
func (p *pack) readAt(f *os.File, b []byte, at int64) error {
	_, err := f.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", p.name, err)
	}
	return nil
}
