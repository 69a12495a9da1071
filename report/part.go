package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// item is a [Part] after the first pass.
type item struct {
	Input
	fold   Fold             // without texts of tools and models
	events int64            // number of events in the stream
	ends   map[string]int64 // number of the last job.ended event of each job, from 1
	plan   bool             // it runs no job, and lists those of the plan
}

func (p *item) run() *event.Run { return p.fold.run }

// shard returns the zero value for a run of the entire plan.
func (p *item) shard() event.Shard {
	if s := p.run().Shard; s != nil {
		return *s
	}
	return event.Shard{}
}

// readPart reads a part for the first pass, and adds the jobs of other shards that it
// lists to elsewhere.
func readPart(given Input, elsewhere map[string]event.PlannedJob) (*item, error) {
	p := &item{Input: given, ends: map[string]int64{}}
	err := p.each(func(e event.Event) error {
		if p.events++; p.events == 1 && (e.Run == nil || e.Type != event.RunStarted) {
			return errNoStart
		}
		if e.Type == event.RunStarted && e.Run != nil {
			p.plan = e.Run.Shard == nil && len(e.Run.Jobs) == 0 && len(e.Run.Elsewhere) > 0
			for _, planned := range e.Run.Elsewhere {
				if _, ok := elsewhere[planned.ID]; !ok {
					elsewhere[planned.ID] = planned
				}
			}
		}
		if e.Type == event.JobEnded && e.JobEnd != nil {
			p.ends[e.Job] = p.events
		}
		return p.fold.Emit(outline(e))
	})
	switch {
	case errors.Is(err, errNoStart):
		return nil, &RefusedError{Names: []string{p.Name}, Reason: errNoStart.Error()}
	case err != nil:
		return nil, &RefusedError{Names: []string{p.Name}, Reason: "invalid events", Err: err}
	case p.events == 0:
		return nil, &RefusedError{Names: []string{p.Name}, Reason: "no events"}
	case p.run().ID == "":
		return nil, &RefusedError{Names: []string{p.Name}, Reason: "run.started has no run id"}
	}
	return p, nil
}

var errNoStart = errors.New("the first event is not run.started")

// each calls fn for every event of the part's stream.
func (p *item) each(fn func(event.Event) error) error {
	stream, err := p.Open()
	if err != nil {
		return err
	}
	defer stream.Close()
	return read(stream, fn)
}

// outline removes the large fields of an event that don't affect ends of jobs, turns and
// costs.
func outline(e event.Event) event.Event {
	e.Baseline, e.Verify, e.Changes, e.Commit, e.Published, e.Comment, e.ForgeRequest, e.Warning = nil, nil, nil, nil, nil, nil, nil, nil
	switch {
	case e.Type == event.CallUpdated && e.Call != nil: // only its turn matters
		e.Type, e.Turn = event.TurnStarted, &event.Turn{Number: e.Call.Turn}
	case e.SessionInfo != nil:
		e.SessionInfo = &event.Session{}
	case e.JobEnd != nil:
		end := brief(*e.JobEnd)
		e.JobEnd = &end
	}
	e.Call = nil
	return e
}

// ending returns the end of a job in the part, with the part's exit code if the job did
// not end.
func (p *item) ending(j *job) event.JobEnd {
	cancelled := p.fold.end != nil && p.fold.end.Outcome == event.Cancelled
	end := j.ending(cancelled, p.fold.last)
	switch {
	case j.end != nil:
	case p.fold.end != nil:
		end.ExitCode = p.fold.end.ExitCode
	default:
		end.ExitCode = event.ExitInternal // as for a killed run
	}
	return end
}

// interrupt returns the exit code of the signal that ended the part, or ExitOK.
func (p *item) interrupt() event.Exit {
	signals := []event.Exit{event.ExitInterrupt, event.ExitTerminate}
	if p.fold.end != nil && slices.Contains(signals, p.fold.end.ExitCode) {
		return p.fold.end.ExitCode
	}
	return event.ExitOK
}

// rivals are the runs of one job in several parts, one of which counts.
type rivals struct {
	id      string
	planned *event.PlannedJob // nil if no part's plan has the job
	source  *item             // the part whose run counts; nil if no part has the job
	job     *job              // the run of the job that counts
	end     event.JobEnd      // of the run of the job that counts
	earlier []earlier         // replaced runs
	emitted bool              // whether earlier is in the merged stream
}

// add adds a run of the job; parts are added in the order of their starts.
func (r *rivals) add(p *item, j *job) {
	end := p.ending(j)
	r.earlier = append(r.earlier, j.earlier...)
	began := r.source != nil && !wasSkipped(r.job, r.end)
	if began && r.job.end != nil && wasSkipped(j, end) {
		r.planned = cmp.Or(r.planned, j.planned)
		return
	}
	if began {
		r.earlier = append(r.earlier, r.replaced())
	}
	r.source, r.job, r.end, r.planned = p, j, end, cmp.Or(j.planned, r.planned)
}

// replaced returns the end of the run that counted so far.
func (r *rivals) replaced() earlier {
	end, at := r.end, r.job.endedAt
	if end.CostUSD == nil && end.Turns == 0 { // otherwise the cost would count as 0
		end.Turns = r.job.spent().turns
	}
	if r.job.end == nil {
		at = r.source.fold.last
	}
	return earlier{at, end}
}

// wasSkipped reports whether a job was skipped: nothing was done or spent.
func wasSkipped(j *job, end event.JobEnd) bool {
	free := end.Turns == 0 && end.Usage == money.Usage{} && end.CostUSD != nil && *end.CostUSD == 0
	return free && j.start == nil && (end.Outcome == event.Skipped || end.Outcome == event.Cancelled)
}

// interrupt returns the exit code of the signal that cancelled the job, or ExitOK.
func (r *rivals) interrupt() event.Exit {
	if r.source != nil && r.end.Outcome == event.Cancelled {
		return r.source.interrupt()
	}
	return event.ExitOK
}

// index is the job's index in the plan; after all others if unknown.
func (r *rivals) index() int {
	if r.planned == nil || r.planned.Index == 0 {
		return math.MaxInt
	}
	return r.planned.Index
}

func (r *rivals) shard() int {
	if r.planned == nil {
		return 0
	}
	return r.planned.Shard
}

// absent returns the end of a job that is in none of the parts.
func (r *rivals) absent(m *merge) event.JobEnd {
	why := "its shard is missing"
	if m.distributed() != nil {
		return event.CodeNotRun.End("not run: no worker has started it")
	}
	for _, p := range m.inputs {
		s := p.shard()
		switch {
		case s.Total == 0 || r.shard() == 0:
		case s.Index == r.shard():
			return event.CodeNotRun.End(fmt.Sprintf("not run: missing from shard %d/%d", s.Index, s.Total))
		default:
			why = fmt.Sprintf("shard %d/%d is missing", r.shard(), s.Total)
		}
	}
	return event.CodeNotRun.End("not run: " + why)
}
