package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/reportdir"
)

// EventLog writes the events of a run to a file and syncs it at commits and at the end
// of each job and of the run.
//
// After a write error, for example on a full disk, it buffers lines in memory, and
// completes the file at the end if possible. The file never has an incomplete line.
type EventLog struct {
	room func(error) bool // frees disk space after an error; reports whether it did

	mu    sync.Mutex // Err is called while events are written
	file  *os.File
	size  int64  // of complete lines
	rest  []byte // buffered lines
	fault error  // first error
}

// Emit always returns nil: other sinks must get events even if the disk is full.
func (l *EventLog) Emit(e event.Event) error {
	var line bytes.Buffer
	err := event.JSONL(&line).Emit(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.fault == nil {
		err = l.write(line.Bytes())
		if err == nil && (e.Type == event.JobEnded || e.Type == event.Committed || e.Type == event.RunEnded) {
			err = l.file.Sync()
			line.Reset()
		}
	}
	if err != nil && l.fault == nil {
		l.fault = fmt.Errorf("events.jsonl: %w", reportdir.Reason(err))
	}
	if l.fault != nil {
		l.rest = append(l.rest, line.Bytes()...)
	}
	return nil
}

// write appends complete lines, or nothing.
func (l *EventLog) write(lines []byte) error {
	for {
		_, err := l.file.Write(lines)
		if err == nil {
			l.size += int64(len(lines))
			return nil
		}
		if cut := l.file.Truncate(l.size); cut != nil {
			return errors.Join(err, cut)
		}
		if !l.room(err) {
			return err
		}
	}
}

// complete writes the buffered lines.
func (l *EventLog) complete() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) == 0 {
		return nil
	}
	if err := l.write(l.rest); err != nil {
		return fmt.Errorf("write the rest of events.jsonl: %w", reportdir.Reason(err))
	}
	l.rest = nil
	return l.file.Sync()
}

// Err returns the first error, nil if there was none.
func (l *EventLog) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}
