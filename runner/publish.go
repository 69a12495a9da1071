package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/remote"
)

// The timeout of each push attempt, and the number and delay of retries.
const (
	pushTimeout = 5 * time.Minute
	pushTries   = 3
	pushWait    = 2 * time.Second
)

// publish pushes the job's commit, if its task has publish.mode push. A failure does not
// remove the commit and the patch.
func (l *landing) publish(ctx context.Context) *stop {
	if !l.job.spec.Publish.Pushes() || l.made.Hash == "" {
		return nil
	}
	p := &pusher{
		PushOptions: remote.PushOptions{Remote: l.job.start.remote, Commit: l.made.Hash, Branch: l.made.Branch, Expect: l.job.start.lease},
		from:        l.site.origin, warn: l.job.warn, wait: pushWait,
	}
	if p.Expect == p.Commit { // an earlier process has pushed it
		l.published(p)
		return nil
	}
	var err error
	if l.site.inPlace {
		p.Expect, err = p.leaseInPlace(ctx, l.site.base)
	}
	if err == nil {
		l.job.emit(event.Event{Type: event.PublishStarted, Published: p.event()})
		err = p.push(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			if p.checkAfterPush(context.WithoutCancel(ctx)) {
				l.published(p)
			}
			return stopped(ctx)
		}
		code := event.CodePush
		if errors.Is(err, remote.ErrLease) || errors.Is(err, remote.ErrRejected) {
			code = event.CodeLease
		}
		kept := "saved as a patch"
		if l.job.start.earlier.Hash != "" {
			kept = "on the branch"
		}
		return &stop{
			code:   code,
			detail: fmt.Sprintf("push branch %s: %v; the changes are %s", p.Branch, err, kept),
		}
	}
	l.published(p)
	return l.pullRequest(ctx, p)
}

// published reports where the commit was pushed.
func (l *landing) published(p *pusher) {
	l.job.emit(event.Event{Type: event.CommitPublished, Published: p.event()})
}

// pusher pushes one commit to one branch.
type pusher struct {
	remote.PushOptions
	from *gitops.Repo
	warn func(text string)
	wait time.Duration // after the first failed attempt; increases with each
}

// event returns what is pushed, for events.
func (p *pusher) event() *event.Published {
	return &event.Published{Remote: p.Remote.String(), Branch: p.Branch, Hash: p.Commit, Replaced: p.Expect}
}

// lookupTimeout bounds the query for the result of an interrupted push: a stop must
// not take longer than the 7.5 s after which CI systems send the next signal.
const lookupTimeout = 2 * time.Second

// checkAfterPush checks whether a push that was in progress when the run ended succeeded.
func (p *pusher) checkAfterPush(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if p.arrived(ctx) {
		return true
	}
	p.warn(fmt.Sprintf("a push of %.10s to branch %s of %s was in progress when the run ended; it may still succeed", p.Commit, p.Branch, p.Remote))
	return false
}

// push retries until the push succeeds, is rejected, or has failed too often. An attempt
// whose response was lost may have succeeded.
func (p *pusher) push(ctx context.Context) error {
	for try := 1; ; try++ {
		err := p.once(ctx)
		final := err == nil || errors.Is(err, remote.ErrRejected) || errors.Is(err, remote.ErrAuth)
		if final || ctx.Err() != nil {
			return err
		}
		if try > 1 && p.arrived(ctx) {
			return nil
		}
		if errors.Is(err, remote.ErrLease) || try == pushTries {
			return err
		}
		p.warn(fmt.Sprintf("push branch %s: %v; retrying", p.Branch, err))
		select {
		case <-time.After(time.Duration(try) * p.wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// leaseInPlace returns the current commit of a checked-out branch on the remote: the
// branch must be missing there, or at the commit that the job started from. It is not
// checked earlier, because an earlier job may have pushed it.
func (p *pusher) leaseInPlace(ctx context.Context, base string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, referenceTimeout, fmt.Errorf("timed out after %s", referenceTimeout))
	defer cancel()
	branches, _, err := remote.Branches(ctx, p.Remote)
	if err != nil {
		return "", err
	}
	tip := branches[p.Branch]
	if tip != "" && tip != base {
		return "", fmt.Errorf("%w: it is at %.10s on the remote, and the job started at %.10s", remote.ErrLease, tip, base)
	}
	return tip, nil
}

func (p *pusher) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pushTimeout, fmt.Errorf("timed out after %s", pushTimeout))
	defer cancel()
	return remote.Push(ctx, p.from.Git, p.PushOptions)
}

// arrived reports whether the remote's branch is at the job's commit.
func (p *pusher) arrived(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, referenceTimeout)
	defer cancel()
	branches, _, err := remote.Branches(ctx, p.Remote)
	return err == nil && branches[p.Branch] == p.Commit
}
