package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// forked is a repository with the fork that has the branches of pull requests.
type forked struct {
	client   *forge.Client
	repo     forge.Repository
	at       forge.Path
	fork     publish.Fork
	remote   remote.Repo // of the fork, or of the repository without one
	branches map[string]string
	err      error // a refusal, or of a server that can't be asked
}

// fork returns the fork that a job with publish.fork pushes to; nil for another job.
func (p *checker) fork(ctx context.Context, j tasks.Job, of remote.Repo) *forked {
	if j.Pull == nil || j.Pull.Fork == "" || p.Local {
		return nil
	}
	name := of.URL + "\x00" + j.Pull.Fork
	f := p.forks[name]
	if f == nil {
		f = &forked{remote: of}
		f.err = p.findFork(ctx, f, j.Pull.Fork)
		if p.forks == nil {
			p.forks = map[string]*forked{}
		}
		p.forks[name] = f
	}
	return f
}

func (p *checker) findFork(ctx context.Context, f *forked, into string) (err error) {
	if p.Forge == nil {
		return refuse(event.CodeRemote, "publish.fork: no forge is known")
	}
	url := f.remote.URL
	if f.client, f.at, err = p.Forge(url); err != nil {
		return refuse(event.CodeRemote, "publish.fork: %w", err)
	}
	if f.repo, f.fork, err = publish.Forked(ctx, f.client, f.at, into); err != nil {
		return refusal(err)
	}
	if f.fork == (publish.Fork{}) {
		return nil
	}
	if url, err = f.fork.URL(url, f.at); err != nil {
		return refusal(err)
	}
	header := f.remote.Auth.Header
	f.remote = p.origins.at(url)
	f.remote.Auth.Header = cmp.Or(f.remote.Auth.Header, header)
	if f.fork.Missing {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, referenceTimeout, fmt.Errorf("timed out after %s", referenceTimeout))
	defer cancel()
	f.branches, _, err = remote.Branches(ctx, f.remote)
	return err
}

// remote returns where the branch of a job on a path repository is pushed to, and the
// branches there.
func (p *checker) remote(ctx context.Context, j tasks.Job, o *origin) (remote.Repo, map[string]string, error) {
	at, branches, err := o.remote(ctx)
	if err != nil {
		return at, branches, err
	}
	f := p.fork(ctx, j, at)
	switch {
	case f == nil:
		return at, branches, nil
	case f.err != nil:
		return at, nil, f.err
	case f.fork == (publish.Fork{}):
		return at, branches, nil
	}
	return f.remote, f.branches, nil
}

// mirroredTip sets where the branch of a job on a url repository is pushed to, and returns
// the commit of the branch there, which is in the mirror; "" for none.
func (p *checker) mirroredTip(ctx context.Context, j tasks.Job, o *origin, s *Start) (tip string, err error) {
	f := p.fork(ctx, j, s.Remote)
	switch {
	case f == nil:
		return fetchedTip(o.repo, j.Commit.Branch), nil
	case f.err != nil:
		s.Skip, err = cannotAsk(f.err)
		return "", err
	case f.fork == (publish.Fork{}):
		return fetchedTip(o.repo, j.Commit.Branch), nil
	}
	s.Remote = f.remote
	if f.branches[j.Commit.Branch] == "" {
		return "", nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remote.FetchTimeout, fmt.Errorf("timed out after %s", remote.FetchTimeout))
	defer cancel()
	if tip, err = remote.Fetch(ctx, o.repo.Git, f.remote, j.Commit.Branch); err != nil {
		s.Skip, err = cannotAsk(err)
	}
	return tip, err
}

// pullRepository returns the repository of a job's pull request, and the fork of its branch.
func (p *checker) pullRepository(ctx context.Context, j tasks.Job, s *Start) (publish.Target, forge.Repository, error) {
	of := s.Remote
	if j.Pull.Fork != "" {
		if of = p.origins.at(j.Repo.URL); j.Repo.Kind != tasks.RepoURL {
			of, _, _ = p.origins.of(j).remote(ctx) // s.remote has its error
		}
	}
	if f := p.fork(ctx, j, of); f != nil {
		return publish.Target{Client: f.client, Repo: f.at, Fork: f.fork}, f.repo, f.err
	}
	if p.Forge == nil {
		return publish.Target{}, forge.Repository{}, refuse(event.CodeRemote, "publish: pr: no forge is known")
	}
	client, at, err := p.Forge(s.Remote.URL)
	if err != nil {
		return publish.Target{}, forge.Repository{}, refuse(event.CodeRemote, "publish: pr: %w", err)
	}
	repo, err := publish.Repository(ctx, client, at)
	if errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited) {
		return publish.Target{}, repo, err
	}
	return publish.Target{Client: client, Repo: at}, repo, refusal(err)
}
