package preflight

import (
	"cmp"
	"context"
	"errors"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

// Check checks the repository of every selected job before anything runs or money is
// spent: it fetches remote repositories, resolves the commit that each job starts from,
// and detects reasons why the job would fail later. The error joins a [Refusal] for each
// refused job, or is the error of look.Auth or of ctx.
//
// If a repository can't be fetched, only its jobs fail; it is not a refusal.
func Check(ctx context.Context, plan *tasks.Plan, look Options) (*Result, error) {
	p := &checker{Options: look, plan: plan, origins: &origins{Options: look, plan: plan, all: map[string]*origin{}}, taken: map[string]string{}}
	p.origins.open(ctx)
	if err := p.origins.authorize(); err != nil {
		return nil, err
	}
	p.origins.reach(ctx)
	ready := &Result{Starts: make(map[string]Start, len(plan.Jobs)), secrets: p.origins.secrets(), Signing: look.Signing}
	to := targets{p.origins, p.Forge}
	var refused []error
	for _, j := range plan.Jobs {
		if p.History.Done(j.ID) {
			continue // it starts from nothing
		}
		j, on, skip, err := pullBranches{to, plan, p.Local, p.warn}.find(ctx, j)
		s := Start{Skip: skip}
		if err == nil && skip == nil {
			s, err = p.job(ctx, j)
		}
		if s.OnPull = on; on.Branch != "" {
			s.Lease = j.Repo.Ref // also for a push by another command
		}
		if err == nil && s.Skip == nil && !p.Local {
			err = p.askForge(ctx, to, j, &s)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var r *Refusal
		switch {
		case errors.As(err, &r):
			refused = append(refused, &Refusal{Job: j.ID, Code: r.Code, Err: r.Err})
		case err != nil:
			refused = append(refused, &Refusal{Job: j.ID, Code: event.CodeRepository, Err: err})
		}
		if base := cmp.Or(s.Base, s.Clean.Commit); s.Origin != nil && base != "" && len(ready.Starts) < max(plan.Parallel, 1) {
			s.files = s.Origin.Listed(base)
		}
		ready.Starts[j.ID] = s
	}
	if len(refused) == 0 {
		refused = p.reserve(ctx, ready)
	}
	if len(refused) == 0 {
		refused = p.removeLocks(ctx, ready)
	}
	if len(refused) == 0 && p.Reserve != "" {
		p.removeStale()
	}
	ready.warnings = p.warnings
	return ready, errors.Join(refused...)
}

// askForge checks what a job needs of a forge, until one of it refuses or skips the job.
func (p *checker) askForge(ctx context.Context, to targets, j tasks.Job, s *Start) error {
	for _, c := range []struct {
		needed bool
		check  func() error
	}{
		{j.Pull != nil, func() error { return p.pullRequest(ctx, j, s) }},
		{j.Publish.Pushes(), func() error { return p.byForge(ctx, j, s) }},
		{j.Publish.Pushes(), func() error { return p.workflows(ctx, j, s) }},
		{j.Context != nil, func() error { return to.context(ctx, j, s) }},
		{j.Comment != nil, func() error { return to.comment(ctx, j, s) }},
		{j.Requests.Made(), func() error { return to.requests(ctx, j, s) }},
	} {
		if !c.needed {
			continue
		}
		if err := c.check(); err != nil || s.Skip != nil {
			return err
		}
	}
	return nil
}
