package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// site is the workspace of a job, created by prepare for the later phases.
type site struct {
	job    *siteJob
	origin *gitops.Repo // the repository that the job belongs to
	changes.WorkTree
	*opening           // nil for a site that prepare has completed
	below       string // the workspace in the tree, slash separated; "" for the root
	dir         string // absolute path of the workspace, which can be missing before the site is complete
	initial     string // saved state of the tree at the start, if it is the user's own; "" before confine
	unlock      func() // unlocks the user's tree
	firstInTree bool   // no other job of the run has worked in the user's tree
	base        string // commit that the job starts from; "" in a repository without one
	ref         string // the name that base was resolved from; "" if it has none

	dirty []string // paths of the user's tree with uncommitted changes at the start
	space *workspace.Workspace

	beside    []tasks.Readable // next to the manifest, for the task's own commands
	sandboxes sandboxes

	diff  *changes.Differences
	hooks *hook.Set // of the job; nil before setup, and without any

	prepared time.Time // start of the job's time limit; see inTime
	touched  bool      // an attempt has started: there may be changes to save
}

// prepare opens the site of the job and the sandbox for its commands, unless both can be opened beside the first request. A
// site that is returned with a stop must be released, too.
func (j *siteJob) prepare(ctx context.Context) (s *site, end *ending.Stop) {
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
			s.release(context.WithoutCancel(ctx), false)
		}
	}()
	switch {
	case !beside:
		end = s.confine(ctx)
	case s.InPlace:
		end = s.searchBeside(ctx)
	default:
		s.checkOutBeside(ctx, head)
	}
	returned = true
	return s, end
}

// openSite locates and opens the site of the job.
func (j *siteJob) openSite(ctx context.Context) (*site, *ending.Stop) {
	s, head, err := j.locate(ctx)
	if err == nil {
		err = s.open(ctx, head)
	}
	if err != nil {
		return nil, notPrepared(ctx, j.opts, s, err)
	}
	return s, nil
}

// confine opens the sandbox for the job's commands, and saves the state of a tree that is changed without a
// worktree. That completes the site.
func (s *site) confine(ctx context.Context) *ending.Stop {
	if end := s.sandboxes.open(ctx); end != nil {
		return end
	}
	if s.InPlace {
		tree, err := s.snapshotOwn(ctx)
		if err != nil || ctx.Err() != nil {
			return notPrepared(ctx, s.job.opts, s, err)
		}
		s.initial = tree
	}
	s.prepared = s.job.opts.Now()
	return nil
}

// open opens the working tree of a located site and the workspace in it, and adds the protected paths of the
// repository to the profiles of the job. If it fails or panics, it releases them.
func (s *site) open(ctx context.Context, head gitdir.Head) (err error) {
	j, opened := s.job, false
	defer func() {
		if !opened {
			s.release(context.WithoutCancel(ctx), false)
		}
	}()
	if s.InPlace {
		s.Tree = s.origin
		s.unlock, s.firstInTree = j.run.trees.lock(s.origin.Root())
		err = s.takeTree(ctx, j.plan.AllowDirty || preflight.OnlyReads(j.plan, j.spec))
	} else {
		err = s.addTree(ctx, filepath.Join(j.opts.Work, "trees", j.spec.ID))
	}
	s.ref = refOf(j.spec, head, s.base)
	if err == nil {
		err = s.openSpace(ctx)
	}
	if opened = err == nil; opened {
		j.spec = j.spec.WithProfile(landing.InTree(j.spec, j.spec.Profile, s.Tree.Root(), s.below))
	}
	return err
}

// openSpace opens the workspace in the tree, whose filters run in the sandbox.
func (s *site) openSpace(ctx context.Context) (err error) {
	s.Tree = s.Tree.WithFilters(s.filters(ctx))
	s.space, err = workspace.Open(filepath.Join(s.Tree.Root(), filepath.FromSlash(s.below)))
	if err == nil && s.dir == "" { // one that is opened beside the first request knows it before, and others read it meanwhile
		s.dir = s.space.Dir()
	}
	if err == nil {
		s.Reports = s.ownPaths()
	}
	return err
}

// locate returns the site of the job without a tree, and the HEAD of its repository; that is zero
// for a remote one.
func (j *siteJob) locate(ctx context.Context) (s *site, head gitdir.Head, err error) {
	s = &site{job: j, base: j.start.Base, origin: j.start.Origin, below: j.start.Below, unlock: func() {}}
	s.sandboxes.site = s
	s.diff = &changes.Differences{At: &s.WorkTree, Emit: j.emit}
	if c := j.spec.Commit; c != nil {
		s.diff.Include = c.Include
	}
	repo := j.spec.Repo
	if repo.Kind == tasks.RepoCopy {
		if s.origin, err = j.run.copies.open(ctx, repo); err != nil {
			return nil, head, err
		}
	}
	if repo.Kind != tasks.RepoURL {
		if head, err = s.origin.Git.Head(); err != nil {
			return nil, head, err
		}
	}
	if repo.Kind == tasks.RepoPath {
		if err := j.run.headers.Hide(ctx, s.origin.Git); err != nil {
			return nil, head, err
		}
	}
	s.InPlace = preflight.InPlace(j.spec, head)
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
func (s *site) takeTree(ctx context.Context, allowDirty bool) error {
	head, err := s.origin.Git.Head() // read again: an earlier job may have committed
	if err != nil {
		return err
	}
	s.base = head.Hash
	switch {
	case !allowDirty:
	case s.firstInTree:
		var found preflight.Status
		found, err = preflight.StatusOf(ctx, s.Tree, s.below)
		s.dirty, s.job.start.Clean = found.Dirty, found.Clean
	default: // an earlier job may have changed the index
		s.dirty, err = preflight.DirtyBelow(ctx, s.Tree, s.below)
	}
	return err
}

// addTree creates a linked worktree in dir and uses it as the workspace.
func (s *site) addTree(ctx context.Context, dir string) (err error) {
	if s.base == "" { // of a copy
		if s.base, err = s.origin.Git.Resolve(preflight.BaseOf(s.job.spec)); err != nil {
			return err
		}
	}
	all, err := s.origin.SnapshotOf(s.base)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.Before = all.Below(s.below)
	s.Tree, err = s.origin.AddWorktree(ctx, dir, s.base)
	return err
}

// linked reports whether the site is a linked worktree.
func (s *site) linked() bool { return s.Tree != nil && !s.InPlace }

// branch returns the branch of the job's commit; "" if nothing is committed.
func (s *site) branch() string {
	j := s.job
	if j.spec.Commit == nil || j.spec.Publish == tasks.PublishPatch {
		return ""
	}
	if s.InPlace {
		if head, err := s.origin.Git.Head(); err == nil {
			return head.Branch
		}
	}
	return j.spec.Commit.Branch
}

// release releases the resources of prepare. It only warns if a worktree can't be removed,
// and does not remove one with unsaved changes.
func (s *site) release(ctx context.Context, unkept bool) {
	j := s.job
	s.settled()
	defer s.unlock()
	errs := []error{s.hooks.Close(), s.sandboxes.close(), j.privateDirs().Remove()}
	if j.opts.Level == sandbox.Partial {
		_, err := sandbox.Sweep() // of a supervisor that the job has killed
		errs = append(errs, err)
	}
	if s.space != nil {
		errs = append(errs, s.space.Close())
	}
	switch {
	case s.linked() && unkept:
		if j.opts.Trees.Left != nil {
			j.opts.Trees.Left(s.Tree.Root())
		}
		j.warn("the changes of the job could be saved neither as a patch nor as a commit: they are in " + s.Tree.Root())
		errs = append(errs, handOver(s.Tree.Git))
	case s.linked() && !j.opts.Keep:
		errs = append(errs, gitops.DiscardWorktree(ctx, s.origin, s.Tree.Root(), j.opts.Trees.discard))
	case s.linked():
		errs = append(errs, handOver(s.Tree.Git))
	case s.Tree == nil && !s.InPlace: // its checkout failed or was ended, which does not report what it could not remove
		dir := filepath.Join(j.opts.Work, "trees", j.spec.ID)
		if _, err := os.Lstat(dir); err == nil {
			errs = append(errs, gitops.DiscardWorktree(ctx, s.origin, dir, j.opts.Trees.discard))
		}
	}
	j.outputs().Remove(".") //nolint:errcheck // removed only if empty
	if err := errors.Join(errs...); err != nil {
		j.warn(fmt.Sprintf("clean up after the job: %v", err))
	}
}

// handOver gives a worktree that stays to the owner of its repository.
func handOver(git *gitdir.Dir) error {
	return errors.Join(owner.AllAs(git.Common, git.Own), owner.AllAs(git.Common, git.Root))
}
