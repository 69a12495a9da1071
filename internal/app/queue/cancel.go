package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// Cancel cancels a run: jobs that wait are removed from the queue, and the workers of those
// that run are told. It returns the number of jobs that had not ended.
func (q *Queue) Cancel(ctx context.Context, r *Run, why string) (left int, err error) {
	results, err := q.Results(ctx, r) // before its workers end jobs because of this
	if err != nil {
		return 0, err
	}
	if _, err := q.state.PutString(ctx, "cancel."+r.ID, why); err != nil {
		return 0, fmt.Errorf("cancel run %s: %w", r.ID, err)
	}
	a, _, err := q.budgets.read(ctx, r.ID)
	if err != nil && !errors.Is(err, ErrInvalid) {
		return 0, err
	}
	queued, err := q.waiting(ctx, "*.*")
	if err != nil {
		return 0, err
	}
	running := a.holders()
	for _, j := range r.Jobs {
		if _, ended := results[j.Key]; ended {
			continue
		}
		left++
		if running[j.Key] > 0 {
			continue // its worker ends it
		}
		if queued[j.Key] == "" {
			continue
		}
		by, seq, err := q.queuedAs(ctx, queued[j.Key], j)
		if err == nil && by == r.ID {
			err = q.takeOut(ctx, seq)
		} else if errors.Is(err, ErrInvalid) { // a worker removes it
			err = nil
		}
		if err != nil {
			return left, fmt.Errorf("take job %s out of the queue: %w", j.ID, err)
		}
	}
	return left, nil
}

// takeOut removes a message of a job, unless that has ended meanwhile. Another run may have
// queued the same job then.
func (q *Queue) takeOut(ctx context.Context, seq uint64) error {
	return retry(ctx, func(ctx context.Context) error {
		err := q.jobs.DeleteMsg(ctx, seq)
		if err != nil {
			if _, found := q.jobs.GetMsg(ctx, seq); errors.Is(found, jetstream.ErrMsgNotFound) {
				return nil
			}
		}
		return err
	})
}

// Cancelled returns why a run was cancelled; "" if it was not.
func (q *Queue) Cancelled(ctx context.Context, run string) (why string, err error) {
	err = retry(ctx, func(ctx context.Context) error {
		entry, err := q.state.Get(ctx, "cancel."+run)
		if err == nil {
			why = string(entry.Value())
		}
		return err
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", nil
	}
	return why, err
}

// Over reports whether no more jobs of a run start, because it was cancelled or has timed out, and
// none runs. What a worker that disappeared was running does not count: nobody may take it over.
func (q *Queue) Over(ctx context.Context, r *Run) (bool, error) {
	why, err := q.Cancelled(ctx, r.ID)
	expired := !r.Deadline.IsZero() && q.now().Sub(r.Deadline) > r.Lease+Silence // workers end jobs that they claim later
	if err != nil || why == "" && !expired {
		return false, err
	}
	a, _, err := q.budgets.read(ctx, r.ID)
	switch {
	case errors.Is(err, ErrInvalid): // the workers show what they run
	case err != nil || len(a.holders()) == 0:
		return err == nil, err
	}
	workers, err := q.Workers(ctx)
	runs := func(w Worker) bool {
		return slices.ContainsFunc(w.Jobs, func(j Running) bool { return j.Run == r.ID })
	}
	return err == nil && !slices.ContainsFunc(workers, runs), err
}

// Signals calls cancelled for each run that is cancelled, and cooled for each pause of a
// provider's key, until ctx ends. Both are called for those of the past, too.
func (q *Queue) Signals(ctx context.Context, cancelled func(run string), cooled func(account string, wait Cooldown)) error {
	watcher, err := q.state.WatchFiltered(ctx, []string{"cancel.*", "cool.*"}, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer watcher.Stop() //nolint:errcheck // it ends with the connection
	for {
		select {
		case entry, open := <-watcher.Updates():
			switch {
			case !open:
				return errors.New("the connection to the queue is closed")
			case entry == nil:
			case len(entry.Key()) > len("cancel.") && entry.Key()[:len("cancel.")] == "cancel.":
				cancelled(entry.Key()[len("cancel."):])
			default:
				q.cooled(entry, cooled)
			}
		case <-ctx.Done():
			return nil
		}
	}
}
