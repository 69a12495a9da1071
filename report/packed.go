package report

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/millhand/millhand/internal/event"
)

// entry is a job of a fold. Most jobs of a large run have not started, or have ended: these need little memory.
type entry struct {
	id      string
	planned *event.PlannedJob // nil for a job that is not in the plan
	job     *job              // its data; nil before its first event, and if they are packed or released
	packed  []byte            // its events, compressed, after its end; nil unless the fold is [Fold.Compact]
	log     *bytes.Buffer     // its events, to be packed; nil for a job whose data stay
	done    *Job              // its final report
}

// seen is an event as it is packed.
type seen struct {
	Starts int         `json:"n"` // number of run.started events before it
	Event  event.Event `json:"e"`
}

// data returns the data of a job, for reading.
func (e *entry) data() *job {
	if e.job != nil {
		return e.job
	}
	j, _ := e.unpack()
	return j
}

// add adds an event. If it is compact, the events of a job that ends replace its data; w is reused.
func (e *entry) add(ev event.Event, take func(*job, event.Event), starts int, compact bool, w *flate.Writer) {
	if e.job == nil {
		e.job, e.log = e.unpack()
		e.packed = nil
	}
	take(e.job.see(ev.Time, starts), ev)
	if !compact || e.log == nil {
		return
	}
	ev.Seq, ev.Job, ev.Prev = 0, "", "" // jobs don't use them
	if err := json.NewEncoder(e.log).Encode(seen{starts, ev}); err != nil {
		e.log = nil
		return
	}
	if e.job.end == nil {
		return
	}
	var packed bytes.Buffer
	w.Reset(&packed)
	if _, err := e.log.WriteTo(w); err == nil && w.Close() == nil { // a buffer accepts everything
		e.packed, e.job, e.log = bytes.Clone(packed.Bytes()), nil, nil
	}
}

// unpack returns the data of a job, and its events for packing them again.
func (e *entry) unpack() (*job, *bytes.Buffer) {
	j, log := &job{id: e.id, planned: e.planned}, &bytes.Buffer{}
	if e.packed == nil {
		return j, log
	}
	for in := json.NewDecoder(io.TeeReader(flate.NewReader(bytes.NewReader(e.packed)), log)); ; {
		var s seen
		switch err := in.Decode(&s); {
		case errors.Is(err, io.EOF):
			return j, log
		case err != nil: // a bug: this process has encoded them
			end := event.CodeInternal.End(fmt.Sprintf("internal error: read the events of the job again: %v", err))
			return &job{id: e.id, planned: e.planned, end: &end}, nil
		}
		if take := taker(s.Event.Type); take != nil {
			take(j.see(s.Event.Time, s.Starts), s.Event)
		}
	}
}
