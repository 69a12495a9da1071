package edit

import "strings"

// lines is a text split at its newlines.
type lines struct {
	text   string
	starts []int // of each line, and one behind the end of the text and a newline
}

func newLines(text string) lines {
	l := lines{text: text, starts: []int{0}}
	for i := strings.IndexByte(text, '\n'); i >= 0; {
		at := l.starts[len(l.starts)-1] + i + 1
		l.starts = append(l.starts, at)
		i = strings.IndexByte(text[at:], '\n')
	}
	l.starts = append(l.starts, len(text)+1)
	return l
}

// count returns the number of lines, including an empty one after a final
// newline.
func (l lines) count() int { return len(l.starts) - 1 }

// at returns line i without its newline.
func (l lines) at(i int) string { return l.text[l.starts[i] : l.starts[i+1]-1] }

// span returns the span of n lines starting at line i, without the last
// newline.
func (l lines) span(i, n int) span { return span{l.starts[i], l.starts[i+n] - 1} }

// spans returns the places of n lines from each of some lines on.
func (l lines) spans(from []int, n int) []span {
	var out []span
	for _, i := range from {
		out = append(out, l.span(i, n))
	}
	return out
}

// numbers holds lines of a text and of old as numbers, which are equal
// where the lines are except for whitespace around them. Blocks are compared by
// these.
type numbers struct {
	text  []int32
	id    []int32 // -1 for a line that is not in the text
	blank int32   // the number of blank lines
}

func number(text, chunk lines) numbers {
	ids := map[string]int32{"": 0}
	n := numbers{text: make([]int32, text.count()), id: make([]int32, chunk.count())}
	for i := range n.text {
		s := strings.TrimSpace(text.at(i))
		id, ok := ids[s]
		if !ok {
			id = int32(len(ids))
			ids[s] = id
		}
		n.text[i] = id
	}
	for i := range n.id {
		id, ok := ids[strings.TrimSpace(chunk.at(i))]
		if !ok {
			id = -1
		}
		n.id[i] = id
	}
	return n
}

// windows returns the lines where old matches, including overlapping
// matches. It is the search of Knuth, Morris and Pratt ("Fast pattern matching
// in strings", 1977), linear whatever repeats.
func (n numbers) windows() []int {
	var found []int
	border := make([]int, len(n.id)) // of each beginning: its longest shorter beginning that it ends with
	have := 0
	for i := 1; i < len(n.id); i++ {
		for have > 0 && n.id[i] != n.id[have] {
			have = border[have-1]
		}
		if n.id[i] == n.id[have] {
			have++
		}
		border[i] = have
	}
	have = 0
	for i, id := range n.text {
		for have > 0 && (have == len(n.id) || id != n.id[have]) {
			have = border[have-1]
		}
		if id == n.id[have] {
			have++
		}
		if have == len(n.id) {
			found = append(found, i+1-have)
		}
	}
	return found
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
