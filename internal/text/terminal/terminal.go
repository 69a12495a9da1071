package terminal

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	height = 24       // rows that moves of the cursor can reach; rows above are final
	width  = 80       // columns that moves can reach beyond the end of a row
	maxRow = 16 << 10 // characters that are held of a row; more is written, and final
)

// special has the characters that do more than to add text to the end of a row.
const special = "\r\b\a\x0e\x0f\x1b"

// Text returns what a terminal would show of an output. Lines end with "\n".
func Text(s string) string {
	if !strings.ContainsAny(s, special) {
		return s
	}
	var b strings.Builder
	w := NewWriter(&b)
	io.WriteString(w, s) //nolint:errcheck // a Builder never fails
	w.Flush()            //nolint:errcheck // likewise
	return b.String()
}

// Writer writes what a terminal would show of its input to another writer, in bounded
// memory: it holds the last rows, which the cursor can still reach. Each character counts as
// one column. Bytes that are not UTF-8 pass unchanged.
type Writer struct {
	to      io.Writer
	err     error
	rows    [][]rune // never empty; a byte that is not UTF-8 is the rune notUTF8 + byte
	x, y    int      // the cursor; x can be beyond the end of the row
	tabs    bool     // the cursor's row has tabs, which are one rune until something replaces them
	seq     sequence
	partial []byte   // start of a character
	free    [][]rune // memory of rows that were written
	text    []byte   // memory of what is written
}

// notUTF8 is the first rune that stands for a byte that is not UTF-8.
const notUTF8 = utf8.MaxRune + 1

// NewWriter returns a Writer to another writer. Its owner calls Flush after the last Write.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to, rows: [][]rune{nil}} }

// Write returns the first error of the other writer.
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	if len(w.partial) > 0 {
		p, w.partial = append(w.partial, p...), nil
	}
	for len(p) > 0 {
		if k := w.final(p); k > 0 {
			w.finish()
			w.emit(p[:k])
			p = p[k:]
			continue
		}
		k := w.step(p)
		if k == 0 { // an incomplete character
			w.partial = bytes.Clone(p)
			break
		}
		p = p[k:]
	}
	return n, w.err
}

// Flush writes everything that is held. The cursor can't return to it.
func (w *Writer) Flush() error {
	w.abandon()
	for _, c := range w.partial {
		w.put(notUTF8 + rune(c))
	}
	w.partial = nil
	w.finish()
	return w.err
}

// final returns how much of p are lines that no move after them can reach. It is fast for
// output without special characters.
func (w *Writer) final(p []byte) int {
	if w.seq.active() || w.x > 0 || w.y < len(w.rows)-1 || len(w.rows[w.y]) > 0 {
		return 0
	}
	end := bytes.IndexAny(p, special)
	if end < 0 {
		end = len(p)
	}
	for range height {
		if end = bytes.LastIndexByte(p[:end], '\n'); end < 0 {
			return 0
		}
	}
	return end + 1
}

// step processes the first character of p, and returns its size: 0 if it is incomplete.
func (w *Writer) step(p []byte) int {
	if w.seq.active() && w.escaped(p[0]) {
		return 1
	}
	switch c := p[0]; {
	case c == '\n':
		w.down(1)
		w.x = 0
	case c == '\r':
		w.x = 0
	case c == '\b':
		w.expand()
		w.x = max(w.x-1, 0)
	case c == '\x1b':
		w.seq.add(c)
	case c < ' ' && strings.IndexByte(special, c) >= 0: // rings, or changes the character set
	case c < utf8.RuneSelf:
		if n := w.extend(p); n > 0 {
			return n
		}
		w.put(rune(c))
	default:
		if !utf8.FullRune(p) {
			return 0
		}
		r, size := utf8.DecodeRune(p)
		if r == utf8.RuneError && size == 1 {
			r = notUTF8 + rune(c)
		}
		w.put(r)
		return size
	}
	return 1
}

// extend appends the ASCII characters at the start of p to the row, if the cursor is at its end and
// there is room. It returns their number.
func (w *Writer) extend(p []byte) (n int) {
	row := w.rows[w.y]
	if w.x != len(row) {
		return 0
	}
	for most := min(len(p), maxRow-1-len(row)); n < most; n++ {
		if c := p[n]; c >= utf8.RuneSelf || c < ' ' && (c == '\n' || c == '\t' || strings.IndexByte(special, c) >= 0) {
			break
		}
		row = append(row, rune(p[n]))
	}
	w.rows[w.y] = row
	w.x += n
	return n
}

// put shows a character at the cursor.
func (w *Writer) put(r rune) {
	if w.x < len(w.rows[w.y]) {
		w.expand()
	}
	row := w.rows[w.y]
	if r == '\t' {
		if w.x < len(row) { // replaces nothing
			w.x = nextTab(w.x)
			return
		}
		w.tabs = true
	}
	for len(row) < w.x {
		row = append(row, ' ')
	}
	if w.x < len(row) {
		row[w.x] = r
	} else {
		row = append(row, r)
	}
	w.rows[w.y] = row
	w.x++
	switch {
	case len(row) < maxRow:
	case w.y < len(w.rows)-1:
		w.page()
	default:
		w.finish()
	}
}

// nextTab returns the column of the tab stop after a column.
func nextTab(x int) int { return x&^7 + 8 }

// expand replaces the tabs in the cursor's row with spaces, so that each rune is a column.
func (w *Writer) expand() {
	if !w.tabs {
		return
	}
	w.tabs = false
	var row []rune
	x := w.x
	for i, r := range w.rows[w.y] {
		if i == w.x {
			x = len(row)
		}
		if r != '\t' {
			row = append(row, r)
			continue
		}
		for next := nextTab(len(row)); len(row) < next; {
			row = append(row, ' ')
		}
	}
	if w.x >= len(w.rows[w.y]) {
		x = len(row) + w.x - len(w.rows[w.y])
	}
	w.rows[w.y], w.x = row, x
}

// down moves the cursor n rows down, and writes the rows that leave the screen.
func (w *Writer) down(n int) {
	for range min(n, height-1) {
		if w.y++; w.y < len(w.rows) {
			continue
		}
		if len(w.rows) == height {
			w.text = append(encode(w.text[:0], w.rows[0]), '\n')
			w.emit(w.text)
			w.free = append(w.free, w.rows[0])
			w.rows = slices.Delete(w.rows, 0, 1)
			w.y--
		}
		w.rows = append(w.rows, w.newRow())
	}
	w.tabs = slices.Contains(w.rows[w.y], '\t')
}

// finish writes all rows, and continues with an empty one.
func (w *Writer) finish() {
	w.text = w.text[:0]
	for i, row := range w.rows {
		if i > 0 {
			w.text = append(w.text, '\n')
		}
		w.text = encode(w.text, row)
	}
	w.emit(w.text)
	w.free = append(w.free, w.rows...)
	w.rows, w.x, w.y, w.tabs = append(w.rows[:0], w.newRow()), 0, 0, false
}

// newRow returns an empty row, if possible in the memory of an old one.
func (w *Writer) newRow() []rune {
	last := len(w.free) - 1
	if last < 0 {
		return nil
	}
	row := w.free[last][:0]
	w.free = w.free[:last]
	return row
}

// page continues on a new row after a move to an unknown one. The rows so far stay, because what a terminal
// showed there before is unknown.
func (w *Writer) page() {
	if len(w.rows[len(w.rows)-1]) > 0 {
		w.y = len(w.rows) - 1
		w.down(1)
	}
	w.finish()
}

func (w *Writer) emit(text []byte) {
	if w.err == nil && len(text) > 0 {
		_, w.err = w.to.Write(text)
	}
}

func encode(text []byte, row []rune) []byte {
	for _, r := range row {
		if r >= notUTF8 {
			text = append(text, byte(r-notUTF8))
		} else {
			text = utf8.AppendRune(text, r)
		}
	}
	return text
}
