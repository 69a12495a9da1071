package pass

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/checks"
	"github.com/millhand/millhand/internal/app/follow"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/repos"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/runner/savedsession"
)

// stop leaves the pull request to people.
func (p *followed) stop(ctx context.Context, d follow.Decision) error {
	p.row.Result, p.row.Reason = ResultStopped, d.Reason
	p.state.Stopped = d.Reason
	if err := p.client.AddLabel(ctx, p.at, forge.Thread{Number: p.pr.Number}, follow.Label); err != nil {
		if !errors.Is(err, forge.ErrDenied) && !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrInvalid) {
			return err
		}
		p.state.Unlabelled = true
		p.row.Reason += "; " + err.Error()
	}
	return p.put(ctx)
}

// marker is that of the comment with the state.
func (p *followed) marker() string { return "follow-" + p.job.ID }

// put updates the comment with the state.
func (p *followed) put(ctx context.Context) error {
	clean := func(text string) string { return publish.Cell(p.Known.Text(text)) }
	_, err := p.client.Comment(ctx, p.at, forge.Thread{Number: p.pr.Number}, p.marker(), p.state.Text(p.job.ID, p.settings, clean))
	return err
}

// work continues the session of the job with a prompt. The comment has the state before it
// starts: after a kill, the next pass knows of it.
func (p *followed) work(ctx context.Context, d follow.Decision, prompt string, onto bool) error {
	before := p.state
	left := p.settings.CostUSD
	if left > 0 {
		left = left.Sub(p.state.CostUSD)
	}
	p.state = p.state.Begin(d, p.pull, p.past.Attempts(p.job.ID), p.past.SpentBy(p.job.ID))
	if err := p.put(ctx); err != nil {
		return err
	}
	by := p.by(left)
	by.Onto = onto
	err := p.session(ctx, p.World, p.Dir, invocation.FollowUp{Job: p.job.ID, Prompt: prompt, By: by})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if again := p.again(); again != nil {
		return again
	}
	if !p.started() {
		p.state = before
		if err == nil {
			err = errors.New("the session did not start: " + p.job.Reason)
		}
		return errors.Join(err, p.put(ctx))
	}
	return p.finish(ctx)
}

// again reads the run after a session.
func (p *followed) again() error {
	saved, err := savedrun.Load(p.Dir)
	if err != nil {
		return err
	}
	if p.past, _, err = savedrun.Past(p.Dir); err != nil {
		return err
	}
	for _, j := range saved.Report.Jobs {
		if j.ID == p.job.ID {
			p.job = j
		}
	}
	return nil
}

// started reports whether the session of the state has started.
func (p *followed) started() bool {
	return p.state.Pending != nil && p.past.Attempts(p.job.ID) > p.state.Pending.Attempts
}

// finish records the result of a session.
func (p *followed) finish(ctx context.Context) error {
	o := follow.Outcome{Final: p.job.FinalMessage, CostUSD: p.past.SpentBy(p.job.ID)}
	if p.job.Outcome != event.Passed {
		o.Problem = strings.TrimSuffix(string(p.job.Outcome)+": "+p.job.Reason, ": ")
		p.row.Result, p.row.Reason, p.row.exit = ResultNotDone, o.Problem, event.ExitFailed
	} else if j := p.job; j.Published != nil && j.Published.Hash != p.state.Pending.Head {
		o.Commit, p.row.Commit = j.Published.Hash, j.Published.Hash
	} else if p.row.Result == ResultFixed {
		p.row.Result, p.row.Reason = ResultNotDone, "the session changed nothing"
	}
	p.state = p.state.Finish(o)
	return p.put(ctx)
}

// by returns what sessions of this command have in common. cost is the limit of one.
func (r *savedRun) by(cost money.USD) *invocation.Following {
	return &invocation.Following{CostUSD: cost, Policies: r.options.Policies}
}

// session continues the run with a follow-up prompt. Its result is in the run.
func (r *savedRun) session(ctx context.Context, w world.World, dir string, f invocation.FollowUp) error {
	o := *invocation.New()
	o.Resume, o.FollowUp, o.Log.Quiet = dir, f, r.options.Quiet
	w.Out = io.Discard
	err := runs.Run(ctx, w, o)
	if err != nil && err.Error() == "" { // the exit code of the run
		return nil
	}
	return err
}

// rebase applies the commits of the job to the current base. done: nothing else is to be done
// in this pass.
func (p *followed) rebase(ctx context.Context) (done bool, err error) {
	result, err := p.rebaseWithoutModel(ctx)
	switch {
	case err != nil:
		return false, err
	case result.Current:
		p.pull.Conflict = false
		return false, nil
	case result.Commit != "":
		p.row.Result, p.row.Commit = ResultRebased, result.Commit
		p.state = p.state.With("conflict with "+p.pr.Base, fmt.Sprintf("rebased, as %.10s", result.Commit))
		return true, p.put(ctx)
	}
	d := follow.Conflicting(p.pull, p.state, p.settings)
	if d.Action == follow.Stop {
		return true, p.stop(ctx, d)
	}
	p.row.Result = ResultRebased
	return true, p.work(ctx, d, follow.ConflictPrompt(p.pr.Base, result.Failed), true)
}

// rebaseWithoutModel rebases the commits of the job in a process of the run of its own.
func (p *followed) rebaseWithoutModel(ctx context.Context) (done runner.Rebased, err error) {
	r, err := savedrun.Reopen(ctx, p.World, p.Dir)
	if err != nil {
		return done, err
	}
	defer savedrun.Close(p.World, r.Out)
	rebased, err := history.Decide(r.Past, history.Order{Do: history.Rebase{}, Job: p.job.ID, KeepDescriptions: true})
	if err != nil {
		return done, err
	}
	o, err := invocation.Of(r)
	if err != nil {
		return done, err
	}
	o.Plan.Policies = append(slices.Clone(o.Plan.Policies), p.options.Policies...)
	c, err := checks.Run(ctx, p.World, o)
	defer c.Settle()
	if err != nil {
		return done, err
	}
	if err := checks.SameWave(ctx, p.World, o, &c, r.Past.Run, false); err != nil {
		return done, err
	}
	plan, err := savedsession.Narrow(c.Plan, r.Past)
	if err == nil {
		_, err = runs.Compare(r.Past, plan, false)
	}
	if err != nil {
		return done, fmt.Errorf("follow %s: %w; nothing was changed", p.Dir, err)
	}
	c = c.With(plan)
	only := plan.Only(func(id string) bool { return id == p.job.ID })
	known := p.World.Redactor(c.Plan, c.Key.Secret())
	pulls := forges.Clients(p.World, forges.Hosts(p.World, c.Plan, known.Hold), p.note)
	var ready *preflight.Result
	level, state, err := c.Confine(ctx, func(ctx context.Context) (err error) {
		_, ready, err = repos.Check(ctx, p.World, only, repos.Run{ID: r.Past.Run.ID, History: rebased, Key: c.Key}, true, known, pulls)
		return err
	})
	defer func() { ready.Close() }() // may be nil
	if err != nil {
		return done, err
	}
	rewriting := runs.Rewriting{Run: r, Options: o, Job: only, Ready: ready, Level: level, State: state, Known: known, History: rebased}
	err = rewriting.Do(ctx, p.World, func(ctx context.Context, opts runner.Options) (err error) {
		done, err = runner.Rebase(ctx, c.Plan, opts)
		return err
	})
	return done, err
}
