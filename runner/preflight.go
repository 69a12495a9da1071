package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/credentials"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/tasks"
)

// PreflightOptions has the options of a preflight.
type PreflightOptions struct {
	Git     gitdir.Env
	Mirrors string // directory of the mirrors of url repositories; created if missing
	// Auth returns what each remote gets as credentials, given the URLs of all
	// remotes of the plan's jobs. It is called once, before anything is sent; its
	// error refuses the run. nil: no remote gets any.
	Auth func(urls []string) (func(url string) remote.Auth, error)
	// Proxy returns the proxy of a request to a remote; nil: no proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// Reserve is the directory in which runs reserve their branches, and Run the id of
	// this one; "" reserves none.
	Reserve, Run string
	// Local restricts the preflight to this machine: it does not check jobs on url
	// repositories, and contacts no remote.
	Local bool
	// Fetching is called for each url repository before it is fetched, and Fetched
	// afterwards; nil for nobody. Calls do not overlap.
	Fetching func(name string)
	Fetched  func(name string, err error)
}

// PreflightResult is the result of a preflight for the jobs of a plan.
type PreflightResult struct {
	starts   map[string]start // by job id
	secrets  []string
	warnings []string
	reserved *os.File // holds the reservation of branches; nil for none
}

// Secrets returns the credentials that the configuration of the repositories
// holds.
func (r *PreflightResult) Secrets() []string { return r.secrets }

// Trees returns the trees that jobs of the plan work on in place.
func (r *PreflightResult) Trees(plan *tasks.Plan) []string {
	var dirs []string
	for _, j := range plan.Jobs {
		origin := r.starts[j.ID].origin
		if origin == nil || j.Repo.Kind != tasks.RepoPath {
			continue
		}
		if head, err := origin.Git.Head(); err != nil || inPlace(j, head) {
			dirs = append(dirs, origin.Root())
		}
	}
	return dirs
}

// Skip returns the end of a job that is not started. Its reason is empty if the job is
// started.
func (r *PreflightResult) Skip(job string) event.JobEnd {
	s := r.starts[job].skip
	if s == nil {
		return event.JobEnd{}
	}
	return s.code.End(s.detail)
}

// start is the state that a job starts from.
type start struct {
	origin *gitops.Repo // nil for a copy, which is created when its first job starts
	below  string       // the workspace in the work tree, slash separated; "" for the root
	base   string       // commit; "" in place and for a copy, where it is found when the job begins
	tip    string       // commit that the job's branch is at before, in origin; "" for none
	remote remote.Repo
	branch string // that the job creates, with the repository or remote where it does; "" for none
	lease  string // commit that the remote's branch is at before; "" for none
	skip   *stop  // why the job is not started; nil if it is

	earlier event.Commit // of an earlier run, which is only to be pushed; the zero value for none
}

// Refusal is the reason why a job can't run with its manifest. One refused job refuses
// the entire run, before money is spent.
type Refusal struct {
	Job  string
	Code event.Code
	Err  error
}

// Error names the job, the reason and its code.
func (r *Refusal) Error() string { return fmt.Sprintf("job %s: %v (%s)", r.Job, r.Err, r.Code) }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Err }

// Refusals returns the refusals of an error that [Preflight] gave.
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

// The timeouts of a preflight for remotes.
const (
	fetchTimeout     = 15 * time.Minute
	referenceTimeout = time.Minute
)

// Preflight checks the repository of every selected job before anything runs or money is
// spent: it fetches remote repositories, resolves the commit that each job starts from,
// and detects reasons why the job would fail later. The error joins a [Refusal] for each
// refused job, or is the error of look.Auth or of ctx.
//
// If a repository can't be fetched, only its jobs fail; it is not a refusal.
func Preflight(ctx context.Context, plan *tasks.Plan, look PreflightOptions) (*PreflightResult, error) {
	p := &preflight{PreflightOptions: look, plan: plan, origins: map[string]*origin{}, taken: map[string]string{}}
	p.open(ctx)
	if err := p.authorize(); err != nil {
		return nil, err
	}
	p.reach(ctx)
	ready := &PreflightResult{starts: make(map[string]start, len(plan.Jobs)), secrets: p.secrets()}
	var refused []error
	for _, j := range plan.Jobs {
		s, err := p.job(ctx, j)
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
		ready.starts[j.ID] = s
	}
	if len(refused) == 0 {
		refused = p.reserve(ctx, ready)
	}
	ready.warnings = p.warnings
	return ready, errors.Join(refused...)
}

// preflight is one preflight of a plan.
type preflight struct {
	PreflightOptions
	plan    *tasks.Plan
	origins map[string]*origin // by identity of the repository
	taken   map[string]string  // by directory of the branches and branch: the job whose it is
	auth    func(url string) remote.Auth
	telling sync.Mutex

	warnings []string // for the start of the run
}

// origin is a repository of the plan's jobs, with the results of its checks so far.
type origin struct {
	repo *gitops.Repo
	err  error
	head gitdir.Head // of path repositories

	below string // the directory that a path names, in its work tree; "" for the root

	secrets []string // that its configuration holds

	remote    func(context.Context) (remote.Repo, map[string]string, error) // of path repositories: where "origin" is, and its branches
	asked     bool                                                          // the remote is being asked, or fetched from
	dirty     func() ([]string, error)
	converted map[string][]gitops.Converted // by commit and protect globs
}

// key tells repositories apart. A mirror with a limited history is another one
// than a full one.
func key(r tasks.Repo) string {
	if r.Kind == tasks.RepoURL {
		return fmt.Sprintf("url:%d:%s", r.Depth, r.URL)
	}
	return string(r.Kind) + ":" + r.Dir
}

// open opens every repository of the plan that is on this machine.
func (p *preflight) open(ctx context.Context) {
	for _, j := range p.plan.Jobs {
		if j.Skip != "" || j.Repo.Kind == tasks.RepoCopy || p.Local && j.Repo.Kind == tasks.RepoURL || p.origins[key(j.Repo)] != nil {
			continue
		}
		o := &origin{converted: map[string][]gitops.Converted{}}
		p.origins[key(j.Repo)] = o
		if j.Repo.Kind == tasks.RepoPath {
			p.openPath(ctx, o, j.Repo)
		}
	}
}

// pushes reports whether a job pushes from a repository on this machine.
func (p *preflight) pushes(j tasks.Job) bool {
	if j.Skip != "" || j.Repo.Kind != tasks.RepoPath || j.Publish != tasks.PublishPush {
		return false
	}
	o := p.origins[key(j.Repo)]
	return o != nil && o.err == nil
}

// authorize finds out which remote gets which credentials, before any is asked
// anything.
func (p *preflight) authorize() (err error) {
	if p.Local || p.Auth == nil {
		p.auth = func(string) remote.Auth { return remote.Auth{} }
		return nil
	}
	var urls []string
	for _, j := range p.plan.Jobs {
		switch {
		case j.Skip == "" && j.Repo.Kind == tasks.RepoURL:
			urls = append(urls, j.Repo.URL)
		case p.pushes(j):
			if url, err := remote.PushURL(p.origins[key(j.Repo)].repo.Git, "origin"); err == nil { // else the job is refused for it
				urls = append(urls, url)
			}
		}
	}
	p.auth, err = p.Auth(urls)
	return err
}

// reach fetches what is elsewhere, and asks the remotes that are pushed to for
// their branches, as many in parallel as the plan allows.
func (p *preflight) reach(ctx context.Context) {
	limit := make(chan struct{}, max(p.plan.Clones, 1))
	var all sync.WaitGroup
	defer all.Wait()
	beside := func(work func()) {
		all.Go(func() {
			select {
			case limit <- struct{}{}:
				defer func() { <-limit }()
			case <-ctx.Done(): // work finds out by itself
			}
			work()
		})
	}
	if p.Local {
		return
	}
	for _, j := range p.plan.Jobs {
		o := p.origins[key(j.Repo)]
		switch {
		case o == nil || o.asked || j.Skip != "":
		case j.Repo.Kind == tasks.RepoURL:
			o.asked = true
			beside(func() { p.fetch(ctx, o, j.Repo) })
		case p.pushes(j):
			o.asked = true
			beside(func() { o.remote(ctx) }) //nolint:errcheck // whoever needs it asks again, and gets the same
		}
	}
}

func (p *preflight) openPath(ctx context.Context, o *origin, r tasks.Repo) {
	if o.repo, o.err = gitops.Open(r.Dir, p.Git); o.err != nil {
		return
	}
	if o.below, o.err = o.repo.Below(r.Dir); o.err != nil {
		return
	}
	if o.head, o.err = o.repo.Git.Head(); o.err == nil {
		o.secrets, o.err = credentials.Secrets(o.repo.Git)
	}
	o.dirty = sync.OnceValues(func() ([]string, error) { return dirtyBelow(ctx, o.repo, o.below) })
	o.remote = p.remoteOf(o)
}

// secrets are those of all repositories on this machine.
func (p *preflight) secrets() []string {
	var all []string
	for _, o := range p.origins {
		all = append(all, o.secrets...)
	}
	return all
}

// fetch brings the mirror of a url repository up to date. The remote is asked
// for its branches first, for which it has less time: one that does not answer
// is to keep the others waiting for no longer.
func (p *preflight) fetch(ctx context.Context, o *origin, r tasks.Repo) {
	p.serialize(func() {
		if p.Fetching != nil {
			p.Fetching(r.Name)
		}
	})
	defer p.serialize(func() {
		if p.Fetched != nil {
			p.Fetched(r.Name, o.err)
		}
	})
	if !strings.HasPrefix(r.URL, "file:") {
		if o.err = p.answers(ctx, r); o.err != nil {
			return
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, fmt.Errorf("timed out after %s", fetchTimeout))
	defer cancel()
	git, err := remote.Mirror(ctx, filepath.Join(p.Mirrors, mirrorName(r)), p.at(r.URL), remote.MirrorOptions{Depth: r.Depth}, p.Git)
	if o.err = err; err == nil {
		o.repo = gitops.New(git)
	}
}

// answers checks whether a remote responds.
func (p *preflight) answers(ctx context.Context, r tasks.Repo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, referenceTimeout, fmt.Errorf("no response within %s", referenceTimeout))
	defer cancel()
	_, _, err := remote.Branches(ctx, p.at(r.URL))
	return err
}

// serialize calls one of the functions that must not overlap.
func (p *preflight) serialize(f func()) {
	p.telling.Lock()
	defer p.telling.Unlock()
	f()
}

// at is a remote with the credentials that it gets.
func (p *preflight) at(url string) remote.Repo {
	return remote.Repo{URL: url, Auth: p.auth(url), Proxy: p.Proxy}
}

// remoteOf finds, once, where a path repository's pushes go and what is there.
func (p *preflight) remoteOf(o *origin) func(context.Context) (remote.Repo, map[string]string, error) {
	var once sync.Once
	var at remote.Repo
	var branches map[string]string
	var err error
	return func(ctx context.Context) (remote.Repo, map[string]string, error) {
		once.Do(func() {
			var url string
			if url, err = remote.PushURL(o.repo.Git, "origin"); err != nil {
				err = refuse(event.CodeRemote, "publish: push: %w", err)
				return
			}
			ctx, cancel := context.WithTimeoutCause(ctx, referenceTimeout, fmt.Errorf("timed out after %s", referenceTimeout))
			defer cancel()
			at = p.at(url)
			if at.Auth.Header, err = credentials.Authorization(o.repo.Git, url); err != nil {
				return
			}
			branches, _, err = remote.Branches(ctx, at)
		})
		return at, branches, err
	}
}

// job determines the state that a job starts from.
func (p *preflight) job(ctx context.Context, j tasks.Job) (start, error) {
	o := p.origins[key(j.Repo)]
	switch {
	case j.Skip != "":
		return start{skip: &stop{code: event.CodeCondition, detail: j.Skip}}, nil
	case j.Repo.Kind == tasks.RepoCopy:
		return p.copied(j)
	case o == nil: // not checked
		return start{}, nil
	case j.Repo.Kind == tasks.RepoURL:
		return p.mirrored(ctx, j, o)
	case o.err != nil:
		return start{}, unsupported(o.err)
	}
	return p.local(ctx, j, o)
}

// unsupported refuses features that gitops does not support.
func unsupported(err error) error {
	var u *gitdir.UnsupportedError
	if errors.As(err, &u) {
		return &Refusal{Code: event.CodeUnsupported, Err: err}
	}
	return err
}

// copied checks a directory of which the run creates a repository.
func (p *preflight) copied(j tasks.Job) (start, error) {
	skip, err := condition(j, func(path string) (bool, error) {
		_, err := os.Lstat(filepath.Join(j.Repo.Dir, filepath.FromSlash(path)))
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
	return start{skip: skip}, err
}

// mirrored checks a remote repository.
func (p *preflight) mirrored(ctx context.Context, j tasks.Job, o *origin) (start, error) {
	var u *gitdir.UnsupportedError
	switch {
	case errors.As(o.err, &u):
		return start{}, unsupported(o.err)
	case o.err != nil:
		return start{skip: notFetched("fetch the repository", o.err)}, nil //nolint:nilerr // the fault of its own jobs, and no refusal of the run
	}
	s := start{origin: o.repo, remote: p.at(j.Repo.URL)}
	if err := s.resolve(j); err != nil {
		return s, err
	}
	if done, err := p.decides(ctx, j, o, &s); done || err != nil {
		return s, err
	}
	if j.Publish == tasks.PublishPatch {
		return s, nil
	}
	if above := branchAbove(o.repo, j.Commit.Branch); above != "" {
		return s, refuse(event.CodeBranchExists, "branch name conflict: %s exists, so %s can't be created on %s", above, j.Commit.Branch, s.remote)
	}
	s.branch = j.Repo.URL + "\x00" + j.Commit.Branch
	return s, s.take(j, branchAt{tip: fetchedTip(o.repo, j.Commit.Branch), where: "on " + s.remote.String(), remote: true})
}

// notFetched returns the stop of a job whose repository can't be fetched.
func notFetched(what string, err error) *stop {
	return &stop{code: event.CodeClone, detail: fmt.Sprintf("%s: %v", what, err)}
}

// local checks a repository on this machine.
func (p *preflight) local(ctx context.Context, j tasks.Job, o *origin) (start, error) {
	s := start{origin: o.repo, below: o.below}
	if err := writable(j, o.repo, o.head); err != nil {
		return s, err
	}
	if j.Commit != nil && j.Commit.Branch == tasks.CurrentBranch && o.head.Detached {
		return s, refuse(event.CodeBase, "%s has no branch checked out (detached HEAD), so branch %s can't be used: set another branch", o.repo.Root(), tasks.CurrentBranch)
	}
	if err := p.sparse(j, o); err != nil {
		return s, err
	}
	if inPlace(j, o.head) {
		return p.inPlace(ctx, j, o, s)
	}
	if err := s.resolve(j); err != nil {
		return s, err
	}
	if dir, err := o.repo.HasDir(s.base, s.below); err != nil || !dir {
		return s, refuse(event.CodeBase, "%s is not a directory in commit %.10s of %s: commit it first, or work in place (commit: false)", s.below, s.base, o.repo.Root())
	}
	if done, err := p.decides(ctx, j, o, &s); done || err != nil || j.Publish == tasks.PublishPatch {
		return s, err
	}
	// Two worktrees of one repository share their branches.
	place := o.repo.Git.Common + "\x00" + j.Commit.Branch
	if other := p.taken[place]; other != "" {
		return s, refuse(event.CodeBranchExists, "branch %s in %s is also used by job %s", j.Commit.Branch, o.repo.Git.Common, other)
	}
	p.taken[place], s.branch = j.ID, place
	tip, _, err := o.repo.Git.Branch(j.Commit.Branch)
	if err != nil {
		return s, &Refusal{Code: event.CodeBranchExists, Err: err}
	}
	if found, err := p.unpushed(ctx, j, o, &s, tip); found || err != nil {
		return s, err
	}
	if err := s.take(j, branchAt{tip: tip, where: "in " + o.repo.Root()}); err != nil || s.skip != nil {
		return s, err
	}
	if err := p.unlocked(ctx, o, branchFile(o, j.Commit.Branch)); err != nil || j.Publish != tasks.PublishPush || p.Local {
		return s, err
	}
	return p.onRemote(ctx, j, o, s)
}

// resolve resolves the commit that the job starts from.
func (s *start) resolve(j tasks.Job) (err error) {
	if s.base, err = s.origin.Git.Resolve(baseOf(j)); err != nil {
		return &Refusal{Code: event.CodeBase, Err: err}
	}
	return nil
}

// decides determines whether the job is skipped, and refuses repositories whose files it
// could not commit correctly.
func (p *preflight) decides(ctx context.Context, j tasks.Job, o *origin, s *start) (done bool, err error) {
	s.skip, err = condition(j, func(name string) (bool, error) { return o.repo.Has(s.base, path.Join(s.below, name)) })
	if err != nil || s.skip != nil {
		return true, err
	}
	return false, p.filters(ctx, j, o, s.base)
}

// condition evaluates the parts of a job's if that depend on the repository.
func condition(j tasks.Job, has func(string) (bool, error)) (*stop, error) {
	if j.If == nil {
		return nil, nil
	}
	holds, err := j.If.Holds(has)
	if err != nil {
		return nil, fmt.Errorf("evaluate the condition %s: %w", j.If, err)
	}
	if !holds {
		return &stop{code: event.CodeCondition, detail: fmt.Sprintf("condition is false: %s", j.If)}, nil
	}
	return nil, nil
}
