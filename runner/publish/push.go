package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/proc/clock"
)

// MaxParallel is the maximum number of jobs of a run that are published in parallel.
// They are limited separately: a job that only waits for a remote has no slot.
const MaxParallel = 4

// The timeouts of each push attempt and of a query for branches, and the number and delay
// of retries.
const (
	pushTimeout      = 5 * time.Minute
	referenceTimeout = time.Minute
	pushTries        = 3
	pushWait         = 2 * time.Second
)

// Publication is what is published of one job: a commit, and optionally a pull request.
type Publication struct {
	remote.PushOptions
	From *gitdir.Dir // has the objects of the commit
	// OnBase is set for a commit on a branch that was checked out: instead of the lease,
	// the remote's branch must be at Base, or missing.
	OnBase bool
	Base   string
	Saved  string // where the changes are if they are not published, for errors: "saved as a patch"
	Pull   *PullRequest
	// Signing is set if the forge makes the commit.
	Signing *Signing
	Emit    func(event.Event)

	wait time.Duration // after the first failed attempt, and between queries for a new fork; increases with each; 0 for the default
}

// Failure is why a commit or its pull request could not be published. The commit is not
// affected.
type Failure struct {
	Code   event.Code
	Detail string
}

// Error returns the detail.
func (f *Failure) Error() string { return f.Detail }

// Publish pushes the commit and publishes the pull request. The error is a [*Failure], or
// the cause of ctx.
func (p *Publication) Publish(ctx context.Context) error {
	if !p.OnBase && p.Expect == p.Commit { // an earlier process has pushed it
		if p.Signing != nil {
			p.discard(ctx, p.Commit)
		}
		p.published(nil)
		return p.pullRequest(ctx)
	}
	var err error
	if p.OnBase {
		p.Expect, err = p.leaseOnBase(ctx)
	}
	if err == nil {
		p.Emit(event.Event{Type: event.PublishStarted, Published: p.event(nil)})
		err = p.createFork(ctx)
		if err == nil {
			err = p.sign(ctx)
		}
		if err == nil {
			err = p.push(ctx)
			if p.Signing != nil {
				p.discard(ctx, p.Commit)
			}
		}
	}
	switch {
	case err == nil:
		p.published(nil)
		return p.pullRequest(ctx)
	case ctx.Err() != nil:
		if p.checkAfterPush(context.WithoutCancel(ctx)) {
			p.published(nil)
		}
		return context.Cause(ctx)
	}
	code, fix := event.CodePush, pushFix(err)
	if errors.Is(err, remote.ErrLease) || errors.Is(err, remote.ErrRejected) || fix != "" {
		code = event.CodeLease
	}
	return &Failure{code, fmt.Sprintf("%v; the changes are %s", err, p.Saved) + fix}
}

// published reports where the commit was pushed, with its pull request if that is known.
func (p *Publication) published(pr *event.PullRequest) {
	p.Emit(event.Event{Type: event.CommitPublished, Published: p.event(pr)})
}

// event returns what is pushed, for events, with its pull request; nil for none.
func (p *Publication) event(pr *event.PullRequest) *event.Published {
	published := &event.Published{Remote: p.Remote.String(), Branch: p.Branch, Hash: p.Commit, PullRequest: pr}
	if p.Expect != p.Commit { // otherwise an earlier process has pushed it
		published.Replaced = p.Expect
	}
	return published
}

func (p *Publication) warn(text string) {
	p.Emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: text}})
}

// lookupTimeout bounds the query for the result of an interrupted push: a stop must
// not take longer than the 7.5 s after which CI systems send the next signal.
const lookupTimeout = 2 * time.Second

// checkAfterPush checks whether a push that was in progress when the run ended succeeded.
func (p *Publication) checkAfterPush(ctx context.Context) bool {
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
func (p *Publication) push(ctx context.Context) error {
	wait := p.wait
	if wait == 0 {
		wait = pushWait
	}
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
		p.warn(fmt.Sprintf("%v; retrying", err))
		if err := clock.Wait(ctx, time.Duration(try)*wait); err != nil {
			return err
		}
	}
}

// leaseOnBase returns the current commit of a checked-out branch on the remote: the
// branch must be missing there, or at the commit that the job started from. It is not
// checked earlier, because an earlier job may have pushed it.
func (p *Publication) leaseOnBase(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, referenceTimeout, fmt.Errorf("timed out after %s", referenceTimeout))
	defer cancel()
	branches, _, err := remote.Branches(ctx, p.Remote)
	if err != nil {
		return "", fmt.Errorf("push branch %s: %w", p.Branch, err)
	}
	tip := branches[p.Branch]
	if tip != "" && tip != p.Base {
		return "", fmt.Errorf("push branch %s to %s: %w: it is at %.10s on the remote, and the job started at %.10s", p.Branch, p.Remote, remote.ErrLease, tip, p.Base)
	}
	return tip, nil
}

func (p *Publication) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pushTimeout, fmt.Errorf("timed out after %s", pushTimeout))
	defer cancel()
	return remote.Push(ctx, p.From, p.PushOptions)
}

// arrived reports whether the remote's branch is at the job's commit.
func (p *Publication) arrived(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, referenceTimeout)
	defer cancel()
	branches, _, err := remote.Branches(ctx, p.Remote)
	return err == nil && branches[p.Branch] == p.Commit
}
