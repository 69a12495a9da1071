// Package linediff compares two texts that are given as lines, and returns the ranges that differ. It writes no patches and
// reads no files.
package linediff

import (
	"slices"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// maxLines is the maximum number of lines of two files to compare; above it,
// the diff replaces all lines.
const maxLines = 1 << 20

// Compare returns the replacements that turn the lines of a into b. Lines
// that occur once in both are anchors, as in Bram Cohen's patience diff;
// between them it searches to a limited depth. So the cost is nearly linear for
// any input, and the result is minimal for most.
func Compare(a, b []string) []lcs.Diff {
	begin := 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	endA, endB := len(a), len(b)
	for endA > begin && endB > begin && a[endA-1] == b[endB-1] {
		endA--
		endB--
	}
	if endA-begin > maxLines || endB-begin > maxLines {
		return []lcs.Diff{{Start: begin, End: endA, ReplStart: begin, ReplEnd: endB}}
	}
	var diffs []lcs.Diff
	atA, atB := begin, begin
	for _, x := range anchors(a[begin:endA], b[begin:endB]) {
		diffs = appendDiffs(diffs, a, b, atA, begin+x.a, atB, begin+x.b)
		atA, atB = begin+x.a+1, begin+x.b+1
	}
	return appendDiffs(diffs, a, b, atA, endA, atB, endB)
}

// Replacement is a range of lines that a change replaces, with that of the lines that replace them. Both start at 0, and
// the ends are not included.
type Replacement struct{ From, To, NewFrom, NewTo int }

// Replacements returns what a change of a text replaces, as a patch without context shows it: at least one unchanged line is
// between two of them.
func Replacements(before, after []string) (all []Replacement) {
	for _, d := range Compare(before, after) {
		if n := len(all) - 1; n >= 0 && all[n].To == d.Start && all[n].NewTo == d.ReplStart {
			all[n].To, all[n].NewTo = d.End, d.ReplEnd
			continue
		}
		all = append(all, Replacement{d.Start, d.End, d.ReplStart, d.ReplEnd})
	}
	return all
}

// appendDiffs compares two ranges between anchors.
func appendDiffs(diffs []lcs.Diff, a, b []string, fromA, toA, fromB, toB int) []lcs.Diff {
	if fromA == toA && fromB == toB {
		return diffs
	}
	if fromA == toA || fromB == toB {
		return append(diffs, lcs.Diff{Start: fromA, End: toA, ReplStart: fromB, ReplEnd: toB})
	}
	for _, d := range lcs.DiffLines(a[fromA:toA], b[fromB:toB]) {
		diffs = append(diffs, lcs.Diff{
			Start: fromA + d.Start, End: fromA + d.End,
			ReplStart: fromB + d.ReplStart, ReplEnd: fromB + d.ReplEnd,
		})
	}
	return diffs
}

// pair is a line's index in two files.
type pair struct{ a, b int }

// anchors returns the longest sequence, ascending in both files, of lines that
// occur once in each.
func anchors(a, b []string) []pair {
	type places struct{ inA, inB, a, b int }
	seen := make(map[string]*places, len(a))
	for i, line := range a {
		p := seen[line]
		if p == nil {
			p = &places{}
			seen[line] = p
		}
		p.inA++
		p.a = i
	}
	for i, line := range b {
		if p := seen[line]; p != nil {
			p.inB++
			p.b = i
		}
	}
	var once []pair
	for i, line := range a {
		if p := seen[line]; p.inA == 1 && p.inB == 1 {
			once = append(once, pair{i, p.b})
		}
	}
	return longestAscending(once)
}

// longestAscending picks the longest sequence of pairs that ascends in b as well;
// the pairs ascend in a. It is patience sorting: each pile's top is the smallest
// end of a sequence of that length.
func longestAscending(pairs []pair) []pair {
	piles := []int{} // indexes of tops
	below := make([]int, len(pairs))
	for i, p := range pairs {
		at, _ := slices.BinarySearchFunc(piles, p.b, func(top, b int) int { return pairs[top].b - b })
		below[i] = -1
		if at > 0 {
			below[i] = piles[at-1]
		}
		if at == len(piles) {
			piles = append(piles, i)
		} else {
			piles[at] = i
		}
	}
	out := make([]pair, len(piles))
	if len(piles) == 0 {
		return out
	}
	for i, at := len(piles)-1, piles[len(piles)-1]; i >= 0; i, at = i-1, below[at] {
		out[i] = pairs[at]
	}
	return out
}
