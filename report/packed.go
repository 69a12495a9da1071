package report

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

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
	packer  *packer           // nil unless the fold is Compact
}

// seen is an event as it is packed.
type seen struct {
	Starts int         `json:"n"` // number of run.started events before it
	Event  event.Event `json:"e"`
}

// packer compresses the events of jobs. Those of the first one are a dictionary for the others, which resemble them.
type packer struct {
	deflate *flate.Writer
	first   []byte // the dictionary; nil before the first job
	out     bytes.Buffer
	readers sync.Pool
}

// maxDictionary is the number of bytes that compressed data can refer to.
const maxDictionary = 32 << 10

func (p *packer) pack(log []byte) []byte {
	if p.first == nil {
		p.deflate, _ = flate.NewWriter(nil, flate.BestSpeed) // the level is valid, and a buffer accepts all writes
		p.first = bytes.Clone(log[:min(len(log), maxDictionary)])
	}
	p.out.Reset()
	p.deflate.Reset(&p.out)
	p.deflate.Write(p.first) //nolint:errcheck // as above
	p.deflate.Flush()        //nolint:errcheck // as above
	known := p.out.Len()     // with this level, a dictionary of the package would have no effect
	p.deflate.Write(log)     //nolint:errcheck // as above
	p.deflate.Close()        //nolint:errcheck // as above
	return bytes.Clone(p.out.Bytes()[known:])
}

// unpack calls fn for the events. It is safe for concurrent use.
func (p *packer) unpack(packed []byte, log io.Writer, fn func(seen)) error {
	inflate, ok := p.readers.Get().(io.ReadCloser)
	if !ok {
		inflate = flate.NewReader(nil)
	}
	defer p.readers.Put(inflate)
	inflate.(flate.Resetter).Reset(bytes.NewReader(packed), p.first) //nolint:errcheck,forcetypeassert // as documented; its error is the next read's
	for in := json.NewDecoder(io.TeeReader(inflate, log)); ; {
		var s seen
		switch err := in.Decode(&s); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		fn(s)
	}
}

// Complete returns the job with all of its fields. In the report at the end of a run of many jobs ([Fold.Final] of one that is
// Compact), Phases, Calls and Sessions of a job are empty, because all of them together need much memory.
func (j *Job) Complete() *Job {
	if j.from == nil {
		return j
	}
	made := j.from.data().report(false, time.Time{}) // it has ended
	full := *j
	full.from, full.Phases, full.Calls, full.Sessions = nil, made.Phases, made.Calls, made.Sessions
	return &full
}

// shorten removes what [Job.Complete] restores.
func (j *Job) shorten(from *entry) {
	j.from, j.Phases, j.Calls, j.Sessions = from, []Phase{}, []Call{}, []Session{}
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
	take(e.job.see(ev.Time, starts), ev)
	if e.packer == nil || e.log == nil {
		return
	}
	ev.Seq, ev.Job, ev.Prev = 0, "", "" // jobs don't use them
	if err := json.NewEncoder(e.log).Encode(seen{starts, ev}); err != nil {
		e.log = nil
	} else if e.job.end != nil {
		e.packed, e.job, e.log = e.packer.pack(e.log.Bytes()), nil, nil
	}
}

// unpack returns the data of a job, and copies its events to log.
func (e *entry) unpack(log io.Writer) *job {
	j := &job{id: e.id, planned: e.planned}
	if e.packed == nil {
		return j
	}
	err := e.packer.unpack(e.packed, log, func(s seen) {
		if take := taker(s.Event.Type); take != nil {
			take(j.see(s.Event.Time, s.Starts), s.Event)
		}
	})
	if err != nil { // a bug: this process has packed them
		end := event.CodeInternal.End(fmt.Sprintf("internal error: read the events of the job again: %v", err))
		return &job{id: e.id, planned: e.planned, end: &end}
	}
	return j
}
