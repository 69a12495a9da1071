package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// site is the workspace of a job, created by prepare for the later phases.
type site struct {
	origin *gitops.Repo // the repository that the job belongs to
	changes.WorkTree
	below       string   // the workspace in the tree, slash separated; "" for the root
	dir         string   // absolute path of the workspace, which can be missing before the site is complete
	opening     *opening // nil for a site that prepare has completed
	initial     string   // saved state of the tree at the start, if it is the user's own; "" before confine
	unlock      func()   // unlocks the user's tree
	firstInTree bool     // no other job of the run has worked in the user's tree
	base        string   // commit that the job starts from; "" in a repository without one
	ref         string   // the name that base was resolved from; "" if it has none

	dirty []string // paths of the user's tree with uncommitted changes at the start
	space *workspace.Workspace

	beside   []tasks.Readable                    // next to the manifest, for the task's own commands
	sandbox  *confinement.Confinement            // of the task's own commands; nil before openBox, or until it is needed
	onDemand func() *ending.Stop                 // opens the sandbox when it is needed; nil: it was opened
	mu       sync.Mutex                          // of sandbox, if it is opened on demand, and narrower
	narrower map[string]*confinement.Confinement // of agents with more restricted profiles, by name

	diff  *changes.Differences
	hooks *hook.Set // of the job; nil before setup, and without any

	prepared time.Time // start of the job's time limit; see inTime
	touched  bool      // an attempt has started: there may be changes to save
}

// prepare locates and opens the site of the job.
func (j *job) prepare(ctx context.Context) (*site, *ending.Stop) {
	s, head, err := j.locate(ctx)
	if err == nil {
		err = j.openSite(ctx, s, head)
	}
	if err != nil {
		return nil, notPrepared(ctx, j.opts, s, err)
	}
	return s, nil
}

// protect adds the protected paths of the repository to the profiles of the job.
func (j *job) protect(s *site) {
	j.spec = j.spec.WithProfile(landing.InTree(j.spec, j.spec.Profile, s.Tree.Root(), s.below))
}

// tracked returns the paths of the workspace that git has. The index of a tree that is
// changed in place is older than its snapshot, which is made in the sandbox.
func (s *site) tracked() []string {
	if s.Before != nil {
		return s.Before.Paths()
	}
	idx, err := s.Tree.Git.Index()
	if err != nil {
		return nil // the snapshot will report it
	}
	var files []string
	for _, e := range idx.Entries {
		if state.IsBelow(e.Path, s.below) {
			files = append(files, e.Path)
		}
	}
	return files
}

// confine creates the sandbox for the job's commands, which completes the site.
func (j *job) confine(ctx context.Context, s *site) *ending.Stop {
	tree, end := j.openSandbox(ctx, s)
	if end != nil {
		return end
	}
	s.prepared, s.initial = j.opts.Now(), tree
	j.started(s, tree)
	j.warnOfUnread(s)
	return nil
}

// openSandbox opens the sandbox, and saves the state of a tree that is changed without a
// worktree.
func (j *job) openSandbox(ctx context.Context, s *site) (tree string, end *ending.Stop) {
	if end := s.openBox(ctx, j); end != nil || !s.InPlace {
		return "", end
	}
	tree, err := s.snapshotOwn(ctx, j)
	if err != nil || ctx.Err() != nil {
		return "", notPrepared(ctx, j.opts, s, err)
	}
	return tree, nil
}

// openBox opens the sandbox. If only calls of the model run commands, the first call opens it: a
// job without one needs neither the sandbox nor private directories. In the user's own tree
// it is opened immediately, because it searches the tree for nested repositories.
func (s *site) openBox(ctx context.Context, j *job) *ending.Stop {
	if g := (confinement.Env{Level: j.opts.Level}); !(early{j}).onlyCalls() || g.Confines() && s.InPlace {
		return s.newSandbox(ctx, j)
	}
	ctx = context.WithoutCancel(ctx) // filters run whatever happens
	s.onDemand = sync.OnceValue(func() *ending.Stop { return s.newSandbox(ctx, j) })
	return nil
}

// neededSandbox returns the sandbox of the task's own commands.
func (s *site) neededSandbox() (*confinement.Confinement, *ending.Stop) {
	if s.onDemand != nil {
		if end := s.onDemand(); end != nil {
			return nil, end
		}
	}
	return s.sandbox, nil
}

func (s *site) newSandbox(ctx context.Context, j *job) *ending.Stop {
	if len(j.spec.Setup)+len(j.spec.Verify) > 0 { // otherwise the session reads the job concurrently
		s.beside = j.spec.ResolveBeside(s.space.Dir())
	}
	g, err := j.ground(s, j.spec.Profile)
	if err != nil {
		return ending.Fault(event.CodeInternal, err)
	}
	box, err := confinement.Open(ctx, g)
	switch {
	case errors.Is(err, sandbox.ErrAbsent):
		return &ending.Stop{Code: event.CodeDenied, Detail: err.Error()}
	case err != nil && ctx.Err() != nil:
		return ending.Of(ctx)
	case err != nil:
		return ending.Fault(event.CodeEnvironment, err)
	}
	if !(early{j}).onlyCalls() { // commands will run
		box.WatchDisk()
	}
	for _, l := range box.Unopened(g) {
		j.warn(l.Why.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandbox = box
	return nil
}

// openSite opens the working tree of a located site and the workspace in it. If it fails or
// panics, it releases them.
func (j *job) openSite(ctx context.Context, s *site, head gitdir.Head) (err error) {
	opened := false
	defer func() {
		if !opened {
			j.releaseSite(context.WithoutCancel(ctx), s, false)
		}
	}()
	if s.InPlace {
		s.Tree = s.origin
		s.unlock, s.firstInTree = j.run.trees.lock(s.origin.Root())
		err = s.takeTree(ctx, &j.start, j.plan.AllowDirty || preflight.OnlyReads(j.plan, j.spec))
	} else {
		err = s.addTree(ctx, j.spec, filepath.Join(j.opts.Work, "trees", j.spec.ID))
	}
	s.ref = refOf(j.spec, head, s.base)
	if err == nil {
		err = s.openSpace(ctx, j)
	}
	opened = err == nil
	return err
}

// openSpace opens the workspace in the tree, whose filters run in the sandbox.
func (s *site) openSpace(ctx context.Context, j *job) (err error) {
	s.Tree = s.Tree.WithFilters(j.filtersOf(ctx, s))
	s.space, err = workspace.Open(filepath.Join(s.Tree.Root(), filepath.FromSlash(s.below)))
	if err == nil && s.dir == "" { // a job that is opened early knows it before, and others read it meanwhile
		s.dir = s.space.Dir()
	}
	if err == nil {
		s.Reports = j.ownPaths(s)
	}
	return err
}

// locate returns the site of the job without a tree, and the HEAD of its repository; that is zero
// for a remote one.
func (j *job) locate(ctx context.Context) (s *site, head gitdir.Head, err error) {
	s = &site{base: j.start.Base, origin: j.start.Origin, below: j.start.Below, unlock: func() {}}
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
func (s *site) takeTree(ctx context.Context, at *preflight.Start, allowDirty bool) error {
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
		s.dirty, at.Clean = found.Dirty, found.Clean
	default: // an earlier job may have changed the index
		s.dirty, err = preflight.DirtyBelow(ctx, s.Tree, s.below)
	}
	return err
}

// addTree creates a linked worktree in dir and uses it as the workspace.
func (s *site) addTree(ctx context.Context, spec tasks.Job, dir string) (err error) {
	if s.base == "" { // of a copy
		if s.base, err = s.origin.Git.Resolve(preflight.BaseOf(spec)); err != nil {
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
func (j *job) branch(s *site) string {
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

// repository returns the directory of the repository that the job's branch is in; "" for a
// remote one.
func (j *job) repository(s *site) string {
	if j.spec.Repo.Kind == tasks.RepoURL {
		return ""
	}
	return s.origin.Root()
}

// releaseSite releases the resources of prepare. It only warns if a worktree can't be removed,
// and does not remove one with unsaved changes.
func (j *job) releaseSite(ctx context.Context, s *site, unkept bool) {
	s.settled()
	defer s.unlock()
	errs := []error{s.hooks.Close(), s.closeSandboxes(), j.privateDirs().Remove()}
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

// directoryState describes which directory of a repository the workspace is.
func (s *site) directoryState() string {
	if s.below == "" {
		return ""
	}
	return "; the workspace is its directory " + s.below + "; commands can read other directories of the repository, but not write to them"
}

// dirtState describes the user's uncommitted changes.
func (s *site) dirtState() string {
	if n := len(s.dirty); n > 0 {
		return fmt.Sprintf("; %s had uncommitted changes before you started", figures.Count(n, "path"))
	}
	return ""
}

// changedBytes returns the size of the files that differ from the start of the job.
func (s *site) changedBytes(ctx context.Context) (size int64, err error) {
	paths, _, err := s.Tree.ChangedPaths(ctx, s.Before)
	for _, p := range paths {
		if info, err := os.Lstat(filepath.Join(s.Tree.Root(), filepath.FromSlash(p))); err == nil {
			size += info.Size()
		}
	}
	return size, err
}
