package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// Options has the options of a preflight.
type Options struct {
	Git     gitdir.Env
	Mirrors string // directory of the mirrors of url repositories; created if missing
	// Auth returns what each remote gets as credentials, given the URLs of all
	// remotes of the plan's jobs. It is called once, before anything is sent; its
	// error refuses the run. nil: no remote gets any.
	Auth func(urls []string) (func(url string) remote.Auth, error)
	// Proxy returns the proxy of a request to a remote; nil: no proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// Forge returns the client of a remote's forge, and the repository there; an error if
	// the forge is unknown. nil: pull requests are refused.
	Forge func(url string) (*forge.Client, forge.Path, error)
	// Reserve is the directory in which runs reserve their branches, and Run the id of
	// this one; "" reserves none.
	Reserve, Run string
	History      history.Run // what earlier processes did, and what this one does; the zero value for a new run
	// Local restricts the preflight to this machine: it does not check jobs on url
	// repositories, and contacts no remote.
	Local   bool
	Signing Signing // of jobs with commit.sign
	// Fetching is called for each url repository before it is fetched, and Fetched
	// afterwards; nil for nobody. Calls do not overlap.
	Fetching func(name string)
	Fetched  func(name string, err error)
}

// Signing is how the commits of jobs with commit.sign are signed.
type Signing struct {
	Sign      func(ctx context.Context, commit []byte) (string, error) // nil for none
	KeyFile   string                                                   // of the private key, which jobs can't access; "" for none
	Committer gitops.Signature                                         // without a time; the zero value for the default
}

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

// Refusal is the reason why a job can't run with its manifest. One refused job refuses
// the entire run, before budget is used.
type Refusal struct {
	Job  string
	Code event.Code
	Err  error
}

// Error names the job, the reason and its code.
func (r *Refusal) Error() string { return fmt.Sprintf("job %s: %v (%s)", r.Job, r.Err, r.Code) }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Err }

// Refusals returns the refusals of an error that [Check] gave.
func Refusals(err error) []*Refusal {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var all []*Refusal
	for _, e := range joined.Unwrap() {
		var r *Refusal
		if errors.As(e, &r) {
			all = append(all, r)
		}
	}
	return all
}

// refuse returns a refusal whose job is set later.
func refuse(code event.Code, format string, args ...any) error {
	return &Refusal{Code: code, Err: fmt.Errorf(format, args...)}
}

// referenceTimeout is how long a remote may take to list its branches.
const referenceTimeout = time.Minute

// Check checks the repository of every selected job before anything runs or money is
// spent: it fetches remote repositories, resolves the commit that each job starts from,
// and detects reasons why the job would fail later. The error joins a [Refusal] for each
// refused job, or is the error of look.Auth or of ctx.
//
// If a repository can't be fetched, only its jobs fail; it is not a refusal.
func Check(ctx context.Context, plan *tasks.Plan, look Options) (*Result, error) {
	p := &checker{Options: look, plan: plan, origins: &origins{Options: look, plan: plan, all: map[string]*origin{}}, taken: map[string]string{}}
	p.origins.open(ctx)
	if err := p.origins.authorize(); err != nil {
		return nil, err
	}
	p.origins.reach(ctx)
	ready := &Result{Starts: make(map[string]Start, len(plan.Jobs)), secrets: p.origins.secrets(), Signing: look.Signing}
	to := targets{p.origins, p.Forge}
	var refused []error
	for _, j := range plan.Jobs {
		if p.History.Done(j.ID) {
			continue // it starts from nothing
		}
		j, on, skip, err := pullBranches{to, plan, p.Local, p.warn}.find(ctx, j)
		s := Start{Skip: skip}
		if err == nil && skip == nil {
			s, err = p.job(ctx, j)
		}
		if s.OnPull = on; on.Branch != "" {
			s.Lease = j.Repo.Ref // also for a push by another command
		}
		if err == nil && s.Skip == nil && j.Pull != nil && !p.Local {
			err = p.pullRequest(ctx, j, &s)
		}
		if err == nil && s.Skip == nil && j.Publish.Pushes() && !p.Local {
			err = p.byForge(ctx, j, &s)
		}
		if err == nil && s.Skip == nil && j.Publish.Pushes() && !p.Local {
			err = p.workflows(ctx, j, &s)
		}
		if err == nil && s.Skip == nil && j.Context != nil && !p.Local {
			at, unknown := to.of(j, "context")
			if err = unknown; err == nil {
				err = s.context(ctx, *j.Context, at)
			}
		}
		if err == nil && s.Skip == nil && j.Comment != nil && !p.Local {
			err = to.comment(ctx, j, &s)
		}
		if err == nil && s.Skip == nil && j.Requests.Made() && !p.Local {
			err = to.requests(ctx, j, &s)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var r *Refusal
		switch {
		case errors.As(err, &r):
			refused = append(refused, &Refusal{Job: j.ID, Code: r.Code, Err: r.Err})
		case err != nil:
			refused = append(refused, &Refusal{Job: j.ID, Code: event.CodeRepository, Err: err})
		}
		if base := cmp.Or(s.Base, s.Clean.Commit); s.Origin != nil && base != "" && len(ready.Starts) < max(plan.Parallel, 1) {
			s.files = s.Origin.Listed(base)
		}
		ready.Starts[j.ID] = s
	}
	if len(refused) == 0 {
		refused = p.reserve(ctx, ready)
	}
	if len(refused) == 0 {
		refused = p.removeLocks(ctx, ready)
	}
	if len(refused) == 0 && p.Reserve != "" {
		p.removeStale()
	}
	ready.warnings = p.warnings
	return ready, errors.Join(refused...)
}

// checker is one preflight of a plan.
type checker struct {
	Options
	plan    *tasks.Plan
	origins *origins
	taken   map[string]string  // by directory of the branches and branch: the job whose it is
	forks   map[string]*forked // by URL of the repository and publish.fork

	warnings []string // for the start of the run
}
