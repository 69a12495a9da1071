package rollout

import (
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// Pull is a pull request of a job as the forge describes it.
type Pull struct {
	State    string // open, closed or merged
	Checks   string // passed, failed, pending, or "" for none
	Created  time.Time
	CI       time.Duration // of the checks of its head
	Foreign  bool          // its head was not committed by millhand
	SameTask bool          // its head was committed for the job's present prompt
}

// The states of pull requests and checks that decide.
const (
	pullOpen     = "open"
	pullClosed   = "closed"
	pullMerged   = "merged"
	checksPassed = "passed"
)

// record is what is known of a job.
type record struct {
	hash string        // of its task when it ended
	end  *event.JobEnd // nil if no run is known in which it ended
	pull *Pull         // nil if none is known
}

// History is what earlier runs did of the jobs of a rollout. The zero value is ready to use.
type History struct {
	jobs  map[string]record
	spent money.USD // by all runs, at most
	asked bool      // the forge was asked for pull requests
}

func (h *History) set(job string, change func(*record)) {
	if h.jobs == nil {
		h.jobs = map[string]record{}
	}
	r := h.jobs[job]
	change(&r)
	h.jobs[job] = r
}

// Pulls adds the pull requests on the forge, by job: all that the forge has.
func (h *History) Pulls(pulls map[string]Pull) {
	h.asked = true
	for id := range h.jobs {
		h.set(id, func(r *record) { r.pull = nil })
	}
	for id, p := range pulls {
		h.set(id, func(r *record) { r.pull = &p })
	}
}

// Run reads the events of a run. It is an [event.Sink].
type Run struct {
	history *History
	hashes  map[string]string
	started map[turn]event.Turn  // that have not ended
	costs   map[string]money.USD // by job, of turns that have not ended as much as they can
}

// turn is one of a job.
type turn struct {
	job, session string
	number       int
}

// Add returns a reader of the events of another run. Runs must be added in the order of
// their starts.
func (h *History) Add() *Run {
	return &Run{history: h, hashes: map[string]string{}, started: map[turn]event.Turn{}, costs: map[string]money.USD{}}
}

// Emit adds an event. It always returns nil.
func (r *Run) Emit(e event.Event) error {
	if add, ok := records.Find(&e); ok {
		add(r, e)
	}
	return nil
}

var records = event.Walk[func(*Run, event.Event)]{
	On: map[event.Type]func(*Run, event.Event){
		event.RunStarted:      (*Run).planned,
		event.TurnStarted:     (*Run).turned,
		event.TurnEnded:       (*Run).turned,
		event.CommitPublished: (*Run).published,
		event.JobEnded:        (*Run).ended,
	},
	Ignores: []event.Type{
		event.JobStarted, event.PhaseStarted, event.PhaseEnded, event.CommandStarted, event.CommandEnded, event.BaselineEnded, event.ScriptEnded,
		event.SessionStarted, event.AttemptStarted, event.ReviewEnded, event.ModelEscalated, event.ModelText, event.RequestRetried, event.CallUpdated, event.Pruned,
		event.Compacted, event.SessionEnded, event.VerifyEnded, event.FilesLeft, event.ChangesFound, event.CommitStarted, event.Committed,
		event.PublishStarted, event.PullRequestStarted, event.CommentStarted, event.CommentPosted, event.NetworkRequested, event.ExtensionChanged, event.UntrustedRead,
		event.RevertStarted, event.Reverted, event.WarningIssued, event.RunEnded, event.Sealed,
		event.AblationStarted, event.TrialEnded, event.AblationEnded, event.ForgeRequestStarted, event.ForgeRequestEnded,
	},
}

func (r *Run) planned(e event.Event) {
	for _, j := range e.Run.Jobs {
		r.hashes[j.ID] = j.Hash
	}
}

func (r *Run) turned(e event.Event) {
	id, cost := turn{e.Job, e.Session, e.Turn.Number}, r.costs[e.Job]
	if e.Type == event.TurnStarted {
		r.started[id] = *e.Turn
		r.spend(e.Job, cost.Add(event.AtMost(*e.Turn, nil)))
		return
	}
	start := r.started[id]
	delete(r.started, id)
	r.spend(e.Job, cost.Sub(event.AtMost(start, nil)).Add(event.AtMost(start, e.Turn)))
}

func (r *Run) published(e event.Event) {
	pr := e.Published.PullRequest
	if pr == nil {
		return
	}
	p := Pull{State: pr.State, SameTask: true}
	if pr.Created {
		p.Created = e.Time
	}
	r.history.set(e.Job, func(rec *record) { rec.pull = &p })
}

func (r *Run) ended(e event.Event) {
	if e.JobEnd.CostUSD != nil {
		r.spend(e.Job, max(*e.JobEnd.CostUSD, r.costs[e.Job]))
	}
	if resultOf(e.JobEnd) != unknown {
		end := *e.JobEnd
		r.history.set(e.Job, func(rec *record) { rec.hash, rec.end = r.hashes[e.Job], &end })
	}
}

// spend sets what the job has cost in this run.
func (r *Run) spend(job string, cost money.USD) {
	r.history.spent = r.history.spent.Sub(r.costs[job]).Add(cost)
	r.costs[job] = cost
}

// result is what the end of a job means for its wave.
type result int

const (
	unknown result = iota // it did not run, or ended for a reason outside of its work
	passed
	failed
	red     // on its unchanged files
	neutral // it had nothing to do, or may not run
)

func resultOf(end *event.JobEnd) result {
	switch {
	case end.Outcome == event.Passed:
		return passed
	case end.Code == event.CodeBaseline || end.Code == event.CodeEnvironment:
		return red
	case end.Resumable():
		return unknown
	case end.Outcome == event.Skipped:
		return neutral
	}
	return failed
}
