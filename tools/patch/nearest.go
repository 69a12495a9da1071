package patch

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/tools/merge"
)

// maxVotes limits the search for similar lines, and maxShown the characters
// quoted of one.
const (
	maxVotes = 1 << 20
	maxShown = 120
)

// misplaced returns the error for a hunk whose lines are not in the file after
// the cursor.
func (p *placer) misplaced(block []string) error {
	x := newIndex(p.doc, merge.Fold)
	start, votes := nearest(x, block, p.cursor)
	if votes == 0 {
		return fmt.Errorf("none of its lines found in file; %s; read the file again", p.like(block))
	}
	for j, line := range block {
		i := start + j
		if i < 0 || i < len(x.lines) && x.ids[merge.Fold(line)] == x.lines[i] && x.has(line) {
			continue
		}
		if i >= len(x.lines) {
			return fmt.Errorf("lines not found in file; the closest match starts at line %d, but the file ends with line %d, %s, and the hunk continues with %s",
				max(start, 0)+1, len(x.lines), p.quote(len(x.lines)-1), quote(line))
		}
		return fmt.Errorf("lines not found in file; the closest match starts at line %d, but line %d is %s and the hunk has %s",
			max(start, 0)+1, i+1, p.quote(i), quote(line))
	}
	if start < 0 {
		return fmt.Errorf("lines not found in file; the closest match starts at line 1, %s, but the hunk starts before it with %s", p.quote(0), quote(block[0]))
	}
	return p.disordered(start)
}

// disordered returns the error for a hunk that matches before the previous one.
func (p *placer) disordered(i int) error {
	return fmt.Errorf("it matches at line %d, %s, before the end of the previous hunk; order hunks as in the file and use each line once", i+1, p.quote(i))
}

// ambiguous returns the error for a hunk that matches at several lines.
func ambiguous(i, other int) error {
	return fmt.Errorf("it matches multiple locations in the file, at lines %d and %d; add more surrounding lines, or @@ with a line above the change that is unique", i+1, other+1)
}

// noContext returns the error for a context that is not in the file.
func (p *placer) noContext(c string) error {
	return fmt.Errorf("context %s after @@ not found in file; %s; use a complete line of the file, or omit it", quote(c), p.like([]string{c}))
}

// like describes the line of the file most similar to the first non-blank line
// of a block.
func (p *placer) like(block []string) string {
	for _, line := range block {
		if line = merge.Fold(line); line != "" {
			if i := p.mostSimilar(line); i >= 0 {
				return fmt.Sprintf("the closest is line %d, %s", i+1, p.quote(i))
			}
			break
		}
	}
	return "no line of the file is similar"
}

// mostSimilar returns the line with the longest common prefix and suffix with a text,
// or -1 if they are less than half of it for every line.
func (p *placer) mostSimilar(want string) int {
	best, most := -1, 0.5
	for i := range p.doc.lines {
		have := strings.TrimSpace(p.doc.text(i))
		if share := 2 * float64(common(have, want)) / float64(len(have)+len(want)); share >= most && (best < 0 || share > most) {
			best, most = i, share
		}
	}
	return best
}

// common returns the total length of the common prefix and suffix in bytes.
func common(a, b string) int {
	n := min(len(a), len(b))
	head := 0
	for head < n && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head + tail
}

// has reports whether a line is in the file.
func (x *index) has(line string) bool {
	_, ok := x.ids[x.same(line)]
	return ok
}

// nearest returns the position where most lines of a block match, and how
// many: the first one from start on, or else before it. Blank lines are
// ignored. Each line of the block votes for the positions where it matches.
func nearest(x *index, block []string, start int) (int, int) {
	where := map[int32][]int{}
	for i, id := range x.lines {
		where[id] = append(where[id], i)
	}
	votes := map[int]int{}
	left := maxVotes
	for j, line := range block {
		line = x.same(line)
		id, ok := x.ids[line]
		if !ok || line == "" {
			continue
		}
		for _, i := range where[id] {
			if left--; left < 0 {
				break
			}
			votes[i-j]++
		}
	}
	best, most := 0, 0
	for i, n := range votes {
		below, bestBelow := i >= start, best >= start
		if n > most || n == most && (below && !bestBelow || below == bestBelow && i < best) {
			best, most = i, n
		}
	}
	return best, most
}

func (p *placer) quote(i int) string { return quote(p.doc.text(i)) }

// quote quotes a line, truncated if it is long.
func quote(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxShown {
			return fmt.Sprintf("%q...", s[:i])
		}
	}
	return fmt.Sprintf("%q", s)
}
