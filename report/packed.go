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

// packer compresses the events of jobs. Those of the first one are a dictionary for the others, which resemble them.
type packer struct {
	deflate *flate.Writer
	inflate io.ReadCloser
	first   []byte // the dictionary; nil before the first job
	out     bytes.Buffer
}

// maxDictionary is the number of bytes that compressed data can refer to.
const maxDictionary = 32 << 10

func (p *packer) pack(log []byte) []byte {
	if p.first == nil {
		p.deflate, _ = flate.NewWriter(nil, flate.BestSpeed) // the level is valid, and a buffer accepts all writes
		p.inflate = flate.NewReader(nil)
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

// unpack returns a reader of the events until its next call.
func (p *packer) unpack(packed []byte) (io.Reader, error) {
	return p.inflate, p.inflate.(flate.Resetter).Reset(bytes.NewReader(packed), p.first) //nolint:forcetypeassert // as documented
}

// data returns the data of a job, for reading.
func (e *entry) data(p *packer) *job {
	if e.job != nil {
		return e.job
	}
	return e.unpack(p, io.Discard)
}

// add adds an event. If p is not nil, the events of a job that ends replace its data.
func (e *entry) add(ev event.Event, take func(*job, event.Event), starts int, p *packer) {
	if e.job == nil {
		e.log = &bytes.Buffer{}
		e.job, e.packed = e.unpack(p, e.log), nil
	}
	take(e.job.see(ev.Time, starts), ev)
	if p == nil || e.log == nil {
		return
	}
	ev.Seq, ev.Job, ev.Prev = 0, "", "" // jobs don't use them
	if err := json.NewEncoder(e.log).Encode(seen{starts, ev}); err != nil {
		e.log = nil
	} else if e.job.end != nil {
		e.packed, e.job, e.log = p.pack(e.log.Bytes()), nil, nil
	}
}

// unpack returns the data of a job, and copies its events to log.
func (e *entry) unpack(p *packer, log io.Writer) *job {
	j := &job{id: e.id, planned: e.planned}
	if e.packed == nil {
		return j
	}
	text, err := p.unpack(e.packed)
	for in := json.NewDecoder(io.TeeReader(text, log)); err == nil; {
		var s seen
		if err = in.Decode(&s); err != nil {
			break
		}
		if take := taker(s.Event.Type); take != nil {
			take(j.see(s.Event.Time, s.Starts), s.Event)
		}
	}
	if !errors.Is(err, io.EOF) { // a bug: this process has packed them
		end := event.CodeInternal.End(fmt.Sprintf("internal error: read the events of the job again: %v", err))
		return &job{id: e.id, planned: e.planned, end: &end}
	}
	return j
}
