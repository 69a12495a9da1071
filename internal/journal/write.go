package journal

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/proc/failpoint"
)

// Writer adds lines to a file, each with one Write call. It is safe for concurrent use; a
// nil Writer does nothing.
type Writer struct {
	out   io.Writer
	now   func() time.Time
	clean func(line []byte) []byte // removes secrets
	fail  func(error)

	mu     sync.Mutex
	failed bool
}

// NewWriter returns a writer. clean is applied to each line. fail is called with the first
// error, after which nothing is written: what follows would not fit.
func NewWriter(out io.Writer, now func() time.Time, clean func(line []byte) []byte, fail func(error)) *Writer {
	return &Writer{out: out, now: now, clean: clean, fail: fail}
}

// Session starts a conversation.
func (w *Writer) Session(s Session) {
	if w != nil {
		s.Time = w.now().UTC()
		w.write(sessionLine, s)
	}
}

// Message adds a message, or replaces the one with its id.
func (w *Writer) Message(m Message) {
	if w != nil {
		m.Time = w.now().UTC()
		w.write(messageLine, m)
	}
}

// Compaction replaces messages by a summary.
func (w *Writer) Compaction(c Compaction) {
	if w != nil {
		c.Time = w.now().UTC()
		c.By.Time = c.Time
		w.write(compactionLine, c)
	}
}

// Sent records what was sent instead of the conversation.
func (w *Writer) Sent(s Sent) {
	if w != nil {
		s.Time = w.now().UTC()
		w.write(sentLine, s)
	}
}

// Turn completes a turn.
func (w *Writer) Turn(t Turn) {
	if w != nil {
		t.Time = w.now().UTC()
		w.write(turnLine, t)
	}
}

// Resume removes the messages after one from the conversation.
func (w *Writer) Resume(r Resume) {
	if w != nil {
		r.Time = w.now().UTC()
		w.write(resumeLine, r)
	}
}

// Entry adds a line of another file, with its time.
func (w *Writer) Entry(e Entry) {
	switch {
	case w == nil:
	case e.Session != nil:
		w.write(sessionLine, e.Session)
	case e.Message != nil:
		w.write(messageLine, e.Message)
	case e.Compaction != nil:
		w.write(compactionLine, e.Compaction)
	case e.Turn != nil:
		w.write(turnLine, e.Turn)
	case e.Resume != nil:
		w.write(resumeLine, e.Resume)
	}
}

func (w *Writer) write(k kind, content any) {
	text, err := encode(k, content)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed {
		return
	}
	if err == nil {
		failpoint.Hit(failpoint.JournalBefore, string(k))
		_, err = w.out.Write(append(w.clean(text), '\n'))
		failpoint.Hit(failpoint.JournalAfter, string(k))
	}
	if err != nil {
		w.failed = true
		w.fail(err)
	}
}

// encode returns a line: the content with the type as its first field.
func encode(k kind, content any) ([]byte, error) {
	head, err := json.Marshal(line{k})
	if err != nil {
		return nil, fmt.Errorf("encode a %s: %w", k, err)
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode a %s: %w", k, err)
	}
	head[len(head)-1] = ','
	return slices.Concat(head, text[1:]), nil
}
