package queued

import (
	"context"
	"fmt"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc/clock"
)

// Poll is how often a run is looked at until it has ended.
const Poll = time.Second

// pause returns how long to wait before a run is looked at again, after that took so long: the
// more jobs have ended, the more the server sends.
func pause(took time.Duration) time.Duration { return min(max(Poll, 10*took), 10*Poll) }

// quietTime is after how long without a job that ended a waiting command prints what it waits for.
const quietTime = time.Minute

// Wait waits until all jobs of a run have ended, or no more start and none runs.
func Wait(ctx context.Context, w world.World, q *queue.Queue, r *queue.Run) error {
	ended, since := 0, w.Now()
	for {
		began := w.Now()
		n, err := q.Ended(ctx, r)
		if err != nil {
			return fault.New(event.ExitUnavailable, "%w", err)
		}
		if n >= len(r.Jobs) {
			return nil
		}
		if n > ended {
			ended, since = n, w.Now()
		} else if w.Now().Sub(since) >= quietTime {
			since = w.Now()
			if s, err := StateOf(ctx, w.Now(), q, r); err == nil {
				fmt.Fprintln(w.Err, "waiting:")
				s.Print(w.Err, w.Now()) //nolint:errcheck // a closed log
			}
		}
		over, err := q.Over(ctx, r)
		if err != nil {
			return fault.New(event.ExitUnavailable, "%w", err)
		}
		if over {
			return nil
		}
		if err := clock.Wait(ctx, pause(w.Now().Sub(began))); err != nil {
			return err
		}
	}
}
