package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// startHooks opens the hooks of the run, and runs those of run_start. A failure is the end of
// all jobs.
func (r *run) startHooks(ctx context.Context) *hook.Set {
	emit := func(e event.Extension) { r.opts.Emit(event.Event{Type: event.ExtensionChanged, Extension: &e}) }
	hooks := hook.New(hook.Config{
		Hooks: site.HooksOf(r.Plan, true), Sandbox: string(r.opts.Level), Redact: r.opts.Redact, Input: hook.Input{Run: r.opts.RunID}, Launch: r.launchHook,
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
func (r *run) launchHook(ctx context.Context, h tasks.Hook) (proc.Command, error) {
	g := confinement.Env{
		Level:   r.opts.Level,
		Dirs:    confinement.Dirs{Workspace: r.hookDir(h.On)},
		Rules:   confinement.Rules{Profile: confinement.HookProfile(h.Profile, h), Limits: tasks.DefaultLimits()},
		Getenv:  r.opts.Getenv,
		Now:     r.opts.Now,
		Tell:    func(event.Network) {},
		Fail:    func(error) {},
		Private: r.Private,
	}
	if err := os.MkdirAll(g.Workspace, 0o700); err != nil {
		return proc.Command{}, fmt.Errorf("create the directory of the hook: %w", err)
	}
	return r.hookProcesses.LaunchRunHook(ctx, g, h, r.opts.Work)
}

// endHooks runs the hooks of run_end, also after a signal, and closes all hooks of the run.
func (r *run) endHooks(ctx context.Context, hooks *hook.Set, outcome event.Outcome, exit event.Exit, ends []event.JobEnd) {
	ctx, done := ending.UntilHurried(ctx)
	defer done()
	hooks.Run(ctx, tasks.RunEnd, func(in *hook.Input) { //nolint:errcheck // failures are warnings
		in.Dir, in.Outcome, in.ExitCode = r.hookDir(tasks.RunEnd), outcome, &exit
		for i, end := range ends {
			in.Jobs = append(in.Jobs, hook.Ended{Job: r.Plan.Jobs[i].ID, Outcome: end.Outcome, Reason: end.Reason, Code: end.Code})
		}
	})
	hooks.Close()
	if err := r.hookProcesses.Close(); err != nil {
		r.opts.Emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: fmt.Sprintf("clean up after the hooks: %v", err)}})
	}
}
