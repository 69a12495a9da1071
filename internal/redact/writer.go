package redact

import (
	"io"
	"unsafe"
)

// How much a Writer keeps back to see what belongs together: at most so much
// before it looks, and so much of that for the next time.
const (
	atOnce   = 64 << 10
	keptBack = 8 << 10
)

// Writer passes a text on without secrets, also those that come in pieces, if
// they are not longer than 8 KiB.
type Writer struct {
	r   *Redactor
	out io.Writer
	buf []byte
}

// Writer makes a Writer on out. The caller flushes it at the end.
func (r *Redactor) Writer(out io.Writer) *Writer { return &Writer{r: r, out: out} }

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	if len(w.buf) < atOnce {
		return len(p), nil
	}
	text := unsafe.String(unsafe.SliceData(w.buf), len(w.buf)) // not copied: a flood must not cost memory, and nothing changes it before it is written
	found := w.r.Find(text)
	cut := len(text) - keptBack
	for i, f := range found {
		if f.End > cut { // it may go on
			cut, found = min(cut, f.Start), found[:i]
			break
		}
	}
	if len(text)-cut > atOnce { // one secret without an end
		cut, found = len(text), w.r.Find(text)
	}
	var err error
	if len(found) == 0 {
		_, err = w.out.Write(w.buf[:cut])
	} else {
		_, err = io.WriteString(w.out, without(text[:cut], found))
	}
	w.buf = append(w.buf[:0], w.buf[cut:]...)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on what was kept back.
func (w *Writer) Flush() error {
	_, err := io.WriteString(w.out, w.r.Text(string(w.buf)))
	w.buf = w.buf[:0]
	return err
}
