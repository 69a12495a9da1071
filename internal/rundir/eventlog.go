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

// EventLog writes the events of a run to a file and forces them to the disk where
// a crash must not lose them: at the end of each job and of the run.
//
// Once it can't be written, as on a full disk, the lines wait in memory, and the
// file never holds part of one: the reports are made of the same events, and the
// file is completed at the end, if it can be.
type EventLog struct {
	room func(error) bool // makes room after a fault; reports whether it has

	mu    sync.Mutex // the runner asks for the fault while events are written
	file  *os.File
	size  int64  // of complete lines
	rest  []byte // lines that wait
	fault error  // the first
}

// Emit never fails: a full disk must not keep events from the other sinks.
func (l *EventLog) Emit(e event.Event) error {
	var line bytes.Buffer
	err := event.JSONL(&line).Emit(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.fault == nil {
		err = l.write(line.Bytes())
		if err == nil && (e.Type == event.JobEnded || e.Type == event.CommitMade || e.Type == event.RunEnded) {
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

// complete writes the lines that wait.
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

// Err returns the first fault, nil if there was none.
func (l *EventLog) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}
