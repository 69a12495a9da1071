// Package packing compresses texts in memory. The first text of a [Packer] is the dictionary of the others, which
// should resemble it. Package report compresses the jobs of large runs with it, but it knows nothing of what the
// texts are, and only the packer that has compressed a text can decompress it: nothing is stored.
package packing

import (
	"bytes"
	"compress/flate"
	"io"
	"sync"
)

// Packer compresses texts. The first one is a dictionary for the others, which resemble it.
type Packer struct {
	deflate *flate.Writer
	first   []byte // the dictionary; nil before the first text
	out     bytes.Buffer
	readers sync.Pool
}

// maxDictionary is the number of bytes that compressed data can refer to.
const maxDictionary = 32 << 10

// Pack compresses a text. It is not safe for concurrent use.
func (p *Packer) Pack(log []byte) []byte {
	if p.first == nil {
		p.deflate, _ = flate.NewWriter(nil, flate.BestSpeed) // the level is valid, and a buffer accepts all writes
		p.first = bytes.Clone(log[:min(len(log), maxDictionary)])
	}
	p.out.Reset()
	p.deflate.Reset(&p.out)
	p.deflate.Write(p.first) //nolint:errcheck // as above
	p.deflate.Flush()        //nolint:errcheck // as above
	known := p.out.Len()     // with this level, a dictionary of the package would have no effect
	p.deflate.Write(log)     //nolint:errcheck // as above
	p.deflate.Close()        //nolint:errcheck // as above
	return bytes.Clone(p.out.Bytes()[known:])
}

// Unpack calls fn with a reader of the text. It is safe for concurrent use.
func (p *Packer) Unpack(packed []byte, fn func(io.Reader) error) error {
	inflate, ok := p.readers.Get().(io.ReadCloser)
	if !ok {
		inflate = flate.NewReader(nil)
	}
	defer p.readers.Put(inflate)
	inflate.(flate.Resetter).Reset(bytes.NewReader(packed), p.first) //nolint:errcheck,forcetypeassert // as documented; its error is the next read's
	return fn(inflate)
}
