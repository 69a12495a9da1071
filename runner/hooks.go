package runner

import (
	"context"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// hooksOf returns the hooks of runs, or those of jobs.
func hooksOf(plan *tasks.Plan, runs bool) []tasks.Hook {
	return slices.DeleteFunc(slices.Clone(plan.Hooks), func(h tasks.Hook) bool { return h.On.OfRun() != runs })
}

// hasHooks reports whether an event of the job has hooks; nil has none.
func (s *site) hasHooks(on tasks.HookEvent) bool { return s != nil && s.hooks.Has(on) }

// jobHooks runs the hooks of a job.
type jobHooks struct{ site *site }

// start opens the hooks of the job, and runs those of job_start.
func (r jobHooks) start(ctx context.Context) *ending.Stop {
	s := r.site
	j := s.job
	s.hooks = hook.New(hook.Config{
		Hooks: hooksOf(j.plan, false), Sandbox: string(j.opts.Level), Redact: j.opts.Redact,
		Input: hook.Input{Run: j.opts.RunID, Job: j.spec.ID, Task: j.spec.Task, Repo: j.spec.Repo.Name, Dir: s.dir},
		Launch: func(ctx context.Context, h tasks.Hook) (func(context.Context) (*proc.Service, error), func() error, error) {
			g, err := s.ground(confinement.HookProfile(j.spec.Profile, h))
			if err != nil {
				return nil, nil, err
			}
			g.Within, g.Fail = s.sandboxes.own, g.Spared(h.Optional)
			h.Workspace = h.Workspace || j.spec.Script != nil // the script, or a hook before the commit, changes files
			return confinement.LaunchHook(ctx, g, h, j.opts.Work, j.spec.ID)
		},
		Emit:  func(e event.Extension) { j.emit(event.Event{Type: event.ExtensionChanged, Extension: &e}) },
		Warn:  j.warn,
		Stop:  func(reason string) { j.end(session.Timeout{Code: event.CodeExtension, Reason: reason}) },
		Watch: r.watch,
	})
	return r.run(ctx, tasks.JobStart, event.CodeExtension, func(*hook.Input) {})
}

// setUp runs the hooks of job_start and the setup commands. What they leave in the workspace is not
// the agent's.
func (r jobHooks) setUp(ctx context.Context) *ending.Stop {
	s := r.site
	j := s.job
	fresh := !s.InPlace // otherwise it may be as an earlier process left it
	start, commands := r.start, setup{s}.run
	if slices.ContainsFunc(j.plan.Hooks, func(h tasks.Hook) bool { return h.On == tasks.JobStart }) {
		start = func(ctx context.Context) *ending.Stop { return s.diff.By(ctx, event.ByHook, fresh, r.start) }
	}
	if len(j.spec.Setup) > 0 {
		commands = func(ctx context.Context) *ending.Stop {
			return s.diff.By(ctx, event.BySetup, fresh && !s.hasHooks(tasks.JobStart), setup{s}.run)
		}
	}
	return ending.First(ctx, start, commands)
}

// run runs the hooks of an event within the time of the job. code is that of a failure.
func (r jobHooks) run(ctx context.Context, on tasks.HookEvent, code event.Code, in func(*hook.Input)) *ending.Stop {
	if !r.site.hasHooks(on) {
		return nil
	}
	ctx, cancel := r.site.inTime(ctx)
	defer cancel()
	err := r.site.hooks.Run(ctx, on, in)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ending.Of(ctx)
	}
	return ending.Fault(code, err)
}

// beforeCommit runs the hooks of before_commit if there is something to commit, also later from
// the patch. What they change belongs to the job's changes.
func (r jobHooks) beforeCommit(ctx context.Context) *ending.Stop {
	if r.site.job.spec.Commit == nil || !r.site.hasHooks(tasks.BeforeCommit) {
		return nil
	}
	f, err := r.site.diff.Find(ctx)
	if err != nil {
		return ending.OfGit(ctx, "find the paths that the job changed", err)
	}
	var changed []string
	for _, c := range f.Changes.Changes {
		changed = append(changed, c.Path)
	}
	if len(changed) == 0 {
		return nil
	}
	return r.site.diff.Except(ctx, func(ctx context.Context) *ending.Stop {
		return r.run(ctx, tasks.BeforeCommit, event.CodeHook, func(in *hook.Input) { in.Changes = changed })
	})
}

// end runs the hooks of job_end, also after a signal.
func (r jobHooks) end(ctx context.Context, commit *hook.Commit, end event.JobEnd) {
	if !r.site.hasHooks(tasks.JobEnd) {
		return
	}
	ctx, done := ending.UntilHurried(ctx)
	defer done()
	r.site.hooks.Run(ctx, tasks.JobEnd, func(in *hook.Input) { //nolint:errcheck // failures are warnings
		in.Outcome, in.Reason, in.Code, in.ExitCode, in.Commit = end.Outcome, end.Reason, end.Code, &end.ExitCode, commit
	})
}
