package search

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// The marks that say how a file is encoded. As ripgrep does, a file that
// starts with one is searched as UTF-8 without it.
var (
	markUTF8    = []byte("\xef\xbb\xbf")
	markUTF16LE = []byte("\xff\xfe")
	markUTF16BE = []byte("\xfe\xff")
)

// utf16Order returns the order of bytes in a text that starts with a mark of
// UTF-16, nil if it does not.
func utf16Order(text []byte) binary.ByteOrder {
	switch {
	case bytes.HasPrefix(text, markUTF16LE):
		return binary.LittleEndian
	case bytes.HasPrefix(text, markUTF16BE):
		return binary.BigEndian
	}
	return nil
}

// utf16Reader gives UTF-16 as UTF-8, with U+FFFD for what is malformed.
type utf16Reader struct {
	from  io.Reader
	order binary.ByteOrder
	raw   []byte // what was read and not decoded
	text  []byte // what was decoded and not given
	err   error  // of the reader, once it had one
	chunk [4 << 10]byte
}

// newUTF16Reader decodes a text whose start was read already.
func newUTF16Reader(began []byte, from io.Reader, order binary.ByteOrder) *utf16Reader {
	return &utf16Reader{from: from, order: order, raw: bytes.Clone(began)}
}

// Read gives decoded text.
func (r *utf16Reader) Read(p []byte) (int, error) {
	for len(r.text) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var n int
		n, r.err = r.from.Read(r.chunk[:])
		r.raw = append(r.raw, r.chunk[:n]...)
		r.decode()
	}
	n := copy(p, r.text)
	r.text = r.text[n:]
	return n, nil
}

// decode decodes what is there of whole characters, and at the end all.
func (r *utf16Reader) decode() {
	r.text = r.text[:0]
	for len(r.raw) >= 2 {
		c, n := rune(r.order.Uint16(r.raw)), 2
		if utf16.IsSurrogate(c) {
			if len(r.raw) < 4 && r.err == nil {
				return
			}
			second := rune(0)
			if len(r.raw) >= 4 {
				second = rune(r.order.Uint16(r.raw[2:]))
			}
			if c = utf16.DecodeRune(c, second); c != utf8.RuneError {
				n = 4
			}
		}
		r.text = utf8.AppendRune(r.text, c)
		r.raw = r.raw[n:]
	}
	if r.err != nil && len(r.raw) > 0 {
		r.text, r.raw = utf8.AppendRune(r.text, utf8.RuneError), nil
	}
}
