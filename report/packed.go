package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report/packing"
)

// entry is a job of a fold. Most jobs of a large run have not started, or have ended: these need little memory.
type entry struct {
	id      string
	planned *event.PlannedJob // nil for a job that is not in the plan
	job     *job              // its data; nil before its first event, and if they are packed or released
	packed  []byte            // its events, compressed, after its end; nil unless the fold is [Fold.Compact], and with done
	log     *bytes.Buffer     // its events, to be packed; nil for a job whose data stay
	done    *Job              // its final report
	packer  *packing.Packer   // nil unless the fold is Compact
	early   bool              // with a packer, its report is made when it ends
}

// seen is an event as it is packed.
type seen struct {
	Starts int         `json:"n"` // number of run.started events before it
	Event  event.Event `json:"e"`
}

// lists are the fields that most of the memory of a job is needed for.
type lists struct {
	Phases   []Phase
	Calls    []Call
	Sessions []Session

	Times []time.Time // of all times in them, which have milliseconds in JSON
}

// times calls fn for all times in the lists.
func (l *lists) times(fn func(*Time)) {
	for i := range l.Phases {
		fn(&l.Phases[i].StartedAt)
	}
	for i := range l.Calls {
		fn(&l.Calls[i].StartedAt)
	}
	for i := range l.Sessions {
		for k := range l.Sessions[i].TurnCosts {
			fn(&l.Sessions[i].TurnCosts[k].StartedAt)
		}
	}
}

// packedLists are lists, compressed.
type packedLists struct {
	by   *packing.Packer
	data []byte
}

// Complete returns the job with all of its fields. In the report at the end of a run of many jobs ([Fold.Final] of one that is
// Compact), Phases, Calls and Sessions of a job are empty, because all of them together need much memory. An error is a bug, or
// damaged memory: this process has compressed them.
func (j *Job) Complete() (*Job, error) {
	if j.packed == nil {
		return j, nil
	}
	var l lists
	if err := j.packed.by.Unpack(j.packed.data, func(in io.Reader) error { return json.NewDecoder(in).Decode(&l) }); err != nil {
		return nil, fmt.Errorf("internal error: read the calls of job %s again: %w", j.ID, err)
	}
	l.times(func(t *Time) {
		if len(l.Times) > 0 {
			t.Time, l.Times = l.Times[0], l.Times[1:]
		}
	})
	for i := range l.Calls {
		if string(l.Calls[i].Input) == "null" {
			l.Calls[i].Input = nil
		}
	}
	full := *j
	full.packed, full.Phases, full.Calls, full.Sessions = nil, l.Phases, l.Calls, l.Sessions
	return &full, nil
}

// shorten compresses what [Job.Complete] restores. A job that can't be encoded stays complete.
func (j *Job) shorten(by *packing.Packer) {
	l := lists{Phases: j.Phases, Calls: j.Calls, Sessions: j.Sessions}
	l.times(func(t *Time) { l.Times = append(l.Times, t.Time) })
	if text, err := json.Marshal(l); err == nil {
		j.packed = &packedLists{by, by.Pack(text)}
		j.Phases, j.Calls, j.Sessions = []Phase{}, []Call{}, []Session{}
	}
}

// data returns the data of a job, for reading.
func (e *entry) data() *job {
	if e.job != nil {
		return e.job
	}
	return e.unpack(io.Discard)
}

// add adds an event. If the fold is Compact, the events of a job that ends replace its data.
func (e *entry) add(ev event.Event, take func(*job, event.Event), starts int) {
	if e.job == nil {
		e.log = &bytes.Buffer{}
		e.job, e.packed = e.unpack(e.log), nil
	}
	e.job.add(ev, take, starts)
	if e.packer != nil && e.early {
		if e.log = nil; e.job.end != nil {
			e.finishEarly()
		}
		return
	}
	if e.packer == nil || e.log == nil {
		return
	}
	ev.Seq, ev.Job, ev.Prev = 0, "", "" // jobs don't use them
	if err := json.NewEncoder(e.log).Encode(seen{starts, ev}); err != nil {
		e.log = nil
	} else if e.job.end != nil {
		e.packed, e.job, e.log = e.packer.Pack(e.log.Bytes()), nil, nil
	}
}

// finishEarly makes the report of a job that has ended, unless it would warn of unknown values: of these, each report has to.
func (e *entry) finishEarly() {
	out := e.job.report(false, time.Time{}) // it has ended
	var unknown Report
	if conform(&unknown, &out); len(unknown.Warnings) == 0 {
		e.finish(&out)
	}
}

// finish replaces the data of a job by its final report.
func (e *entry) finish(out *Job) {
	if e.job, e.log, e.packed, e.done = nil, nil, nil, out; e.packer != nil {
		out.shorten(e.packer)
	}
	if e.planned != nil && e.planned.Matrix != nil {
		out.Matrix = e.planned.Matrix // both stay
	}
}

// unpack returns the data of a job, and copies its events to log.
func (e *entry) unpack(log io.Writer) *job {
	j := &job{id: e.id, planned: e.planned}
	if e.packed == nil {
		return j
	}
	err := e.packer.Unpack(e.packed, func(in io.Reader) error {
		for events := json.NewDecoder(io.TeeReader(in, log)); ; {
			var s seen
			switch err := events.Decode(&s); {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
			if use, ok := uses.Of(s.Event.Type); ok {
				j.add(s.Event, use.job, s.Starts)
			}
		}
	})
	if err != nil { // a bug: this process has packed them
		end := event.CodeInternal.End(fmt.Sprintf("internal error: read the events of the job again: %v", err))
		return &job{id: e.id, planned: e.planned, end: &end}
	}
	return j
}
