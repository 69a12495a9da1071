package report

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/millhand/millhand/internal/event"
)

// joined writes the merged stream: the parts in the order of their starts, each with its
// events in order. After the first error it writes nothing.
type joined struct {
	*merge
	lines event.Sink
	fold  Fold
	seq   int64
	seen  map[string]bool     // warnings
	open  map[*item][]*rivals // jobs that did not end in these events, or are not in them
	err   error
}

// write writes the merged stream and returns the merged report.
func (m *merge) write(w io.Writer, failOn event.FailOn) (*Merged, error) {
	out := &joined{merge: m, lines: event.JSONL(w), seen: map[string]bool{}, open: map[*item][]*rivals{}}
	for _, r := range m.jobs {
		if r.source == nil || r.job.end == nil {
			out.open[r.source] = append(out.open[r.source], r)
		}
	}
	start, end := m.span()
	out.emit(start, event.Event{Type: event.RunStarted, Run: m.run(start)})
	for _, text := range m.warnings {
		out.emit(start, event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: text}})
	}
	for _, p := range m.inputs {
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
	return &Merged{Report: out.fold.Final(), Exit: exit, Source: m.sources()}, nil
}

// emit writes an event with the next number. Times keep their zone: converting some
// valid times to another zone makes them invalid.
func (out *joined) emit(at time.Time, e event.Event) {
	if out.err != nil {
		return
	}
	out.seq++
	e.Seq, e.Time, e.Prev = out.seq, at, "" // the lines are others
	if out.err = out.lines.Emit(e); out.err == nil {
		out.err = out.fold.Emit(e)
	}
}

var errEnough = errors.New("all events of the first pass are read")

// copyPart copies the relevant events of a part. It ignores events that were added since
// the first pass; missing events are an error.
func (out *joined) copyPart(p *item) {
	n := int64(0)
	err := p.each(func(e event.Event) error {
		if n == p.events {
			return errEnough
		}
		n++
		if out.counts(p, e, n) {
			out.emitEarlier(out.find(e))
			out.emit(e.Time, e)
		}
		return out.err
	})
	switch {
	case out.err != nil:
	case err != nil && !errors.Is(err, errEnough):
		out.err = fmt.Errorf("copy the events of %s: %w", p.Name, err)
	case n < p.events:
		out.err = fmt.Errorf("copy the events of %s: there were %d, now there are %d", p.Name, p.events, n)
	}
}

// find returns the runs of an event's job; nil for an event without a job.
func (out *joined) find(e event.Event) *rivals {
	if e.Job == "" {
		return nil
	}
	return out.byID[e.Job]
}

// counts reports whether the part's event with a number belongs to the merged stream.
func (out *joined) counts(p *item, e event.Event, number int64) bool {
	r := out.find(e)
	switch {
	case e.Type == event.RunStarted || e.Type == event.RunEnded || e.Type == event.Sealed:
		return false
	case r == nil:
		return e.Type == event.WarningIssued && out.isNews(e)
	case e.Type == event.JobEnded:
		return r.source == p && r.job.end != nil && p.ends[e.Job] == number
	default:
		return r.source == p
	}
}

// isNews reports whether a warning about the run is new: every part repeats those about
// the plan.
func (out *joined) isNews(e event.Event) bool {
	if e.Warning == nil {
		return false
	}
	key := e.Job + "\x00" + e.Warning.Message
	known := out.seen[key]
	out.seen[key] = true
	return !known
}

// emitEarlier emits the ends of replaced runs before the run that counts: [Fold] adds
// their usage and cost.
func (out *joined) emitEarlier(r *rivals) {
	if r == nil || r.emitted {
		return
	}
	r.emitted = true
	for _, e := range r.earlier {
		out.emit(e.at, event.Event{Type: event.JobEnded, Job: r.id, JobEnd: &e.end})
	}
}

// endJobs emits missing ends: of jobs that did not end in the part or, if it is nil, of
// jobs that no part has.
func (out *joined) endJobs(p *item, at time.Time) {
	for _, r := range out.open[p] {
		out.emitEarlier(r)
		out.emit(at, event.Event{Type: event.JobEnded, Job: r.id, JobEnd: &r.end})
	}
}
