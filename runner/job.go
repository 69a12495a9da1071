package runner

import (
	"context"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

// job is a running job: its specification and state. Its phases pass their results on
// as values.
type job struct {
	run    *run
	opts   *Options // of the run
	plan   *tasks.Plan
	spec   tasks.Job
	start  start                   // what preflight found
	end    context.CancelCauseFunc // ends the job, for a reason that stopped knows
	breach breach                  // of git's own files, by a command
}

// phase is one step of a job. A nil stop means: on to the next one.
type phase struct {
	name string
	run  func(context.Context) *stop
	ends bool // on its own only: a signal or a limit does not interrupt it
}

// progress is what a job's phases have made so far. It outlives a panic.
type progress struct {
	site    *site    // nil before prepare
	result  *result  // what the sessions came to
	landing *landing // nil before there is something to land
}

// phases lists what is done for a job, in order, until one stops it.
func (j *job) phases(p *progress) []phase {
	if j.start.earlier.Hash != "" {
		return []phase{{name: "publish", run: func(ctx context.Context) *stop { return j.landEarlier().publish(ctx) }}}
	}
	return []phase{
		{name: "prepare", run: func(ctx context.Context) (end *stop) {
			if p.site, end = j.prepare(ctx); end == nil {
				end = j.confine(ctx, p.site)
			}
			return end
		}},
		{name: "setup", run: func(ctx context.Context) *stop { return j.setup(ctx, p.site) }},
		{name: "session", run: func(ctx context.Context) (end *stop) {
			p.result, end = j.work(ctx, p.site)
			return end
		}},
		{name: "disk", run: func(ctx context.Context) *stop { return p.site.inBounds(ctx) }},
		{name: "changes", ends: true, run: func(ctx context.Context) *stop { // else it would be repeated to keep the work
			p.landing = &landing{job: j, site: p.site}
			return p.landing.findChanges(ctx)
		}},
		{name: "commit", run: func(ctx context.Context) *stop { return p.landing.commit(ctx) }},
		{name: "publish", run: func(ctx context.Context) *stop { return p.landing.publish(ctx) }},
	}
}

// carryOut takes the job through its phases and cleans up after it.
func (j *job) carryOut(ctx context.Context) event.JobEnd {
	// What must be done whatever happened (keeping a patch, removing the
	// worktree) is done under a context that a signal does not end.
	after := context.WithoutCancel(ctx)
	p := &progress{result: noResult()}
	defer func() {
		if p.site != nil {
			j.leave(after, p.site, p.unkept())
		}
	}()
	ctx, j.end = context.WithCancelCause(ctx)
	defer j.end(nil)
	var end *stop
	for _, phase := range j.phases(p) {
		began := j.opts.Now()
		within := ctx
		if phase.ends {
			within = after
		}
		end = j.heldTo(phase.run(within))
		j.emit(event.Event{Type: event.PhaseEnded, Phase: &event.Phase{
			Name: phase.name, ElapsedMS: j.opts.Now().Sub(began).Milliseconds(), Error: reasonOf(end),
		}})
		if end != nil {
			break
		}
	}
	if end != nil && p.site != nil && !p.landing.measured() {
		// The work of a job that did not pass is not committed, nor is it lost.
		p.landing = &landing{job: j, site: p.site}
		if bad := p.landing.findChanges(after); bad == nil {
			p.landing.commitWIP(after, end)
		} else if !bad.code.Cause().Unnamed() {
			j.warn(bad.detail)
		}
	}
	return j.sumUp(end, p)
}

// unkept reports whether the job's worktree holds work that is kept neither as a
// patch nor as a commit.
func (p *progress) unkept() bool {
	return p.site.touched && (p.landing == nil || p.landing.lost())
}

func reasonOf(s *stop) string {
	if s == nil {
		return ""
	}
	return s.detail
}

// sumUp makes the job's last event.
func (j *job) sumUp(end *stop, p *progress) event.JobEnd {
	sum := event.JobEnd{Outcome: event.Passed}
	switch {
	case end != nil:
		sum = end.code.End(end.detail)
	case j.start.earlier.Hash != "":
		sum.Reason = pushedEarlier(j.start.earlier)
	}
	sum.Attempts, sum.FinalMessage, sum.Output = p.result.attempts, p.result.final, p.result.output
	t := p.result.totals
	sum.Turns, sum.Usage, sum.CostUSD = t.Turns, t.Usage, t.CostUSD
	if p.landing != nil {
		sum.Patch = p.landing.patch
	}
	return sum
}

func (j *job) warn(text string) {
	j.emit(event.Event{Type: event.WarningGiven, Warning: &event.Warning{Message: text}})
}

func (j *job) emit(e event.Event) {
	e.Job = j.spec.ID
	j.opts.Emit(e)
}
