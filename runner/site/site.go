package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// Workdir is a working tree and the workspace in it, where commands of a job run: that of its site, or a clean checkout.
type Workdir struct {
	job    *Job
	Origin *gitops.Repo // the repository that the job belongs to, or the checkout
	changes.WorkTree
	Below  string // the workspace in the tree, slash separated; "" for the root
	Dir    string // absolute path of the workspace, which can be missing before the site is complete; "" of a checkout
	Base   string // commit that the job starts from; "" in a repository without one, and of a checkout
	Space  *workspace.Workspace
	beside []tasks.Readable // next to the manifest, for the task's own commands
}

// Site is where a job works, created by Prepare for the later phases.
type Site struct {
	Workdir
	*opening           // nil for a site that Prepare has completed
	Initial     string // saved state of the tree at the start, if it is the user's own; "" before confine
	unlock      func() // unlocks the user's tree
	firstInTree bool   // no other job of the run has worked in the user's tree
	Ref         string // the name that base was resolved from; "" if it has none

	Dirty     []string // paths of the user's tree with uncommitted changes at the start
	Sandboxes Sandboxes

	Diff      *changes.Differences
	Hooks     *hook.Set             // of the job; nil before setup, and without any
	processes confinement.Processes // of the hooks

	Touched bool // an attempt has started: there may be changes to save
}

// Prepare opens the site of the job and the sandbox for its commands, unless both can be opened beside the first request. A
// site that is returned with a stop must be released, too.
func (j *Job) Prepare(ctx context.Context) (s *Site, end *ending.Stop) {
	s, head, err := j.locate(ctx)
	if err != nil {
		return nil, notPrepared(ctx, j.opts, s, err)
	}
	beside := s.mayOpenBeside()
	if s.InPlace || !beside {
		if err := s.open(ctx, head); err != nil {
			return nil, notPrepared(ctx, j.opts, s, err)
		}
	}
	returned := false
	defer func() {
		if !returned {
			s.Release(context.WithoutCancel(ctx), false)
		}
	}()
	switch {
	case !beside:
		end = s.Confine(ctx)
	case s.InPlace:
		end = s.searchBeside(ctx)
	default:
		s.checkOutBeside(ctx, head)
	}
	returned = true
	return s, end
}

// OpenSite locates and opens the site of the job.
func (j *Job) OpenSite(ctx context.Context) (*Site, *ending.Stop) {
	s, head, err := j.locate(ctx)
	if err == nil {
		err = s.open(ctx, head)
	}
	if err != nil {
		return nil, notPrepared(ctx, j.opts, s, err)
	}
	return s, nil
}

// Confine opens the sandbox for the job's commands, and saves the state of a tree that is changed without a
// worktree. That completes the site.
func (s *Site) Confine(ctx context.Context) *ending.Stop {
	if end := s.Sandboxes.open(ctx); end != nil {
		return end
	}
	if s.InPlace {
		tree, err := s.snapshotOwn(ctx)
		if err != nil || ctx.Err() != nil {
			return notPrepared(ctx, s.job.opts, s, err)
		}
		s.Initial = tree
	}
	s.job.TimeLimit.start()
	return nil
}

// open opens the working tree of a located site and the workspace in it, and adds the protected paths of the
// repository to the profiles of the job. If it fails or panics, it releases them.
func (s *Site) open(ctx context.Context, head gitdir.Head) (err error) {
	j, opened := s.job, false
	defer func() {
		if !opened {
			s.Release(context.WithoutCancel(ctx), false)
		}
	}()
	if s.InPlace {
		s.Tree = s.Origin
		s.unlock, s.firstInTree = j.run.trees.lock(s.Origin.Root())
		j.startsOn("", s.Origin.Root())
		err = s.takeTree(ctx, j.Plan.AllowDirty || preflight.OnlyReads(j.Plan, j.Spec))
	} else {
		err = s.addTree(ctx, filepath.Join(j.opts.Work, "trees", j.Spec.ID))
	}
	s.Ref = refOf(j.Spec, head, s.Base)
	if err == nil {
		err = s.openSpace(ctx)
	}
	if opened = err == nil; opened {
		j.Spec = j.Spec.WithProfile(landing.InTree(j.Spec, j.Spec.Profile, s.Tree.Root(), s.Below))
	}
	return err
}

// openSpace opens the workspace in the tree, whose filters run in the sandbox after that was opened.
func (s *Site) openSpace(ctx context.Context) (err error) {
	s.Tree = s.Tree.WithFilters(s.Sandboxes.filters(ctx))
	s.Space, err = workspace.Open(filepath.Join(s.Tree.Root(), filepath.FromSlash(s.Below)))
	if err == nil && s.Dir == "" { // one that is opened beside the first request knows it before, and others read it meanwhile
		s.Dir = s.Space.Dir()
	}
	if err == nil {
		s.Reports = s.ownPaths()
	}
	return err
}

// locate returns the site of the job without a tree, and the HEAD of its repository; that is zero
// for a remote one.
func (j *Job) locate(ctx context.Context) (s *Site, head gitdir.Head, err error) {
	s = &Site{Workdir: Workdir{job: j, Base: j.Start.Base, Origin: j.Start.Origin, Below: j.Start.Below}, unlock: func() {}}
	s.Sandboxes.site = s
	s.Diff = &changes.Differences{At: &s.WorkTree, Emit: j.Emit}
	if c := j.Spec.Commit; c != nil {
		s.Diff.Include = c.Include
	}
	repo := j.Spec.Repo
	if repo.Kind == tasks.RepoCopy {
		if s.Origin, err = j.run.copies.open(ctx, repo); err != nil {
			return nil, head, err
		}
	}
	if repo.Kind != tasks.RepoURL {
		if head, err = s.Origin.Git.Head(); err != nil {
			return nil, head, err
		}
	}
	if repo.Kind == tasks.RepoPath {
		if err := j.run.headers.Hide(ctx, s.Origin.Git); err != nil {
			return nil, head, err
		}
	}
	if s.InPlace = preflight.InPlace(j.Spec, head); !s.InPlace {
		j.startsOn(s.Base, "")
	}
	return s, head, nil
}

// refOf returns the name that the base of a job was resolved from; "" if it is the commit
// of an existing branch of the job.
func refOf(spec tasks.Job, head gitdir.Head, base string) string {
	switch {
	case spec.Repo.Ref != "" && (spec.Commit == nil || spec.Commit.IfExists != tasks.AppendIfExists):
		return spec.Repo.Ref
	case spec.Repo.Ref == "" && head.Hash == base:
		return head.Branch
	}
	return ""
}

// takeTree uses the repository's own tree, which is locked, as the workspace. If it may be dirty, the
// start of the job gets whether it is clean.
func (s *Site) takeTree(ctx context.Context, allowDirty bool) error {
	head, err := s.Origin.Git.Head() // read again: an earlier job may have committed
	if err != nil {
		return err
	}
	s.Base = head.Hash
	switch {
	case !allowDirty:
	case s.firstInTree:
		var found preflight.Status
		found, err = preflight.StatusOf(ctx, s.Tree, s.Below)
		s.Dirty, s.job.Start.Clean = found.Dirty, found.Clean
	default: // an earlier job may have changed the index
		s.Dirty, err = preflight.DirtyBelow(ctx, s.Tree, s.Below)
	}
	return err
}

// addTree creates a linked worktree in dir and uses it as the workspace.
func (w *Workdir) addTree(ctx context.Context, dir string) (err error) {
	if w.Base == "" { // of a copy
		if w.Base, err = w.Origin.Git.Resolve(preflight.BaseOf(w.job.Spec)); err != nil {
			return err
		}
	}
	all, err := w.Origin.SnapshotOf(w.Base)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.Before = all.Below(w.Below)
	w.Tree, err = w.Origin.AddWorktree(ctx, dir, w.Base)
	return err
}

// Linked reports whether the site is a linked worktree.
func (w *Workdir) Linked() bool { return w.Tree != nil && !w.InPlace }

// Branch returns the branch of the job's commit; "" if nothing is committed.
func (w *Workdir) Branch() string {
	j := w.job
	if j.Spec.Commit == nil || j.Spec.Publish == tasks.PublishPatch {
		return ""
	}
	if w.InPlace {
		if head, err := w.Origin.Git.Head(); err == nil {
			return head.Branch
		}
	}
	return j.Spec.Commit.Branch
}

// Release releases the resources of prepare. It only warns if a worktree can't be removed,
// and does not remove one with unsaved changes.
func (s *Site) Release(ctx context.Context, unkept bool) {
	j := s.job
	s.Settled()
	defer s.unlock()
	s.Hooks.Close()
	errs := []error{s.processes.Close(), s.Sandboxes.close(), j.PrivateDirs().Remove()}
	if j.opts.Level == sandbox.Partial {
		_, err := sandbox.Sweep() // of a supervisor that the job has killed
		errs = append(errs, err)
	}
	if s.Space != nil {
		errs = append(errs, s.Space.Close())
	}
	switch {
	case s.Linked() && unkept:
		if j.opts.Trees.Left != nil {
			j.opts.Trees.Left(s.Tree.Root())
		}
		j.Warn("the changes of the job could be saved neither as a patch nor as a commit: they are in " + s.Tree.Root())
		errs = append(errs, handOver(s.Tree.Git))
	case s.Linked() && !j.opts.Keep:
		errs = append(errs, gitops.DiscardWorktree(ctx, s.Origin, s.Tree.Root(), j.opts.Trees.discard))
	case s.Linked():
		errs = append(errs, handOver(s.Tree.Git))
	case s.Tree == nil && !s.InPlace: // its checkout failed or was ended, which does not report what it could not remove
		dir := filepath.Join(j.opts.Work, "trees", j.Spec.ID)
		if _, err := os.Lstat(dir); err == nil {
			errs = append(errs, gitops.DiscardWorktree(ctx, s.Origin, dir, j.opts.Trees.discard))
		}
	}
	j.Outputs().Remove(".") //nolint:errcheck // removed only if empty
	if err := errors.Join(errs...); err != nil {
		j.Warn(fmt.Sprintf("clean up after the job: %v", err))
	}
}

// handOver gives a worktree that stays to the owner of its repository.
func handOver(git *gitdir.Dir) error {
	return errors.Join(owner.AllAs(git.Common, git.Own), owner.AllAs(git.Common, git.Root))
}
