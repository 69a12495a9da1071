package terminal

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// maxSequence is the maximum size of an escape sequence in bytes, so that one without an end
// hides no output.
const maxSequence = 4 << 10

// sequence is an escape sequence (ECMA-48) that has started.
type sequence []byte

func (s sequence) active() bool { return len(s) > 0 }

func (s *sequence) add(c byte) { *s = append(*s, c) }

// inString reports whether the sequence contains a text up to BEL or ESC \, such as a title.
func (s sequence) inString() bool { return len(s) > 1 && strings.IndexByte("]P_^X", s[1]) >= 0 }

// isCSI reports whether the sequence starts as those that move, erase and color.
func (s sequence) isCSI() bool { return len(s) > 1 && s[1] == '[' }

// escaped processes a character within a sequence. It returns false if the sequence ended
// before it.
func (w *Writer) escaped(c byte) bool {
	s := w.seq
	switch {
	case s.inString():
		return w.inString(c)
	case len(s) == 1 && strings.IndexByte("[]P_^X", c) >= 0, ' ' <= c && c <= '/', s.isCSI() && '0' <= c && c <= '?':
		if w.seq.add(c); len(w.seq) > maxSequence {
			w.seq = nil
		}
		return true
	case s.isCSI() && '@' <= c && c <= '~':
		w.seq = nil
		w.control(string(s[2:]), c)
		return true
	}
	w.seq = nil
	return '0' <= c && c <= '~' // otherwise a control character, or text
}

// inString processes a character of a title or a similar text.
func (w *Writer) inString(c byte) bool {
	s := w.seq
	switch {
	case c == '\a', c == '\\' && s[len(s)-1] == '\x1b':
		w.seq = nil
	case c == '\n', len(s) > maxSequence:
		w.abandon()
		return false
	default:
		w.seq.add(c)
	}
	return true
}

// abandon ends a sequence without its end. Its text is shown, because the program may not
// have meant a sequence.
func (w *Writer) abandon() {
	s := w.seq
	if w.seq = nil; !s.inString() {
		return
	}
	for text := bytes.ReplaceAll(s[2:], []byte{'\x1b'}, nil); len(text) > 0; {
		k := w.step(text)
		if k == 0 {
			w.put(notUTF8 + rune(text[0]))
			k = 1
		}
		text = text[k:]
	}
}

// control executes a control sequence with its parameters.
func (w *Writer) control(params string, final byte) {
	first, _, _ := strings.Cut(params, ";")
	n, err := strconv.Atoi(first)
	if err != nil {
		n = 0
	}
	moves := func(to int) {
		w.expand()
		w.x = max(0, min(to, max(len(w.rows[w.y])+1, width)))
	}
	switch one := max(n, 1); final {
	case 'C':
		moves(w.x + min(one, maxRow))
	case 'D':
		moves(w.x - min(one, maxRow))
	case 'G', '`':
		moves(one - 1)
	case 'A', 'F':
		w.vertical(func() { w.y = max(w.y-min(one, height), 0) })
	case 'B', 'E':
		w.vertical(func() { w.down(one) })
	case 'K', 'J':
		w.expand()
		w.erase(n, final == 'J')
	case 'H', 'f', 'd':
		w.page()
	}
	if final == 'E' || final == 'F' {
		w.x = 0
	}
}

// vertical moves the cursor to another row, in the same column.
func (w *Writer) vertical(move func()) {
	w.expand()
	x := w.x
	move()
	w.x, w.tabs = 0, slices.Contains(w.rows[w.y], '\t')
	w.expand()
	w.x = x
}

// erase removes text from the cursor's row on: after it (0), before it (1) or both (2). On a
// screen, only what comes after it is removed; what comes before may be all that there is of an output.
func (w *Writer) erase(what int, screen bool) {
	row := w.rows[w.y]
	switch {
	case screen && what != 0:
		w.page()
	case what == 0:
		w.rows[w.y] = row[:min(w.x, len(row))]
		if screen {
			w.rows = w.rows[:w.y+1]
		}
	case what == 1:
		for i := range row[:min(w.x+1, len(row))] {
			row[i] = ' '
		}
	case what == 2:
		w.rows[w.y] = row[:0]
	}
}
