package preflight

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/tasks"
)

// Result is the result of a preflight for the jobs of a plan.
type Result struct {
	running  sync.Mutex       // guards starts during the run
	Starts   map[string]Start // by job id
	secrets  []string
	warnings []string
	reserved *os.File // holds the reservation of branches; nil for none
	surveys  map[string]survey
	Signing  Signing
}

// Start returns the state that a job starts from.
func (r *Result) Start(job string) Start {
	r.running.Lock()
	defer r.running.Unlock()
	return r.Starts[job]
}

// Ended releases the state that a job started from: a run may have thousands.
func (r *Result) Ended(job string) {
	r.running.Lock()
	defer r.running.Unlock()
	delete(r.Starts, job)
}

// Release releases what only a run needs, after it.
func (r *Result) Release() { r.Starts, r.surveys = nil, nil }

// Secrets returns the credentials that the configuration of the repositories
// holds.
func (r *Result) Secrets() []string { return r.secrets }

// Trees returns the trees that jobs of the plan work on in place.
func (r *Result) Trees(plan *tasks.Plan) []string {
	type found struct {
		gitdir.Head
		err error
	}
	heads, dirs := map[*gitops.Repo]found{}, map[string]bool{}
	for _, j := range plan.Jobs {
		origin := r.Starts[j.ID].Origin
		if origin == nil || j.Repo.Kind != tasks.RepoPath {
			continue
		}
		head, ok := heads[origin]
		if !ok {
			head.Head, head.err = origin.Git.Head()
			heads[origin] = head
		}
		if head.err != nil || InPlace(j, head.Head) {
			dirs[origin.Root()] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// Worktrees returns the directories of the linked worktrees of the jobs' repositories, which
// can be missing.
func (r *Result) Worktrees() []string {
	var dirs []string
	for _, repo := range r.repos() {
		dirs = append(dirs, repo.Worktrees()...)
	}
	return dirs
}

// RemoveWorktrees removes the registrations of missing worktrees for which gone returns
// true.
func (r *Result) RemoveWorktrees(ctx context.Context, gone func(dir string) bool) error {
	var errs []error
	for _, repo := range r.repos() {
		for _, dir := range repo.Worktrees() {
			if gone(dir) {
				errs = append(errs, repo.RemoveWorktree(ctx, dir))
			}
		}
	}
	return errors.Join(errs...)
}

// repos returns the repositories of the jobs.
func (r *Result) repos() []*gitops.Repo {
	var list []*gitops.Repo
	for _, s := range r.Starts {
		if s.Origin != nil && !slices.Contains(list, s.Origin) {
			list = append(list, s.Origin)
		}
	}
	return list
}

// Skip returns the end of a job that is not started. Its reason is empty if the job is
// started.
func (r *Result) Skip(job string) event.JobEnd {
	s := r.Starts[job].Skip
	if s == nil {
		return event.JobEnd{}
	}
	return s.Code.End(s.Detail)
}
