package patch

import (
	"slices"
	"strings"
	"unicode"

	"github.com/millhand/millhand/tools/merge"
)

// passes are the ways to compare lines, the strictest first: each maps lines
// that it considers equal to the same string.
func passes() []func(string) string {
	return []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) },
		strings.TrimSpace,
		merge.Fold,
	}
}

// index has the lines of a file as numbers, which are equal for lines that a pass
// considers equal. Blocks are compared by numbers, so each text is compared once.
type index struct {
	same  func(string) string
	ids   map[string]int32
	lines []int32
}

func newIndex(d document, same func(string) string) *index {
	x := &index{same: same, ids: map[string]int32{}, lines: make([]int32, len(d.lines))}
	for i := range d.lines {
		s := same(d.text(i))
		id, ok := x.ids[s]
		if !ok {
			id = int32(len(x.ids))
			x.ids[s] = id
		}
		x.lines[i] = id
	}
	return x
}

// numbers returns the numbers of a block's lines; ok is false if one of them is
// not in the file, and therefore the block is not either.
func (x *index) numbers(block []string) (ids []int32, ok bool) {
	ids = make([]int32, len(block))
	for i, s := range block {
		if ids[i], ok = x.ids[x.same(s)]; !ok {
			return nil, false
		}
	}
	return ids, true
}

// at reports whether the block matches at line i.
func (x *index) at(i int, block []int32) bool {
	return i >= 0 && i+len(block) <= len(x.lines) && slices.Equal(x.lines[i:i+len(block)], block)
}

// next returns the first line from start on where the block matches, or -1. It
// uses the algorithm of Knuth, Morris and Pratt ("Fast pattern matching in strings",
// 1977), which is linear for any input.
func (x *index) next(start int, block []int32) int {
	border := borders(block)
	have := 0
	for i := start; i < len(x.lines); i++ {
		for have > 0 && x.lines[i] != block[have] {
			have = border[have-1]
		}
		if x.lines[i] == block[have] {
			have++
		}
		if have == len(block) {
			return i + 1 - have
		}
	}
	return -1
}

// borders returns for every prefix of a block the length of its longest
// proper prefix that is also a suffix.
func borders(block []int32) []int {
	border := make([]int, len(block))
	have := 0
	for i := 1; i < len(block); i++ {
		for have > 0 && block[i] != block[have] {
			have = border[have-1]
		}
		if block[i] == block[have] {
			have++
		}
		border[i] = have
	}
	return border
}
