package search

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// gramSize is the length of the substrings of a text that are remembered.
const gramSize = 4

// gramTable collects the grams of a text, substrings of gramSize bytes without regard to
// the case of letters: bit gramHash(g), modulo the number of bits in use, is set if g is in the
// text.
type gramTable struct {
	bits [1 << 10]uint64
	used int // a power of two
}

// reset empties the table for a text of some length.
func (t *gramTable) reset(size int64) {
	t.used = 1
	for t.used < len(t.bits) && int64(t.used)*64 < 2*size {
		t.used *= 2
	}
	clear(t.bits[:t.used])
}

// gramHash returns the index of a bit, from 0 to 1<<16 - 1, for the lower four bytes.
func gramHash(g uint64) uint32 {
	return (uint32(g) | 0x20202020) * 0x9e3779b1 >> 16 //nolint:gosec // the lower four bytes
}

// add adds a text.
func (t *gramTable) add(text []byte) {
	mask := uint32(t.used - 1)              //nolint:gosec // see reset
	for ; len(text) >= 8; text = text[4:] { // four at a time are twice as fast
		v := binary.LittleEndian.Uint64(text)
		a, b, c, d := gramHash(v), gramHash(v>>8), gramHash(v>>16), gramHash(v>>24)
		t.bits[a>>6&mask] |= 1 << (a & 63)
		t.bits[b>>6&mask] |= 1 << (b & 63)
		t.bits[c>>6&mask] |= 1 << (c & 63)
		t.bits[d>>6&mask] |= 1 << (d & 63)
	}
	for ; len(text) >= gramSize; text = text[1:] {
		h := gramHash(uint64(binary.LittleEndian.Uint32(text)))
		t.bits[h>>6&mask] |= 1 << (h & 63)
	}
}

// grams is a Bloom filter of the grams of a text: a gramTable folded to a smaller power
// of two. The empty one has no gram.
type grams []uint64

// maxFill is the maximum ratio of bits set to all bits, as a divisor, of a folded filter.
const maxFill = 2

// fold returns the smallest filter that is not too full. It changes the table.
func (t *gramTable) fold() grams {
	g := grams(t.bits[:t.used])
	for len(g) > 1 {
		half := len(g) / 2
		set := 0
		for i := range half {
			set += bits.OnesCount64(g[i] | g[half+i])
		}
		if set > half*64/maxFill {
			break
		}
		for i := range half {
			g[i] |= g[half+i]
		}
		g = g[:half]
	}
	return slices.Clone(g)
}

// gramTest is a test whether a text may contain a literal: the hashes of its grams.
type gramTest []uint32

// gramTests returns the tests for texts that contain one of the literals, nil if one is too
// short.
func (n needs) gramTests() []gramTest {
	var tests []gramTest
	for _, lit := range n.any {
		var t gramTest
		for text := lit.text; len(text) >= gramSize; text = text[1:] {
			t = append(t, gramHash(uint64(binary.LittleEndian.Uint32(text))))
		}
		if t == nil {
			return nil
		}
		tests = append(tests, t)
	}
	return tests
}

// mayPass reports whether the text may pass one of the tests.
func (g grams) mayPass(tests []gramTest) bool {
	return slices.ContainsFunc(tests, g.has)
}

func (g grams) has(t gramTest) bool {
	if len(g) == 0 {
		return false
	}
	mask := uint32(len(g) - 1) //nolint:gosec // at most that of a gramTable
	for _, h := range t {
		if g[h>>6&mask]&(1<<(h&63)) == 0 {
			return false
		}
	}
	return true
}
