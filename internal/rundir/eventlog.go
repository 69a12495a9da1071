package rundir

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc/failpoint"
)

// EventLog writes the events of a run to a file and syncs it: before and after each effect
// outside of the run's directories, at the end of each job and of the run, and in the
// background after each turn.
//
// After a write error, for example on a full disk, it buffers lines in memory, and
// completes the file at the end if possible. The file never has an incomplete line.
type EventLog struct {
	room func(error) bool                      // frees disk space after an error; reports whether it did
	copy func(line []byte, durable bool) error // of each line; nil for none

	mu    sync.Mutex   // Err is called while events are written
	chain *event.Chain // nil without evidence
	run   *event.Run   // the last start, with evidence
	seal  *event.Seal  // the last one
	file  *os.File
	size  int64  // of complete lines
	rest  []byte // buffered lines
	fault error  // first error

	syncing bool           // in the background
	syncs   sync.WaitGroup // complete waits for them
}

// Emit always returns nil: other sinks must get events even if the disk is full.
func (l *EventLog) Emit(e event.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, err := l.line(e)
	failpoint.Hit(failpoint.EventBefore, kindOf(e))
	defer failpoint.Hit(failpoint.EventAfter, kindOf(e))
	if err == nil && l.copy != nil {
		// Also the start of a turn: its request costs money, even if this process is killed while it waits for the response.
		err = l.copy(line, e.Type.Durable() || e.Type == event.TurnStarted)
	}
	if err == nil && l.fault == nil {
		err = l.write(line)
		switch {
		case err != nil:
		case e.Type.Durable():
			err = l.file.Sync()
			line = nil
		case e.Type == event.TurnEnded:
			l.syncLater()
		}
	}
	l.fail(err)
	if l.fault != nil {
		l.rest = append(l.rest, line...)
	}
	return nil
}

// line returns the line of an event, with its newline.
func (l *EventLog) line(e event.Event) ([]byte, error) {
	if l.chain != nil {
		e.Prev = l.chain.Head()
	}
	line, err := event.Line(e)
	if err != nil {
		return nil, err
	}
	if l.chain == nil {
		return append(line, '\n'), nil
	}
	l.chain.Add(e, event.LineHash(line))
	switch {
	case e.Run != nil: // nobody modifies the payload of a start or of a seal
		l.run = e.Run
	case e.Type == event.Sealed:
		l.seal = e.Seal
	}
	return append(line, '\n'), nil
}

// last returns the last start of the run and its last seal, as they were written, and the chain.
func (l *EventLog) last() (*event.Run, *event.Seal, *event.Chain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run, l.seal, l.chain
}

// Head returns the SHA-256 of the last line about a job, in hexadecimal; "" without evidence.
func (l *EventLog) Head(job string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.chain == nil {
		return ""
	}
	return l.chain.Job(job)
}

// kindOf returns the kind of an event for failpoints.
func kindOf(e event.Event) string {
	if e.Phase != nil {
		return string(e.Type) + "." + e.Phase.Name
	}
	return string(e.Type)
}

func (l *EventLog) fail(err error) {
	if err != nil && l.fault == nil {
		l.fault = fmt.Errorf("events.jsonl: %w", files.Reason(err))
	}
}

// syncLater syncs the file in the background, unless that is in progress: the end of the
// next turn syncs the rest then.
func (l *EventLog) syncLater() {
	if l.syncing {
		return
	}
	l.syncing = true
	l.syncs.Go(func() {
		err := l.file.Sync()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.syncing = false
		l.fail(err)
	})
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
	l.syncs.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) == 0 {
		return nil
	}
	if err := l.write(l.rest); err != nil {
		return fmt.Errorf("write the rest of events.jsonl: %w", files.Reason(err))
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
