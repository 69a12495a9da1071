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

// part is a [Part] that was read once.
type part struct {
	Part
	fold   Fold             // of all but what tools and models wrote
	events int64            // how many the stream has
	ends   map[string]int64 // the job.ended event that was the last of its job, counted from 1
}

func (p *part) run() *event.Run { return p.fold.run }

// shard is zero for a run of the whole plan.
func (p *part) shard() event.Shard {
	if s := p.run().Shard; s != nil {
		return *s
	}
	return event.Shard{}
}

// readPart reads a part for the first time and adds the jobs that it knows of
// in other shards to elsewhere.
func readPart(given Part, elsewhere map[string]event.PlannedJob) (*part, error) {
	p := &part{Part: given, ends: map[string]int64{}}
	err := p.each(func(e event.Event) error {
		if p.events++; p.events == 1 && (e.Run == nil || e.Type != event.RunStarted) {
			return errNoStart
		}
		if e.Type == event.RunStarted && e.Run != nil {
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
		return nil, &RefusedError{Names: []string{p.Name}, Reason: "its events can't be read", Err: err}
	case p.events == 0:
		return nil, &RefusedError{Names: []string{p.Name}, Reason: "it has no events"}
	case p.run().ID == "":
		return nil, &RefusedError{Names: []string{p.Name}, Reason: "its events do not say which run it is"}
	}
	return p, nil
}

var errNoStart = errors.New("its events do not begin with the start of a run")

// each calls fn for every event of the part's stream.
func (p *part) each(fn func(event.Event) error) error {
	stream, err := p.Open()
	if err != nil {
		return err
	}
	defer stream.Close()
	return event.Read(stream, fn)
}

// outline is an event without what makes it large, which folds to the same
// ends of jobs, turns and costs.
func outline(e event.Event) event.Event {
	e.Verify, e.Changes, e.Commit, e.Published, e.Warning = nil, nil, nil, nil, nil
	switch {
	case e.Type == event.CallChanged && e.Call != nil: // tells of its turn
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

// ending is how a job of the part ended, with the exit code that it stands for
// if it did not say.
func (p *part) ending(j *job) event.JobEnd {
	cancelled := p.fold.end != nil && p.fold.end.Outcome == event.Cancelled
	end := j.ending(cancelled, p.fold.last)
	switch {
	case j.end != nil:
	case p.fold.end != nil:
		end.ExitCode = p.fold.end.ExitCode
	default:
		end.ExitCode = event.ExitInternal // as that of a run that was killed
	}
	return end
}

// interrupt is the exit code of the signal that ended the part, or ExitOK.
func (p *part) interrupt() event.Exit {
	signals := []event.Exit{event.ExitInterrupt, event.ExitTerminate}
	if p.fold.end != nil && slices.Contains(signals, p.fold.end.ExitCode) {
		return p.fold.end.ExitCode
	}
	return event.ExitOK
}

// rivals are the runs of one job in several parts, of which one counts.
type rivals struct {
	id      string
	planned *event.PlannedJob // nil if no part's plan has the job
	source  *part             // the part whose run counts; nil if no part has the job
	job     *job              // the run of the job that counts
	end     event.JobEnd      // and how it ended
	earlier []earlier         // the others
	told    bool              // whether they are in the merged stream
}

// add takes a further run of the job; parts come as they started.
func (r *rivals) add(p *part, j *job) {
	end := p.ending(j)
	r.earlier = append(r.earlier, j.earlier...)
	began := r.source != nil && !neverBegan(r.job, r.end)
	if began && r.job.end != nil && neverBegan(j, end) {
		r.planned = cmp.Or(r.planned, j.planned)
		return
	}
	if began {
		r.earlier = append(r.earlier, r.replaced())
	}
	r.source, r.job, r.end, r.planned = p, j, end, cmp.Or(j.planned, r.planned)
}

// replaced is the run that counted until now.
func (r *rivals) replaced() earlier {
	end, at := r.end, r.job.endedAt
	if end.CostUSD == nil && end.Turns == 0 { // else the cost would be taken for 0
		end.Turns = r.job.spent().turns
	}
	if r.job.end == nil {
		at = r.source.fold.last
	}
	return earlier{at, end}
}

// neverBegan tells whether a job was passed over: nothing was done or spent.
func neverBegan(j *job, end event.JobEnd) bool {
	free := end.Turns == 0 && end.Usage == money.Usage{} && end.CostUSD != nil && *end.CostUSD == 0
	return free && j.start == nil && (end.Outcome == event.Skipped || end.Outcome == event.Cancelled)
}

// exits are the codes that the job gives to the whole run.
func (r *rivals) exits() []event.Exit {
	codes := []event.Exit{r.end.ExitCode}
	if r.source != nil && r.end.Outcome == event.Cancelled {
		codes = append(codes, r.source.interrupt())
	}
	return codes
}

// place is where the job stands in the plan; after all others if unknown.
func (r *rivals) place() int {
	if r.planned == nil || r.planned.Place == 0 {
		return math.MaxInt
	}
	return r.planned.Place
}

func (r *rivals) shard() int {
	if r.planned == nil {
		return 0
	}
	return r.planned.Shard
}

// absent is the end of a job that no part has: parts are those there are.
func (r *rivals) absent(parts []*part) event.JobEnd {
	why := "the shard that has it is missing"
	for _, p := range parts {
		s := p.shard()
		switch {
		case s.Total == 0 || r.shard() == 0:
		case s.Index == r.shard():
			return notRun(fmt.Sprintf("shard %d/%d was merged without it", s.Index, s.Total))
		default:
			why = fmt.Sprintf("shard %d/%d is missing", r.shard(), s.Total)
		}
	}
	return notRun(why)
}

func notRun(why string) event.JobEnd {
	return event.JobEnd{
		Outcome: event.Skipped, Reason: "not run: " + why, Code: event.CodeNotRun,
		ExitCode: event.ExitFailed, CostUSD: new(money.USD),
	}
}
