package proc

import "bytes"

// Tail stores the end of what is written to it, in bounded memory.
type Tail struct {
	max   int
	buf   []byte
	total int64
}

// NewTail returns a Tail that stores at least the last limit bytes.
func NewTail(limit int) *Tail { return &Tail{max: limit} }

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.total += int64(len(p))
	if len(p) >= t.max {
		t.buf = append(t.buf[:0], p[len(p)-t.max:]...)
		return len(p), nil
	}
	if len(t.buf)+len(p) > 2*t.max {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.max:]...)
	}
	t.buf = append(t.buf, p...)
	return len(p), nil
}

// Total returns how many bytes were written in all.
func (t *Tail) Total() int64 { return t.total }

// Bytes returns the last limit bytes, or all if there were no more.
func (t *Tail) Bytes() []byte {
	if len(t.buf) > t.max {
		return bytes.Clone(t.buf[len(t.buf)-t.max:])
	}
	return bytes.Clone(t.buf)
}
