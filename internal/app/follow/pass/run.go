package pass

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/follow"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/pulls"
	"github.com/millhand/millhand/internal/app/pulls/manage"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

// savedRun is a saved run whose pull requests are followed.
type savedRun struct {
	*pulls.Run
	options  Options
	settings follow.Settings
	past     *history.Past
	self     map[string]string // user of the token by owner
	writers  map[string]bool   // by repository and user
}

// over makes one pass over the pull requests of a run, except those that were seen in a
// newer one.
func over(ctx context.Context, w world.World, o Options, dir string, seen map[string]bool) ([]Row, error) {
	lock, err := rundir.TakeFollowLock(ctx, dir, w.Clock())
	if err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	defer lock.Close()
	r := &savedRun{options: o, self: map[string]string{}, writers: map[string]bool{}}
	if r.past, _, err = savedrun.Past(dir); err != nil {
		return nil, err
	}
	if !r.past.Ended {
		if !r.past.Reopened() || o.DryRun {
			return nil, fault.New(event.ExitUsage, "the run in %s has not ended: continue it with millhand run --resume %[1]s", dir)
		}
		if err := r.session(ctx, w, dir, invocation.FollowUp{By: r.by(0)}); err != nil {
			return nil, err
		}
	}
	if r.Run, err = manage.Open(ctx, w, manage.Options{PolicyOptions: o.PolicyOptions, Run: dir, Jobs: o.Jobs}, pulls.Order{Verb: pulls.Close, DryRun: o.DryRun}); err != nil {
		return nil, err
	}
	if r.past, _, err = savedrun.Past(dir); err != nil {
		return nil, err
	}
	if err := r.load(ctx, w); err != nil {
		return nil, err
	}
	var rows []Row
	for _, j := range r.Jobs {
		if j.PullRequest == nil || j.Published == nil || seen[j.ID+" "+j.PullRequest.URL] {
			continue
		}
		seen[j.ID+" "+j.PullRequest.URL] = true
		rows = append(rows, r.pull(ctx, j))
		if ctx.Err() != nil {
			break
		}
	}
	return rows, nil
}

// load reads the settings of the run's manifests.
func (r *savedRun) load(ctx context.Context, w world.World) error {
	own, err := manage.Invoked(r.past.Run)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	set := manifest.DefaultFollow()
	if !slices.Contains(own.Plan.Manifests, "-") && own.Prompt.Text == nil {
		plan, err := load.Plan(ctx, w, own.Plan)
		if err != nil {
			return err
		}
		if plan.Follow != nil {
			set = *plan.Follow
		}
	}
	on := func(c tasks.FollowCause) bool { return slices.Contains(set.On, c) }
	r.settings = follow.Settings{
		Conflict: on(tasks.FollowConflict), Checks: on(tasks.FollowChecks), Review: on(tasks.FollowReview),
		Attempts: set.Attempts, CostUSD: set.CostUSD, Stale: set.Stale,
	}
	return nil
}

// followed is a pull request that is followed.
type followed struct {
	*savedRun
	job    report.Job
	row    Row
	pr     forge.PullRequest
	client *forge.Client
	at     forge.Path
	pull   follow.Pull
	state  follow.State
}

// pull does what there is to do with the pull request of a job.
func (r *savedRun) pull(ctx context.Context, j report.Job) Row {
	p := &followed{savedRun: r, job: j, row: Row{Run: r.ID, Job: j.ID, Repo: j.Repo, URL: j.PullRequest.URL}}
	row, pr, client, at := r.Read(ctx, j)
	if client == nil {
		p.row.Result, p.row.Reason, p.row.exit = ResultFailed, row.Reason, event.ExitPublish
		return p.row
	}
	p.pr, p.client, p.at = pr, client, at
	if err := p.follow(ctx); err != nil {
		p.row.Result, p.row.Reason, p.row.exit = ResultFailed, r.Known.Text(err.Error()), event.ExitPublish
	}
	return p.row
}

// follow reads the state of the pull request, decides and acts.
func (p *followed) follow(ctx context.Context) error {
	if err := p.read(ctx); err != nil {
		return err
	}
	d := follow.Decide(p.pull, p.state, p.settings, p.World.Now())
	if d.Action == follow.Continue {
		if p.started() {
			if p.options.DryRun {
				p.row.Result = would("finish")
				return nil
			}
			p.row.Result = ResultFinished
			return p.finish(ctx)
		}
		p.state = p.state.Abort()
		if err := p.readMore(ctx); err != nil {
			return err
		}
		d = follow.Decide(p.pull, p.state, p.settings, p.World.Now())
		if d.Action == follow.Nothing && !p.options.DryRun {
			p.row.Result, p.row.Reason = Result(d.Action), d.Reason
			return p.put(ctx) // the comment has the session
		}
	}
	if d.Action == follow.Rebase && !p.options.DryRun {
		done, err := p.rebase(ctx)
		if err != nil || done {
			return err
		}
		if !p.pull.Conflict { // the forge has not noticed a rebase
			if err := p.readMore(ctx); err != nil {
				return err
			}
			d = follow.Decide(p.pull, p.state, p.settings, p.World.Now())
		}
	}
	return p.act(ctx, d)
}

// act does what was decided, except a rebase.
func (p *followed) act(ctx context.Context, d follow.Decision) error {
	p.row.Reason = d.Reason
	switch {
	case d.Action == follow.Nothing || d.Action == follow.HandsOff:
		p.row.Result = Result(d.Action)
		return nil
	case p.options.DryRun:
		p.row.Result = would(d.Action)
		return nil
	case d.Action == follow.Stop:
		return p.stop(ctx, d)
	case d.Action == follow.Fix:
		p.row.Result = ResultFixed
		return p.work(ctx, d, follow.ChecksPrompt(d.Checks), false)
	case d.Action == follow.Respond:
		p.row.Result = ResultResponded
		return p.work(ctx, d, follow.RemarksPrompt(d.Remarks), false)
	}
	return nil
}

// waitForConflicts is how often, and after which time, a pull request of Gitea is read again,
// which reports a conflict while it is checking.
const (
	conflictTries = 4
	conflictWait  = 500 * time.Millisecond
)

// settle reads a pull request again while its forge may be checking for conflicts.
func (p *followed) settle(ctx context.Context) error {
	for range conflictTries {
		if !p.pr.Conflict || p.pr.Mergeable != forge.MergeUnknown || p.pr.State != forge.Open {
			return nil
		}
		if err := p.World.Sleep.For(ctx, conflictWait); err != nil {
			return err
		}
		pr, err := p.client.Get(ctx, p.at, p.pr.Number)
		if err != nil {
			return err
		}
		p.pr = pr
	}
	return nil
}

func (p *followed) note(text string) {
	if !p.options.Quiet {
		fmt.Fprintln(p.World.Err, printable.Text(p.Known.Text(p.job.ID+": "+text)))
	}
}
