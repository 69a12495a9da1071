package history

import (
	"slices"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// Past is what earlier processes did of a run, from its events: a run that is resumed
// continues from it. It is an [event.Sink]; the zero value is ready to use.
type Past struct {
	Run     *event.Run    // the first run.started; nil without one
	Ended   bool          // the last process ended the run
	Elapsed time.Duration // of all processes
	Last    event.Event   // without payload

	Ending *event.RunEnd // of the last process; nil while the run is not ended

	started   time.Time // of the current process
	jobs      map[string]*Facts
	marked    []string // see Marked
	endedOnce bool     // an earlier process has ended the run
}

// Emit adds an event. It always returns nil.
func (p *Past) Emit(e event.Event) error {
	switch {
	case e.Type == event.RunStarted && e.Run != nil:
		if p.Run == nil {
			p.Run = e.Run
			p.startFork()
		} else {
			p.Elapsed += p.Last.Time.Sub(p.started)
			p.repeatCalls()
			for _, j := range p.jobs {
				j.Published.Pull.begun, j.Published.Comment.begun = false, false
			}
		}
		p.started, p.Ended, p.Ending = e.Time, false, nil
	case e.Type == event.RunEnded:
		p.Ended, p.endedOnce, p.Ending = true, true, e.RunEnd
	case e.Job != "":
		p.job(e.Job).clock.count(e.Time, p.started)
		p.job(e.Job).Add(e)
		if e.Type == event.UntrustedRead && !slices.Contains(p.marked, e.Job) {
			p.marked = append(p.marked, e.Job)
		}
	}
	p.Last = event.Event{Seq: e.Seq, Time: e.Time}
	return nil
}

// repeatCalls forgets the calls of turns that did not end: a process that resumes the run
// repeats them.
func (p *Past) repeatCalls() {
	for _, j := range p.jobs {
		for _, s := range j.Sessions {
			for number, t := range s.turns {
				if t.end == nil {
					t.calls, t.denied, t.called = 0, 0, nil
					s.turns[number] = t
				}
			}
		}
	}
}

// Close completes the sums after the last event.
func (p *Past) Close() {
	p.Elapsed += p.Last.Time.Sub(p.started)
	p.started = p.Last.Time
}

func (p *Past) job(id string) *Facts {
	if p.jobs == nil {
		p.jobs = map[string]*Facts{}
	}
	j := p.jobs[id]
	if j == nil {
		j = &Facts{Baseline: map[string]event.Baseline{}, Sessions: map[string]*Session{}}
		p.jobs[id] = j
	}
	return j
}

// Job returns what was done of a job; nil for nothing, and without a past.
func (p *Past) Job(id string) *Facts {
	if p == nil {
		return nil
	}
	return p.jobs[id]
}

// Spent is the most that the run has cost; 0 without a past.
func (p *Past) Spent() (sum money.USD) {
	if p == nil {
		return 0
	}
	for _, j := range p.jobs {
		sum = sum.Add(j.Spent())
	}
	return sum
}

// startFork makes the job of a fork continue from the copied conversation.
func (p *Past) startFork() {
	from := p.Run.ForkedFrom
	if from == nil {
		return
	}
	j := p.job(from.Job)
	j.Fork = from
	if from.After != "" {
		j.session(p.Run.ID + "/" + from.Job).Copied = from.Turn
	}
}

// ForkedFrom returns where the run was forked from; nil for another run.
func (p *Past) ForkedFrom() *event.Fork {
	if p == nil || p.Run == nil {
		return nil
	}
	return p.Run.ForkedFrom
}

// Reopened reports whether the run has ended, and a process that continued it since then was
// killed. Resuming the run completes what that has started.
func (p *Past) Reopened() bool { return p.endedOnce && !p.Ended }

// Made reports whether the run has made or pushed a commit for a job.
func (p *Past) Made(job, hash string) bool {
	return hash != "" && p.Job(job) != nil && p.Job(job).hashes[hash]
}

// Marked returns the jobs that have read untrusted content, in the order in which they did; none without a past.
func (p *Past) Marked() []string {
	if p == nil {
		return nil
	}
	return p.marked
}

// MadeMarked returns a job that has read untrusted content, and has made or pushed a commit; "" for none.
func (p *Past) MadeMarked(hash string) string {
	for _, id := range p.Marked() {
		if p.Made(id, hash) {
			return id
		}
	}
	return ""
}

// Attempts returns the number of attempts of a job.
func (p *Past) Attempts(job string) int {
	if j := p.Job(job); j != nil {
		return j.Attempts
	}
	return 0
}

// SpentBy is the most that a job has cost.
func (p *Past) SpentBy(job string) money.USD {
	if j := p.Job(job); j != nil {
		return j.Spent()
	}
	return 0
}
