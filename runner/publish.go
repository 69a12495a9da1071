package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/tasks"
)

// How a push is made: each try has its time, and one that failed on the way is
// made again after a while.
const (
	pushTime  = 5 * time.Minute
	pushTries = 3
	pushWait  = 2 * time.Second
)

// publish pushes the job's commit, if its task says so. The commit and the
// patch stay whatever becomes of it.
func (j *job) publish(ctx context.Context) *stop {
	if j.Publish != tasks.PublishPush || j.made.Hash == "" {
		return nil
	}
	o := remote.PushOptions{Remote: j.start.remote, Commit: j.made.Hash, Branch: j.made.Branch, Expect: j.start.lease}
	var err error
	if j.inPlace {
		o.Expect, err = j.leaseInPlace(ctx, o)
	}
	if err == nil {
		err = j.push(ctx, o)
	}
	if err != nil {
		if ctx.Err() != nil {
			j.lookAfterPush(context.WithoutCancel(ctx), o)
			return stopped(ctx)
		}
		code := event.CodePush
		if errors.Is(err, remote.ErrLease) || errors.Is(err, remote.ErrRejected) {
			code = event.CodeLease
		}
		return &stop{
			outcome: event.Publish, exit: event.ExitPublish, code: code,
			reason: fmt.Sprintf("push branch %s: %v; the work is kept as a patch", o.Branch, err),
		}
	}
	j.tellPushed(o)
	return nil
}

func (j *job) tellPushed(o remote.PushOptions) {
	j.emit(event.Event{Type: event.WorkPublished, Published: &event.Published{
		Remote: o.Remote.String(), Branch: o.Branch, Hash: o.Commit, Replaced: o.Expect,
	}})
}

// lookTime is how long a run that has to end looks at what became of a push.
const lookTime = 10 * time.Second

// lookAfterPush finds out whether a push that was under way when the run had to
// end went through.
func (j *job) lookAfterPush(ctx context.Context, o remote.PushOptions) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if j.arrived(ctx, o) {
		j.tellPushed(o)
		return
	}
	j.warn(fmt.Sprintf("a push of %.10s to branch %s of %s was under way when the run ended; it may still arrive there", o.Commit, o.Branch, o.Remote))
}

// push tries until the push went through, was refused, or has failed too
// often. A try whose answer was lost may have gone through all the same.
func (j *job) push(ctx context.Context, o remote.PushOptions) error {
	for try := 1; ; try++ {
		err := j.pushOnce(ctx, o)
		final := err == nil || errors.Is(err, remote.ErrRejected) || errors.Is(err, remote.ErrAuth)
		if final || ctx.Err() != nil {
			return err
		}
		if try > 1 && j.arrived(ctx, o) {
			return nil
		}
		if errors.Is(err, remote.ErrLease) || try == pushTries {
			return err
		}
		j.warn(fmt.Sprintf("push branch %s: %v; it is tried again", o.Branch, err))
		select {
		case <-time.After(time.Duration(try) * pushWait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// leaseInPlace finds what a checked out branch is at on the remote now: it may
// be missing there, or must be where the job began. A job before may have
// pushed it, so that this can't be known earlier.
func (j *job) leaseInPlace(ctx context.Context, o remote.PushOptions) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, fmt.Errorf("it took more than %s", askTime))
	defer cancel()
	branches, _, err := remote.Branches(ctx, o.Remote)
	if err != nil {
		return "", err
	}
	tip := branches[o.Branch]
	if tip != "" && tip != j.base {
		return "", fmt.Errorf("%w: it is at %.10s on the remote, and the job began at %.10s", remote.ErrLease, tip, j.base)
	}
	return tip, nil
}

func (j *job) pushOnce(ctx context.Context, o remote.PushOptions) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pushTime, fmt.Errorf("it took more than %s", pushTime))
	defer cancel()
	return remote.Push(ctx, j.origin.Git, o)
}

// arrived reports whether the remote's branch is at the job's commit.
func (j *job) arrived(ctx context.Context, o remote.PushOptions) bool {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	branches, _, err := remote.Branches(ctx, o.Remote)
	return err == nil && branches[o.Branch] == o.Commit
}
