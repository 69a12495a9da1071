package site

import (
	"context"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// HooksOf returns the hooks of runs, or those of jobs.
func HooksOf(plan *tasks.Plan, runs bool) []tasks.Hook {
	return slices.DeleteFunc(slices.Clone(plan.Hooks), func(h tasks.Hook) bool { return h.On.OfRun() != runs })
}

// HasHooks reports whether an event of the job has hooks; nil has none.
func (s *Site) HasHooks(on tasks.HookEvent) bool { return s != nil && s.Hooks.Has(on) }

// JobHooks runs the hooks of a job.
type JobHooks struct{ Site *Site }

// start opens the hooks of the job, and runs those of job_start.
func (r JobHooks) start(ctx context.Context) *ending.Stop {
	s := r.Site
	j := s.job
	s.Hooks = hook.New(hook.Config{
		Hooks: HooksOf(j.Plan, false), Sandbox: string(j.opts.Level), Redact: j.opts.Redact,
		Input: hook.Input{Run: j.opts.RunID, Job: j.Spec.ID, Task: j.Spec.Task, Repo: j.Spec.Repo.Name, Dir: s.Dir},
		Launch: func(ctx context.Context, h tasks.Hook) (proc.Command, error) {
			g, err := s.Ground(confinement.HookProfile(j.Spec.Profile, h))
			if err != nil {
				return proc.Command{}, err
			}
			g.Within, g.Fail = s.Sandboxes.Own, g.Spared(h.Optional)
			if h.On == tasks.BeforeTool || h.On == tasks.AfterTool { // sessions are shown what others print nowhere
				g.Tell = j.Reaching(g.Tell)
			}
			h.Workspace = h.Workspace || j.Spec.Script != nil // the script, or a hook before the commit, changes files
			return s.processes.LaunchHook(ctx, g, h, j.opts.Work, j.Spec.ID)
		},
		Emit: func(e event.Extension) { j.Emit(event.Event{Type: event.ExtensionChanged, Extension: &e}) },
		Warn: j.Warn,
		Stop: func(reason string) { j.End(event.EndCause{Code: event.CodeExtension, Reason: reason}) },
	})
	return r.Run(ctx, tasks.JobStart, event.CodeExtension, func(*hook.Input) {})
}

// SetUp runs the hooks of job_start and the setup commands. What they leave in the workspace is not
// the agent's.
func (r JobHooks) SetUp(ctx context.Context) *ending.Stop {
	s := r.Site
	j := s.job
	fresh := !s.InPlace // otherwise it may be as an earlier process left it
	setup := func(ctx context.Context) *ending.Stop {
		return Setup{Workdir: &s.Workdir, Within: s.Sandboxes.Own}.Run(ctx)
	}
	start, commands := r.start, setup
	if slices.ContainsFunc(j.Plan.Hooks, func(h tasks.Hook) bool { return h.On == tasks.JobStart }) {
		start = func(ctx context.Context) *ending.Stop { return s.Diff.By(ctx, event.ByHook, fresh, r.start) }
	}
	if len(j.Spec.Setup) > 0 {
		commands = func(ctx context.Context) *ending.Stop {
			return s.Diff.By(ctx, event.BySetup, fresh && !s.HasHooks(tasks.JobStart), setup)
		}
	}
	return ending.First(ctx, start, commands)
}

// Run runs the hooks of an event within the time of the job. code is that of a failure.
func (r JobHooks) Run(ctx context.Context, on tasks.HookEvent, code event.Code, in func(*hook.Input)) *ending.Stop {
	if !r.Site.HasHooks(on) {
		return nil
	}
	ctx, cancel := r.Site.job.TimeLimit.In(ctx)
	defer cancel()
	err := r.Site.Hooks.Run(ctx, on, in)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ending.Of(ctx)
	}
	return ending.Fault(code, err)
}

// BeforeCommit runs the hooks of before_commit if there is something to commit, also later from
// the patch. What they change belongs to the job's changes.
func (r JobHooks) BeforeCommit(ctx context.Context) *ending.Stop {
	if r.Site.job.Spec.Commit == nil || !r.Site.HasHooks(tasks.BeforeCommit) {
		return nil
	}
	f, err := r.Site.Diff.Find(ctx)
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
	return r.Site.Diff.Except(ctx, func(ctx context.Context) *ending.Stop {
		return r.Run(ctx, tasks.BeforeCommit, event.CodeHook, func(in *hook.Input) { in.Changes = changed })
	})
}

// End runs the hooks of job_end, also after a signal.
func (r JobHooks) End(ctx context.Context, commit *hook.Commit, end event.JobEnd) {
	if !r.Site.HasHooks(tasks.JobEnd) {
		return
	}
	ctx, done := ending.UntilHurried(ctx)
	defer done()
	r.Site.Hooks.Run(ctx, tasks.JobEnd, func(in *hook.Input) { //nolint:errcheck // failures are warnings
		in.Outcome, in.Reason, in.Code, in.ExitCode, in.Commit = end.Outcome, end.Reason, end.Code, &end.ExitCode, commit
	})
}
