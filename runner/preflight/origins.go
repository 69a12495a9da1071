package preflight

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/tasks"
)

// origin is a repository of the plan's jobs, with the results of its checks so far.
type origin struct {
	repo *gitops.Repo
	err  error
	head gitdir.Head // of path repositories

	below string // the directory that a path names, in its work tree; "" for the root

	secrets []string // that its configuration holds

	remote    func(context.Context) (remote.Repo, map[string]string, error) // of path repositories: where "origin" is, and its branches
	asked     bool                                                          // the remote is being asked, or fetched from
	status    func() (Status, error)                                        // of path repositories
	converted map[string][]state.Converted                                  // by commit and edit rules
}

// root returns the root of its work tree, or a stand-in for that of a mirror.
func (o *origin) root() string { return cmp.Or(o.repo.Root(), "/repository") }

// origins are the repositories of a plan's jobs, and the remotes that they are fetched from and pushed to.
type origins struct {
	Options
	plan    *tasks.Plan
	all     map[string]*origin // by key
	auth    func(url string) remote.Auth
	telling sync.Mutex
}

// of returns the repository of a job; nil for one that needs none.
func (p *origins) of(j tasks.Job) *origin { return p.all[key(j.Repo)] }

// key distinguishes repositories. A mirror with a limited history is another one
// than a full one.
func key(r tasks.Repo) string {
	if r.Kind == tasks.RepoURL {
		return fmt.Sprintf("url:%d:%s", r.Depth, r.URL)
	}
	return string(r.Kind) + ":" + r.Dir
}

// open opens every repository of the plan that is on this machine.
func (p *origins) open(ctx context.Context) {
	for _, j := range p.plan.Jobs {
		if j.Skip != "" || j.Repo.Kind == tasks.RepoCopy || p.Local && j.Repo.Kind == tasks.RepoURL || p.all[key(j.Repo)] != nil {
			continue
		}
		o := &origin{converted: map[string][]state.Converted{}}
		p.all[key(j.Repo)] = o
		if j.Repo.Kind == tasks.RepoPath {
			p.openPath(ctx, o, j.Repo)
		}
	}
}

// pushes reports whether a job pushes from a repository on this machine.
func (p *origins) pushes(j tasks.Job) bool {
	if j.Skip != "" || j.Repo.Kind != tasks.RepoPath || !j.Publish.Pushes() {
		return false
	}
	o := p.of(j)
	return o != nil && o.err == nil
}

// authorize finds out which remote gets which credentials, before any is asked
// anything.
func (p *origins) authorize() (err error) {
	if p.Local || p.Auth == nil {
		p.auth = func(string) remote.Auth { return remote.Auth{} }
		return nil
	}
	var urls []string
	for _, j := range p.plan.Jobs {
		switch {
		case j.Skip == "" && j.Repo.Kind == tasks.RepoURL:
			urls = append(urls, j.Repo.URL)
		case p.pushes(j) || j.Skip == "" && (j.Comment != nil || j.Requests.Made() || j.Context != nil || j.Commit.OnPull()):
			if url, err := p.remoteURL(j); err == nil { // else the job is refused for it
				urls = append(urls, url)
			}
		}
	}
	p.auth, err = p.Auth(urls)
	return err
}

// reach fetches what is elsewhere, and asks the remotes that are pushed to for
// their branches, as many in parallel as the plan allows.
func (p *origins) reach(ctx context.Context) {
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
		o := p.of(j)
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

func (p *origins) openPath(ctx context.Context, o *origin, r tasks.Repo) {
	if o.repo, o.err = gitops.Open(r.Dir, p.Git); o.err != nil {
		return
	}
	if o.below, o.err = o.repo.Below(r.Dir); o.err != nil {
		return
	}
	if o.head, o.err = o.repo.Git.Head(); o.err == nil {
		o.secrets, o.err = credentials.Secrets(o.repo.Git)
	}
	o.status = sync.OnceValues(func() (Status, error) { return StatusOf(ctx, o.repo, o.below) })
	o.remote = p.remoteOf(o)
}

// secrets are those of all repositories on this machine.
func (p *origins) secrets() []string {
	var all []string
	for _, o := range p.all {
		all = append(all, o.secrets...)
	}
	return all
}

// fetch brings the mirror of a url repository up to date. The remote is asked
// for its branches first, for which it has less time: one that does not answer
// is to keep the others waiting for no longer.
func (p *origins) fetch(ctx context.Context, o *origin, r tasks.Repo) {
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
	ctx, cancel := context.WithTimeoutCause(ctx, remote.FetchTimeout, fmt.Errorf("timed out after %s", remote.FetchTimeout))
	defer cancel()
	git, err := remote.Mirror(ctx, filepath.Join(p.Mirrors, remote.MirrorName(r.URL, r.Depth)), p.at(r.URL), remote.MirrorOptions{Depth: r.Depth}, p.Git)
	if o.err = err; err == nil {
		o.repo = gitops.New(git)
	}
}

// answers checks whether a remote responds.
func (p *origins) answers(ctx context.Context, r tasks.Repo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, referenceTimeout, fmt.Errorf("no response within %s", referenceTimeout))
	defer cancel()
	_, _, err := remote.Branches(ctx, p.at(r.URL))
	return err
}

// serialize calls one of the functions that must not overlap.
func (p *origins) serialize(f func()) {
	p.telling.Lock()
	defer p.telling.Unlock()
	f()
}

// at is a remote with the credentials that it gets.
func (p *origins) at(url string) remote.Repo {
	return remote.Repo{URL: url, Auth: p.auth(url), Proxy: p.Proxy}
}

// remoteOf finds, once, where a path repository's pushes go and what is there.
func (p *origins) remoteOf(o *origin) func(context.Context) (remote.Repo, map[string]string, error) {
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

// remoteURL returns the URL of the remote of a job: that of a url repository, or "origin".
func (p *origins) remoteURL(j tasks.Job) (string, error) {
	o := p.of(j)
	switch {
	case j.Repo.Kind == tasks.RepoURL:
		return j.Repo.URL, nil
	case o == nil || o.repo == nil:
		return "", remote.ErrNoRemote
	}
	return remote.PushURL(o.repo.Git, "origin")
}
