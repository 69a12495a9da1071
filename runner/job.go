package runner

import (
	"context"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/agent"
	"github.com/millhand/millhand/runner/delivery"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// job is a running job. Its phases pass their results on as values.
type job struct {
	*agent.Job
	run  *run
	opts *Options // of the run
	slot func()   // frees the job's slot when only its publishing is left

	requests *delivery.Requests // of the agent
}

// left returns what the job leaves in a site.
func (j *job) left(s *site.Site) delivery.Work {
	w := delivery.Work{
		Job: j.Job.Job, Options: &j.opts.Options, Site: s, Requests: j.requests, Profile: j.AgentProfile(), Advice: j.Advice(), Head: j.opts.About.Head,
	}
	if by := j.opts.About.StartedBy; by != nil {
		w.RunURL = by.RunURL
	}
	return w
}

// phase is one step of a job. If run returns nil, the next phase runs.
type phase struct {
	name string
	run  func(context.Context) *ending.Stop
	ends bool // not interrupted by signals or limits
	// queued reports whether the phase is run in the queue of publications, without the
	// job's slot and resources; nil for false.
	queued func() bool
}

// progress has the results of a job's phases. It survives a panic.
type progress struct {
	site     *site.Site // nil before prepare
	baseline []event.Baseline
	result   *ending.Result     // of the session phase
	delivery *delivery.Delivery // nil before the changes phase
}

// phases lists the phases of a job. They run in order until one returns a stop.
func (j *job) phases(p *progress) []phase {
	if j.Start.Earlier.Hash != "" {
		return []phase{{
			name: "publish", run: func(ctx context.Context) *ending.Stop {
				l := j.earlierDelivery()
				return ending.First(ctx, l.Publish, l.Comment, l.Request)
			},
			queued: func() bool { return j.Spec.Publish.Pushes() || delivery.Comments(j.Job.Job) || j.Spec.Requests.Made() },
		}}
	}
	return []phase{
		{name: "prepare", run: func(ctx context.Context) *ending.Stop {
			var end *ending.Stop
			if p.site, end = j.Prepare(ctx); end == nil {
				j.started(p.site)
			}
			return end
		}},
		{name: "setup", run: func(ctx context.Context) *ending.Stop {
			return ending.First(ctx, site.JobHooks{Site: p.site}.SetUp, j.AfterSetup)
		}},
		{name: "baseline", run: func(ctx context.Context) (end *ending.Stop) {
			if p.baseline, end = (site.Verifier{Site: p.site}).Baseline(ctx); end != nil {
				return end
			}
			return p.site.BeforeAgent(ctx)
		}},
		{name: "session", run: func(ctx context.Context) (end *ending.Stop) {
			defer j.LimitPublishing()
			if p.result, end = j.Work(ctx, p.site, p.baseline); end != nil {
				return end
			}
			return site.JobHooks{Site: p.site}.BeforeCommit(ctx)
		}},
		{name: "disk", run: func(ctx context.Context) *ending.Stop { return p.site.Sandboxes.CheckDiskLimit(ctx) }},
		{name: "changes", ends: true, run: func(ctx context.Context) *ending.Stop { // otherwise it would be repeated to save the changes
			p.delivery = &delivery.Delivery{Work: j.left(p.site)}
			p.delivery.Baseline, p.delivery.Result = p.baseline, p.result
			return p.delivery.FindChanges(ctx)
		}},
		{name: "commit", run: func(ctx context.Context) *ending.Stop {
			return ending.First(ctx, p.delivery.Commit, p.delivery.AfterCommit)
		}},
		{
			name: "publish", run: func(ctx context.Context) *ending.Stop {
				return ending.First(ctx, p.delivery.Publish, p.delivery.Comment, p.delivery.Request)
			},
			queued: func() bool { return p.delivery.Publishes() || delivery.Comments(j.Job.Job) || j.requests.Due(p.result) },
		},
	}
}

// execute runs the phases of the job and cleans up.
func (j *job) execute(ctx context.Context) event.JobEnd {
	// Saving a patch and removing the worktree use a context that is not cancelled by
	// signals.
	after := context.WithoutCancel(ctx)
	p := &progress{result: resultOf(j.History.Facts, j.Spec)}
	release := sync.OnceFunc(func() {
		if p.site != nil {
			p.site.Release(after, p.unsaved())
		}
	})
	defer release()
	ctx = j.Begin(ctx)
	defer j.End(nil)
	var end *ending.Stop
	leave := func() {}
	defer func() { leave() }()
	for _, phase := range j.phases(p) {
		if phase.queued != nil && phase.queued() {
			if !p.site.HasHooks(tasks.JobEnd) {
				release() // the commit is in the origin of the worktree
			}
			if leave, end = j.enqueue(ctx); end != nil {
				break
			}
		}
		began := j.opts.Now()
		j.Emit(event.Event{Type: event.PhaseStarted, Phase: &event.Phase{Name: phase.name}})
		within := ctx
		if phase.ends {
			within = after
		}
		end = j.CheckGuard(phase.run(within))
		j.Emit(event.Event{Type: event.PhaseEnded, Phase: &event.Phase{
			Name: phase.name, ElapsedMS: j.opts.Now().Sub(began).Milliseconds(), Error: ending.Reason(end),
		}})
		if end != nil {
			break
		}
	}
	if p.site != nil {
		p.site.Settled()
	}
	if end != nil && p.site != nil && p.site.Before != nil && !p.delivery.Measured() {
		// The changes of a job that did not pass are not committed, but saved.
		p.delivery = &delivery.Delivery{Work: j.left(p.site)}
		if bad := p.delivery.FindChanges(after); bad == nil {
			p.delivery.CommitWIP(after, end)
		} else if bad.Code != end.Code && !bad.Code.Cause().Unnamed() {
			j.Warn(bad.Detail)
		}
	}
	if end != nil {
		j.requests.Skip(p.result)
	}
	file, failed := j.writeOutput(ctx, p.result)
	if failed != nil && end != nil {
		j.Warn(failed.Detail)
	} else if failed != nil {
		end = failed
	}
	sum := j.jobEnd(end, p)
	sum.OutputFile = file
	site.JobHooks{Site: p.site}.End(ctx, p.delivery.HookCommit(), sum)
	return sum
}

// unsaved reports whether the job's worktree has changes that are saved neither as a patch
// nor as a commit.
func (p *progress) unsaved() bool {
	return p.site.Touched && p.site.Usable() && (p.delivery == nil || p.delivery.Lost())
}

// jobEnd returns the payload of the job's last event.
func (j *job) jobEnd(end *ending.Stop, p *progress) event.JobEnd {
	sum := event.JobEnd{Outcome: event.Passed}
	switch {
	case end != nil:
		sum = end.Code.End(end.Detail)
	case j.Withheld() != "":
		sum.Reason = j.Withheld()
	case j.Start.Earlier.Hash != "" && !j.Start.Own:
		sum.Reason = pushedEarlier(j.Start.Earlier)
	}
	sum.Attempts, sum.FinalMessage, sum.Output = p.result.Attempts, p.result.Final, p.result.Output
	t := p.result.Totals
	sum.Turns, sum.Usage, sum.CostUSD = t.Turns, t.Usage, t.Cost.USD()
	if p.delivery != nil {
		sum.Patch, sum.PatchSHA256, sum.Refused = p.delivery.Patch, p.delivery.Digest, p.delivery.Lacking()
	} else if j.Start.Own {
		sum.Patch, sum.PatchSHA256 = savedPatch(j.opts.Dir, j.Spec.ID)
	}
	if p.site != nil {
		sum.UntrackedInputs = p.site.UntrackedInputs()
	}
	return sum
}
