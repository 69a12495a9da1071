package site

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/untrusted"
)

// Options are those of a run that its sites need.
type Options struct {
	RunID string
	Dir   *files.Dir // for the run's files
	// Private are absolute report directories, which commands and tools can't access,
	// even in a workspace. A .millhand that contains one is hidden from commands.
	Private   []string
	Work      string // private directory for worktrees and temporary files: exists, absolute, removed by the caller
	Keep      bool   // do not remove worktrees
	Git       gitdir.Env
	Preflight *preflight.Result // result of the plan's preflight
	Level     sandbox.Level     // of all commands
	Sandbox   sandbox.State     // description of Level
	System    *sandbox.Private  // private files of the system; nil: those of sandbox.NewPrivate
	Getenv    func(string) string
	Redact    *redact.Redactor // for files, events and tool results; nil for none
	Now       func() time.Time
	Emit      func(event.Event)
	Trees     Trees
	History   history.Run // what earlier processes did, and what this one does; the zero value for a new run
	// ForeignFiles describes the files of the current repository if others have written them; "" if not.
	ForeignFiles string
	NoBaseline   bool // no verify command runs before the agent starts
}

// Trees are what the owner of Work does with worktrees. Both may be called concurrently, and be nil.
type Trees struct {
	// Left is called with each worktree whose changes are not saved elsewhere: the
	// caller must not remove it.
	Left func(tree string)
	// Discard moves a worktree away and removes it concurrently. Without it, or if it fails, a job waits
	// for the removal.
	Discard func(tree string) error
}

// discard removes a worktree.
func (t Trees) discard(tree string) error {
	if t.Discard == nil || t.Discard(tree) != nil {
		return sharedfile.RemoveAll(tree)
	}
	return nil
}

// Run is what the sites of a run share.
type Run struct {
	opts      *Options
	Plan      *tasks.Plan
	copies    *copies
	headers   *credentials.Hidden // removed while agents work; pushes use what preflight has read
	Private   *sandbox.Private    // of all jobs: found once
	search    func()              // begins to search for them, once
	searching sync.WaitGroup
	trees     keyedLocks // by root of a tree that is changed in place
	marked    untrusted.Files
	baselines commands.Baselines
	unread    sync.Once // the warning of a configuration for OpenCode
}

// NewRun returns what the sites of a run of a plan share.
func NewRun(plan *tasks.Plan, o *Options) *Run {
	r := &Run{
		opts: o, Plan: plan, copies: newCopies(o), headers: credentials.NewHidden(),
		Private: cmp.Or(o.System, sandbox.NewPrivate()), search: func() {},
	}
	addMarked(&r.marked, plan, o.History.Past)
	return r
}

// Close waits for the search for private files, and restores all credentials. The last agent has ended.
func (r *Run) Close(ctx context.Context) {
	r.searching.Wait()
	if err := r.headers.Restore(context.WithoutCancel(ctx)); err != nil {
		r.opts.Emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: fmt.Sprint(err)}})
	}
}

// Job is the specification and state of a running job, without its sessions and what becomes of its changes. Other packages read the
// specification and the start, and change them only by its methods.
type Job struct {
	run     *Run
	opts    *Options // of the run
	Plan    *tasks.Plan
	Spec    tasks.Job
	Start   preflight.Start         // what preflight found
	History history.Job             // what earlier processes did of it, and what this one does
	End     context.CancelCauseFunc // ends the job; see ending.Of for the causes
	breach  breach                  // of git's own files, by a command
	denied  confinement.DeniedOnce  // hosts that are in the stream

	TimeLimit TimeLimit
	trust
}

// Job returns the job for a specification of the plan.
func (r *Run) Job(spec tasks.Job) *Job {
	start := r.opts.Preflight.Start(spec.ID)
	if start.NoWorkflows != "" {
		spec = preflight.WithoutWorkflows(spec, start.NoWorkflows)
	}
	spec = start.OnPull.Applied(spec)
	j := &Job{run: r, opts: r.opts, Plan: r.Plan, Spec: spec, Start: start, History: r.opts.History.Job(spec.ID), TimeLimit: TimeLimit{limit: spec.Limits.Time, now: r.opts.Now}}
	j.watchUntrusted()
	return j
}

// Begin returns a context that the job can end by [Job.End].
func (j *Job) Begin(ctx context.Context) context.Context {
	ctx, j.End = context.WithCancelCause(ctx)
	return ctx
}

// UseModel lets the sessions that the job opens from now on use another model.
func (j *Job) UseModel(to tasks.Model) { j.Spec = j.Spec.WithModel(to) }

// Undo makes the job one that commits the files of a turn with a subject, and runs no agent.
func (j *Job) Undo(subject string) { j.Spec = j.Spec.Reverting(subject, j.Start.CheckedOut) }

// StartAt lets the job start at another commit than preflight found, on a branch that is at tip; "" for a new one.
func (j *Job) StartAt(base, tip string) { j.Start.Base, j.Start.Tip = base, tip }

// Warn emits a warning of the job.
func (j *Job) Warn(text string) {
	j.Emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: text}})
}

// Now returns the time.
func (j *Job) Now() time.Time { return j.opts.Now() }

// Emit emits an event of the job.
func (j *Job) Emit(e event.Event) {
	e.Job = j.Spec.ID
	j.opts.Emit(e)
}

// SessionID returns the id of a session with a name.
func (j *Job) SessionID(name string) string { return j.opts.RunID + "/" + name }
