package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

// hooksOf returns the hooks of runs, or those of jobs.
func hooksOf(plan *tasks.Plan, runs bool) []tasks.Hook {
	return slices.DeleteFunc(slices.Clone(plan.Hooks), func(h tasks.Hook) bool { return h.On.OfRun() != runs })
}

// hasHooks reports whether an event of the job has hooks; nil has none.
func (s *site) hasHooks(on tasks.HookEvent) bool { return s != nil && s.hooks.Has(on) }

// jobHooks runs the hooks of a job.
type jobHooks struct {
	job  *job
	site *site
}

// start opens the hooks of the job, and runs those of job_start.
func (r jobHooks) start(ctx context.Context) *ending.Stop {
	j, s := r.job, r.site
	s.hooks = hook.New(hook.Config{
		Hooks: hooksOf(j.plan, false), Sandbox: string(j.opts.Level), Redact: j.opts.Redact,
		Input: hook.Input{Run: j.opts.RunID, Job: j.spec.ID, Task: j.spec.Task, Repo: j.spec.Repo.Name, Dir: s.dir},
		Launch: func(ctx context.Context, h tasks.Hook) (func(context.Context) (*proc.Service, error), func() error, error) {
			g, err := j.ground(s, confinement.HookProfile(j.spec.Profile, h))
			if err != nil {
				return nil, nil, err
			}
			g.Within, g.Fail = s.sandbox, g.Spared(h.Optional)
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

// run runs the hooks of an event within the time of the job. code is that of a failure.
func (r jobHooks) run(ctx context.Context, on tasks.HookEvent, code event.Code, in func(*hook.Input)) *ending.Stop {
	if !r.site.hasHooks(on) {
		return nil
	}
	ctx, cancel := r.job.inTime(ctx, r.site)
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
	if r.job.spec.Commit == nil || !r.site.hasHooks(tasks.BeforeCommit) {
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

// afterCommit runs the hooks of after_commit if there is a commit.
func (l *landed) afterCommit(ctx context.Context) *ending.Stop {
	if l.made.Hash == "" {
		return nil
	}
	return jobHooks{l.job, l.site}.run(ctx, tasks.AfterCommit, event.CodeExtension, func(in *hook.Input) { in.Commit = l.hookCommit() })
}

// hookCommit returns the commit of the job; nil without one.
func (l *landed) hookCommit() *hook.Commit {
	if l == nil || l.made.Hash == "" {
		return nil
	}
	return &hook.Commit{Hash: l.made.Hash, Branch: l.made.Branch}
}

// end runs the hooks of job_end, also after a signal.
func (r jobHooks) end(ctx context.Context, l *landed, end event.JobEnd) {
	if !r.site.hasHooks(tasks.JobEnd) {
		return
	}
	ctx, done := ending.UntilHurried(ctx)
	defer done()
	r.site.hooks.Run(ctx, tasks.JobEnd, func(in *hook.Input) { //nolint:errcheck // failures are warnings
		in.Outcome, in.Reason, in.Code, in.ExitCode, in.Commit = end.Outcome, end.Reason, end.Code, &end.ExitCode, l.hookCommit()
	})
}

// startHooks opens the hooks of the run, and runs those of run_start. A failure is the end of
// all jobs.
func (r *run) startHooks(ctx context.Context) *hook.Set {
	emit := func(e event.Extension) { r.opts.Emit(event.Event{Type: event.ExtensionChanged, Extension: &e}) }
	hooks := hook.New(hook.Config{
		Hooks: hooksOf(r.plan, true), Sandbox: string(r.opts.Level), Redact: r.opts.Redact, Input: hook.Input{Run: r.opts.RunID}, Launch: r.launchHook,
		Emit: emit, Warn: func(text string) {
			r.opts.Emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: text}})
		},
	})
	err := hooks.Run(ctx, tasks.RunStart, func(in *hook.Input) { in.Dir = r.hookDir(tasks.RunStart) })
	if err != nil && ctx.Err() == nil { // or else the jobs are cancelled
		r.notStarted = ending.Fault(event.CodeExtension, err)
	}
	return hooks
}

// hookDir is the directory of the run's hooks of an event.
func (r *run) hookDir(on tasks.HookEvent) string {
	return filepath.Join(r.opts.Work, "hooks", string(on))
}

// launchHook starts hooks of the run in an empty directory, which belongs to no repository.
func (r *run) launchHook(ctx context.Context, h tasks.Hook) (start func(context.Context) (*proc.Service, error), end func() error, err error) {
	g := confinement.Env{
		Level: r.opts.Level, Workspace: r.hookDir(h.On), Profile: confinement.HookProfile(h.Profile, h), Getenv: r.opts.Getenv, Limits: manifest.DefaultLimits(), Now: r.opts.Now,
		Tell: func(event.Network) {}, Fail: func(error) {}, Private: r.private,
	}
	if err := os.MkdirAll(g.Workspace, 0o700); err != nil {
		return nil, nil, fmt.Errorf("create the directory of the hook: %w", err)
	}
	return confinement.LaunchRunHook(ctx, g, h, r.opts.Work)
}

// endHooks runs the hooks of run_end, also after a signal, and closes all hooks of the run.
func (r *run) endHooks(ctx context.Context, hooks *hook.Set, outcome event.Outcome, exit event.Exit, ends []event.JobEnd) {
	ctx, done := ending.UntilHurried(ctx)
	defer done()
	hooks.Run(ctx, tasks.RunEnd, func(in *hook.Input) { //nolint:errcheck // failures are warnings
		in.Dir, in.Outcome, in.ExitCode = r.hookDir(tasks.RunEnd), outcome, &exit
		for i, end := range ends {
			in.Jobs = append(in.Jobs, hook.Ended{Job: r.plan.Jobs[i].ID, Outcome: end.Outcome, Reason: end.Reason, Code: end.Code})
		}
	})
	if err := hooks.Close(); err != nil {
		r.opts.Emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: fmt.Sprintf("clean up after the hooks: %v", err)}})
	}
}
