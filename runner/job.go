package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/workspace"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// job is one job while it is carried out. Each phase fills in what the later
// ones need.
type job struct {
	*run
	tasks.Job

	start  start       // what preflight found
	end    func(error) // ends the job, for a reason that stopped knows
	breach breach      // of git's own files, by a command

	// prepare
	origin  *gitops.Repo // the repository that the job belongs to
	tree    *gitops.Repo // where it works: a linked worktree, or origin itself
	inPlace bool
	unlock  func() // of the tree, when it is worked on in place
	base    string // commit that it starts from; "" in a repository without one
	before  *gitops.Snapshot
	dirty   []string // paths that had changes of the user's at the start, in place
	space   *workspace.Workspace
	env     []string // of its child processes
	sandbox *Confinement

	narrower map[string]*Confinement // of agents that may do less, by name; under the lock of sessions

	// session
	tools    *tools.Tree // shared by all sessions of the job
	money    account
	sessions sessions
	attempts int
	final    string
	output   json.RawMessage // the last answer, if it was to meet a schema

	// changes
	changes *gitops.ChangeSet
	patch   string // path below the report directory

	// commit
	made gitops.CommitResult
}

// phase is one step of every job. A nil stop means: on to the next one.
type phase struct {
	name string
	run  func(*job, context.Context) *stop
}

// phases lists what is done for every job, in order, until one stops it.
func phases() []phase {
	return []phase{
		{"prepare", (*job).prepare},
		{"setup", (*job).setup},
		{"session", (*job).work},
		{"disk", (*job).inBounds},
		{"changes", (*job).findChanges},
		{"commit", (*job).commit},
		{"publish", (*job).publish},
	}
}

// carryOut takes the job through its phases and cleans up after it.
func (j *job) carryOut(ctx context.Context) event.JobEnd {
	// What must be done whatever happened (keeping a patch, removing the
	// worktree) is done under a context that a signal does not end.
	after := context.WithoutCancel(ctx)
	defer j.cleanUp(after)
	ctx, j.end = context.WithCancelCause(ctx)
	defer j.end(nil)
	var end *stop
	for _, p := range phases() {
		began := j.Now()
		end = j.heldTo(p.run(j, ctx))
		j.emit(event.Event{Type: event.PhaseEnded, Phase: &event.Phase{
			Name: p.name, ElapsedMS: j.Now().Sub(began).Milliseconds(), Error: reasonOf(end),
		}})
		if end != nil {
			break
		}
	}
	if end != nil && j.changes == nil && j.space != nil {
		// The work of a job that did not pass is not committed, nor is it lost.
		if bad := j.findChanges(after); bad == nil {
			j.commitWIP(after, end)
		} else if bad.code != "" {
			j.warn(bad.reason)
		}
	}
	return j.sumUp(end)
}

func reasonOf(s *stop) string {
	if s == nil {
		return ""
	}
	return s.reason
}

// sumUp makes the job's last event.
func (j *job) sumUp(end *stop) event.JobEnd {
	sum := event.JobEnd{Outcome: event.Passed, Attempts: j.attempts, FinalMessage: j.final, Output: j.output, Patch: j.patch}
	t := j.sessions.totals()
	sum.Turns, sum.Usage, sum.CostUSD = t.Turns, t.Usage, t.CostUSD
	if end != nil {
		sum.Outcome, sum.Reason, sum.ExitCode, sum.Code = end.outcome, end.reason, end.exit, end.code
	}
	return sum
}

// prepare gives the job its workspace.
func (j *job) prepare(ctx context.Context) *stop {
	if err := j.openTree(ctx); err != nil {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		return &stop{outcome: event.Error, reason: fmt.Sprintf("prepare the workspace: %v", err), exit: event.ExitFailed, code: event.CodeRepository}
	}
	var err error
	if j.env, err = j.childEnv(j.Profile); err != nil {
		return &stop{outcome: event.Error, reason: err.Error(), exit: event.ExitInternal}
	}
	if err := j.openSandbox(ctx); err != nil {
		return &stop{outcome: event.Policy, reason: err.Error(), exit: event.ExitPolicy}
	}
	j.emit(event.Event{Type: event.JobStarted, JobStart: &event.JobStart{
		Sandbox:   event.Sandbox{Level: j.Sandbox.Level, FS: j.Sandbox.FS, Net: j.Sandbox.Net, PID: j.Sandbox.PID, Reason: j.Sandbox.Warning},
		Workspace: j.space.Dir(), Base: j.base, Branch: j.branch(),
	}})
	return nil
}

func (j *job) openTree(ctx context.Context) (err error) {
	j.base, j.origin = j.start.base, j.start.origin
	var head gitdir.Head
	if j.Repo.Kind == tasks.RepoCopy {
		if j.origin, err = j.copies.open(ctx, j.Repo); err != nil {
			return err
		}
	}
	if j.Repo.Kind != tasks.RepoURL {
		if head, err = j.origin.Git.Head(); err != nil {
			return err
		}
	}
	if j.Repo.Kind == tasks.RepoPath {
		if err := j.headers.hide(ctx, j.origin); err != nil {
			return err
		}
	}
	if j.inPlace = inPlace(j.Job, head); j.inPlace {
		err = j.takeTree(ctx)
	} else {
		err = j.addTree(ctx)
	}
	if err != nil {
		return err
	}
	j.space, err = workspace.Open(j.tree.Root())
	return err
}

// takeTree makes the repository's own tree the workspace, for this job alone.
func (j *job) takeTree(ctx context.Context) error {
	j.tree, j.unlock = j.origin, j.trees.lock(j.origin.Root())
	head, err := j.origin.Git.Head() // again: the job before may have committed
	if err != nil {
		return err
	}
	j.base = head.Hash
	if j.plan.AllowDirty {
		if j.dirty, err = j.tree.Dirty(ctx); err != nil {
			return err
		}
	}
	j.before, err = j.tree.Snapshot(ctx)
	return err
}

// addTree makes a linked worktree the workspace.
func (j *job) addTree(ctx context.Context) (err error) {
	if j.base == "" { // of a copy
		if j.base, err = j.origin.Git.Resolve(baseOf(j.Job)); err != nil {
			return err
		}
	}
	if j.before, err = j.origin.SnapshotOf(j.base); err != nil {
		return err
	}
	j.tree, err = j.origin.AddWorktree(ctx, filepath.Join(j.Work, "trees", j.ID), j.base)
	return err
}

// childEnv makes the environment of commands under a profile: allow-listed, with
// a folder for temporary files of the job's own.
func (j *job) childEnv(p permission.Profile) ([]string, error) {
	env := proc.ChildEnv(j.Getenv, p.Env)
	tmp := filepath.Join(j.Work, "tmp", j.ID)
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for temporary files: %w", err)
	}
	env = proc.Set(env, "TMPDIR", tmp)
	if proc.Value(env, "HOME") == "" {
		home := filepath.Join(j.Work, "home")
		if err := os.MkdirAll(home, 0o700); err != nil {
			return nil, fmt.Errorf("make a home folder: %w", err)
		}
		env = proc.Set(env, "HOME", home)
	}
	return env, nil
}

// branch is where the job's commit goes; "" if nothing is committed.
func (j *job) branch() string {
	if j.Commit == nil || j.Publish == tasks.PublishPatch {
		return ""
	}
	if j.inPlace {
		if head, err := j.origin.Git.Head(); err == nil {
			return head.Branch
		}
	}
	return j.Commit.Branch
}

// cleanUp releases what prepare took. A worktree that can't be removed is
// worth a warning, no more.
func (j *job) cleanUp(ctx context.Context) {
	defer j.unlock()
	errs := []error{j.closeSandboxes()}
	if j.Level == sandbox.Partial {
		_, err := sandbox.Sweep() // of a supervisor that the job has killed
		errs = append(errs, err)
	}
	if j.space != nil {
		errs = append(errs, j.space.Close())
	}
	if j.tree != nil && j.tree != j.origin && !j.Keep {
		errs = append(errs, j.origin.RemoveWorktree(ctx, j.tree.Root()))
	}
	if err := errors.Join(errs...); err != nil {
		j.warn(fmt.Sprintf("clean up after the job: %v", err))
	}
}

func (j *job) warn(text string) {
	j.emit(event.Event{Type: event.WarningGiven, Warning: &event.Warning{Message: text}})
}

func (j *job) emit(e event.Event) {
	e.Job = j.ID
	j.Emit(e)
}
