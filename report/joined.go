package report

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/millhand/millhand/internal/event"
)

// joined is the merged stream while it is written. Part follows part, in the
// order in which they started, and each has its events as it had them. After
// the first error nothing more is written.
type joined struct {
	*merge
	lines event.Sink
	fold  Fold
	seq   int64
	told  map[string]bool // warnings
	err   error
}

// write writes the merged stream and gives what it comes to.
func (m *merge) write(w io.Writer, failOn event.FailOn) (*Merged, error) {
	out := &joined{merge: m, lines: event.JSONL(w), told: map[string]bool{}}
	start, end := m.span()
	out.emit(start, event.Event{Type: event.RunStarted, Run: m.run(start)})
	for _, text := range m.warnings {
		out.emit(start, event.Event{Type: event.WarningGiven, Warning: &event.Warning{Message: text}})
	}
	for _, p := range m.parts {
		out.copyPart(p)
		out.endJobs(p, p.fold.last)
	}
	out.endJobs(nil, end)
	worst, exit := m.exit(failOn)
	out.emit(end, event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{
		Outcome: worst.OutcomeOf(), ExitCode: exit, ElapsedMS: max(0, end.Sub(start).Milliseconds()),
	}})
	if out.err != nil {
		return nil, fmt.Errorf("merge runs: %w", out.err)
	}
	return &Merged{Report: out.fold.Report(), Exit: exit, Source: m.sources()}, nil
}

// emit writes an event with the next number. A time stays in its zone: not
// every time that can be read can be written in another.
func (out *joined) emit(at time.Time, e event.Event) {
	if out.err != nil {
		return
	}
	out.seq++
	e.Seq, e.Time = out.seq, at
	if out.err = out.lines.Emit(e); out.err == nil {
		out.err = out.fold.Emit(e)
	}
}

var errEnough = errors.New("the events that were there at the first reading are read")

// copyPart copies those events of a part that count. More may have come since
// the part was read first; fewer can't be.
func (out *joined) copyPart(p *part) {
	n := int64(0)
	err := p.each(func(e event.Event) error {
		if n == p.events {
			return errEnough
		}
		n++
		if out.counts(p, e, n) {
			out.tellEarlier(out.find(e))
			out.emit(e.Time, e)
		}
		return out.err
	})
	switch {
	case out.err != nil:
	case err != nil && !errors.Is(err, errEnough):
		out.err = fmt.Errorf("copy the events of %s: %w", p.Name, err)
	case n < p.events:
		out.err = fmt.Errorf("copy the events of %s: there were %d, and now there are %d", p.Name, p.events, n)
	}
}

// find returns the runs of the job that an event is about, nil if it is about
// none that can be merged.
func (out *joined) find(e event.Event) *rivals {
	if e.Job == "" {
		return nil
	}
	return out.byID[e.Job]
}

// counts tells whether the part's event of that number stays in the merged
// stream.
func (out *joined) counts(p *part, e event.Event, number int64) bool {
	r := out.find(e)
	switch {
	case e.Type == event.RunStarted || e.Type == event.RunEnded || e.Type == event.DeltaCame:
		return false
	case r == nil:
		return e.Type == event.WarningGiven && out.isNews(e)
	case e.Type == event.JobEnded:
		return r.source == p && r.job.end != nil && p.ends[e.Job] == number
	default:
		return r.source == p
	}
}

// isNews tells whether a warning about the run is a new one: every part has
// those about the plan.
func (out *joined) isNews(e event.Event) bool {
	if e.Warning == nil {
		return false
	}
	key := e.Job + "\x00" + e.Warning.Message
	known := out.told[key]
	out.told[key] = true
	return !known
}

// tellEarlier puts the ends of the runs that do not count before the one that
// does: [Fold] adds up what they have spent.
func (out *joined) tellEarlier(r *rivals) {
	if r == nil || r.told {
		return
	}
	r.told = true
	for _, e := range r.earlier {
		out.emit(e.at, event.Event{Type: event.JobEnded, Job: r.id, JobEnd: &e.end})
	}
}

// endJobs writes the ends that no stream has: of the jobs that the part left
// open or, if it is nil, of those that no part has.
func (out *joined) endJobs(p *part, at time.Time) {
	for _, r := range out.jobs {
		if r.source == p && (p == nil || r.job.end == nil) {
			out.tellEarlier(r)
			out.emit(at, event.Event{Type: event.JobEnded, Job: r.id, JobEnd: &r.end})
		}
	}
}
