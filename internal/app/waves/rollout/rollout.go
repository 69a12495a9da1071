package rollout

import (
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/admission"
	"github.com/millhand/millhand/tasks"
)

// Rollout is the rollout of a plan, and its live state during a run. It is an [event.Sink]
// of the events of that run, and safe for concurrent use.
type Rollout struct {
	spec     tasks.Rollout
	name     string
	parallel int
	waves    []Wave
	total    int
	now      func() time.Time
	estimate admission.Forecast // nil: nothing is forecast

	mu       sync.Mutex
	history  *History
	live     *Run
	blocked  map[string]result // of jobs that can't run because of one that they need
	current  int               // index of the wave that is run or judged
	verdict  verdict
	exceeded []event.Condition // of verdict
	selected map[string]bool   // ids of the jobs of the run
	reserved map[string]bool   // running jobs whose pull requests do not exist yet
	held     []event.Condition
	skipped  map[string]bool // jobs of the run that the rollout held back, also in an earlier process
	present  present
}

// verdict is what a run does.
type verdict int

const (
	runs    verdict = iota // the jobs of the current wave that are left
	waits                  // nothing: a condition of the current wave is not met
	stopped                // nothing: a limit was exceeded
	done                   // nothing: all waves are complete
)

// New returns the rollout of a plan, and decides what its next run does. A plan without a
// rollout has one wave. Without estimate, nothing is forecast.
func New(plan *tasks.Plan, h *History, now func() time.Time, estimate admission.Forecast) *Rollout {
	r := &Rollout{name: plan.Name, parallel: plan.Parallel, history: h, now: now, estimate: estimate, total: len(plan.Jobs)}
	r.reserved, r.selected, r.skipped = map[string]bool{}, map[string]bool{}, map[string]bool{}
	if plan.Rollout != nil {
		r.spec = *plan.Rollout
	}
	r.live = h.Add()
	r.waves = Divide(&r.spec, plan.Jobs)
	r.decide()
	return r
}

// decide finds the wave that is next, and judges it.
func (r *Rollout) decide() {
	r.block()
	r.current, r.verdict = len(r.waves)-1, done
	before := -1
	for i := range r.waves {
		if len(r.left(i)) > 0 {
			r.current, r.verdict = i, runs
			break
		}
		before = i
	}
	if r.verdict == done {
		return
	}
	for _, i := range []int{r.current, before} {
		if i < 0 {
			continue
		}
		if over := slices.Concat(r.losses(i), r.overCI()); len(over) > 0 {
			r.current, r.verdict, r.exceeded = i, stopped, over
			return
		}
	}
	if before >= 0 && slices.ContainsFunc(r.conditions(before), func(c event.Condition) bool { return !c.Met }) {
		r.current, r.verdict = before, waits
		return
	}
	for i := range r.current { // their bases may have been repaired
		r.choose(r.with(i, red))
	}
	r.choose(r.left(r.current))
}

func (r *Rollout) choose(jobs []tasks.Job) {
	for _, j := range jobs {
		r.selected[j.ID] = true
	}
}

// Resume makes the run continue an earlier one, whose events follow with Emit: only its
// jobs are run.
func (r *Rollout) Resume(jobs []event.PlannedJob) {
	r.verdict, r.exceeded = runs, nil
	clear(r.selected)
	for _, j := range jobs {
		r.selected[j.ID] = true
	}
	for i, w := range r.waves {
		for _, j := range w.Jobs {
			if r.selected[j.ID] {
				r.current = i
			}
		}
	}
}

// Forget removes the result of a job that is run again.
func (r *Rollout) Forget(job string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.set(job, func(rec *record) { rec.end = nil })
	r.present.known = false
}

// Selects reports whether the run executes a job.
func (r *Rollout) Selects(job string) bool { return r.selected[job] }

// block finds the jobs that can't run because of one that they need: it ended without
// passing, or its base is red.
func (r *Rollout) block() {
	r.blocked = map[string]result{}
	byID := map[string]tasks.Job{}
	for _, w := range r.waves {
		for _, j := range w.Jobs {
			byID[j.ID] = j
		}
	}
	for more := true; more; {
		more = false
		for id, j := range byID {
			was, is := r.blocked[id], r.result(j)
			for _, need := range j.Needs {
				n, known := byID[need]
				if !known || is != unknown && is != red {
					continue
				}
				switch r.result(n) {
				case failed, neutral:
					is = neutral
				case red:
					is = red
				case unknown, passed:
				}
			}
			if was == unknown && is != r.result(j) || was == red && is == neutral {
				r.blocked[id], more = is, true
			}
		}
	}
}

// result returns what is known of a job. A job that passed is not run again, unless its pull
// request was closed and its prompt has changed. The end of another one counts only if its
// task has not changed.
func (r *Rollout) result(j tasks.Job) result {
	if is := r.blocked[j.ID]; is != unknown {
		return is
	}
	rec := r.history.jobs[j.ID]
	switch {
	case rec.pull != nil && rec.pull.State == pullClosed && !rec.pull.SameTask:
		return unknown
	case rec.end != nil && resultOf(rec.end) == passed:
		return passed
	case rec.end != nil && rec.hash == j.Hash:
		return resultOf(rec.end)
	case rec.pull == nil:
		return unknown
	case rec.pull.Foreign:
		return neutral // someone else works on it
	}
	return passed
}

// with returns the jobs of a wave with a result.
func (r *Rollout) with(wave int, of result) []tasks.Job {
	return slices.DeleteFunc(slices.Clone(r.waves[wave].Jobs), func(j tasks.Job) bool { return r.result(j) != of })
}

// left returns the jobs of a wave that are to be run. Jobs whose base was red are among them
// if there are others, or if no job of the wave has shown anything yet.
func (r *Rollout) left(wave int) []tasks.Job {
	f := r.figures(wave)
	if f.unknown == 0 && f.finished() > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.waves[wave].Jobs), func(j tasks.Job) bool {
		is := r.result(j)
		return is != unknown && is != red
	})
}

// Emit adds an event of the run. It always returns nil.
func (r *Rollout) Emit(e event.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Type == event.JobEnded || e.Type == event.CommitPublished {
		r.present.known = false
	}
	if e.Type == event.JobEnded {
		delete(r.reserved, e.Job)
		delete(r.skipped, e.Job)
	}
	if e.JobEnd != nil && e.JobEnd.Code == event.CodeRollout {
		r.skipped[e.Job] = true
	}
	err := r.live.Emit(e)
	if e.Type == event.CommitPublished && e.Published != nil && e.Published.PullRequest != nil {
		delete(r.reserved, e.Job) // it exists now
	}
	return err
}

// Waits reports whether a job can't start yet, but perhaps when a running one has ended.
func (r *Rollout) Waits(j tasks.Job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.reserved) > 0 && len(r.full(j)) > 0 && len(r.over()) == 0
}

// Admit returns why a job may not start any more; "" if it starts.
func (r *Rollout) Admit(j tasks.Job) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if over := r.over(); len(over) > 0 {
		return "rollout stopped: " + text(over)
	}
	if full := r.full(j); len(full) > 0 {
		r.held = full
		return "held back: " + text(full)
	}
	if j.Pull != nil && !r.isOpen(j.ID) {
		r.reserved[j.ID] = true
		r.present.known = false
	}
	return ""
}

// Start returns the rollout of run.started.
func (r *Rollout) Start() *event.Rollout {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.position()
	at.Conditions, at.Exceeded = []event.Condition{}, []event.Condition{}
	return at
}

// position returns the current wave without its results.
func (r *Rollout) position() *event.Rollout {
	at := &event.Rollout{Name: r.name, Waves: len(r.waves), Total: r.total}
	if r.verdict != done {
		at.Wave, at.Jobs = r.current+1, len(r.waves[r.current].Jobs)
	}
	return at
}

// End returns the outcome and the exit code of a run, given those that follow from its jobs
// alone, with the figures that decided.
func (r *Rollout) End(outcome event.Outcome, exit event.Exit) (event.Outcome, event.Exit, *event.Rollout) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.block()
	figures := r.report()
	remain := false
	for i := range r.waves {
		remain = remain || len(r.left(i)) > 0
	}
	if r.verdict == runs {
		figures.Exceeded = slices.Concat(r.losses(r.current), r.overCI(), r.held)
	}
	later := r.verdict != done && r.current+1 < len(r.waves)
	switch {
	case slices.Contains([]event.Exit{event.ExitInterrupt, event.ExitTerminate, event.ExitInternal}, exit):
	case r.verdict == stopped, r.verdict == runs && remain && len(figures.Exceeded) > len(r.held):
		return event.Stopped, event.ExitPolicy, figures
	case r.verdict == waits, remain && (later || len(r.skipped) > 0):
		return event.Waiting, exit, figures
	}
	return outcome, exit, figures
}
