package redact

import (
	"io"
	"unsafe"
)

// The buffer of a Writer: its maximum size before it is searched, and the tail
// that is held back for the next search.
const (
	flushSize = 64 << 10
	heldTail  = 8 << 10
)

// Writer redacts a stream, including secrets split across writes, up to 8 KiB
// long.
type Writer struct {
	r   *Redactor
	out io.Writer
	buf []byte
}

// Writer returns a Writer that writes to out. The caller must call Flush at the
// end.
func (r *Redactor) Writer(out io.Writer) *Writer { return &Writer{r: r, out: out} }

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	if len(w.buf) < flushSize {
		return len(p), nil
	}
	text := unsafe.String(unsafe.SliceData(w.buf), len(w.buf)) // not copied: a flood must not cost memory, and nothing changes it before it is written
	found := w.r.Find(text)
	cut := len(text) - heldTail
	for i, f := range found {
		if f.End > cut { // it may go on
			cut, found = min(cut, f.Start), found[:i]
			break
		}
	}
	if len(text)-cut > flushSize { // one secret without an end
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

// Flush writes the buffered rest.
func (w *Writer) Flush() error {
	_, err := io.WriteString(w.out, w.r.Text(string(w.buf)))
	w.buf = w.buf[:0]
	return err
}
