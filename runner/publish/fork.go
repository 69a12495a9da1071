package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/tasks"
)

// forkTimeout is how long a new fork may lack its branches.
const forkTimeout = 5 * time.Minute

// Fork is a fork that has the branch of a pull request. The zero value stands for no fork.
type Fork struct {
	forge.Path
	Missing bool // it is created by the publication
}

// Forked returns a repository like [Repository], and the fork that the branch of a pull
// request is pushed to, by the value of publish.fork.
func Forked(ctx context.Context, client *forge.Client, at forge.Path, into string) (forge.Repository, Fork, error) {
	repo, err := readable(ctx, client, at)
	if err != nil || into == tasks.ForkAuto && (repo.Push || repo.PushUnknown) {
		return repo, Fork{}, err
	}
	if into == tasks.ForkAuto {
		into = ""
	}
	path, fork, err := client.FindFork(ctx, at, into)
	switch {
	case errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited):
		return repo, Fork{}, err
	case path.Owner == "" && err != nil:
		return repo, Fork{}, refuse(event.CodeRemote, "publish.fork: %v; name the account of the fork", err)
	case strings.EqualFold(path.String(), at.String()):
		return repo, Fork{}, refuse(event.CodeRemote, "publish.fork: %s is the repository itself, not a fork of it: name another account", at)
	case errors.Is(err, forge.ErrNotFound):
		return repo, Fork{path, true}, nil
	case err != nil:
		return repo, Fork{}, refuse(event.CodeRemote, "publish.fork: %v", err)
	case fork.Archived:
		return repo, Fork{}, refuse(event.CodeRemote, "publish.fork: %s is archived", path)
	case !fork.Push && !fork.PushUnknown:
		return repo, Fork{}, refuse(event.CodeRemote, "publish.fork: the token can't push to %s: use one that can", path)
	}
	return repo, Fork{Path: path}, nil
}

// URL returns the URL of the fork on the server of the repository, whose URL and path are
// given.
func (f Fork) URL(repository string, at forge.Path) (string, error) {
	start := strings.TrimSuffix(strings.TrimRight(repository, "/"), ".git")
	if prefix, ok := strings.CutSuffix(start, at.String()); ok {
		return prefix + f.String() + ".git", nil
	}
	return "", refuse(event.CodeRemote, "publish.fork: the URL of the repository does not end with %s", at)
}

// createFork creates a fork that was missing, and waits until it has its branches.
func (p *Publication) createFork(ctx context.Context) error {
	if p.Pull == nil || !p.Pull.Fork.Missing {
		return nil
	}
	if _, err := p.Pull.Client.Fork(ctx, p.Pull.Repo, p.Pull.Fork.Owner); err != nil {
		return err
	}
	wait := p.wait
	if wait == 0 {
		wait = pushWait
	}
	within, cancel := context.WithTimeout(ctx, forkTimeout)
	defer cancel()
	for {
		branches, _, err := remote.Branches(within, p.Remote)
		if err == nil && len(branches) > 0 {
			return nil
		}
		if clock.Wait(within, wait) != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("the new fork %s has no branches after %s (%w); it is used when the job is published again", p.Pull.Fork, forkTimeout, err)
		}
		wait += wait / 2
	}
}
