package queued

import (
	"context"
	"errors"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

// Connect connects to the queue that options name, with the token of the environment. The caller closes it.
func Connect(ctx context.Context, w world.World, o queue.Options) (*queue.Queue, error) {
	o.Token, o.Now = w.Getenv("NATS_TOKEN"), w.Now
	q, err := queue.Open(ctx, o)
	if err != nil {
		return nil, fault.New(event.ExitUnavailable, "%w", err)
	}
	return q, nil
}

// Find connects to a queue and returns a run of it. The caller closes the queue.
func Find(ctx context.Context, w world.World, o queue.Options, id string) (*queue.Queue, *queue.Run, error) {
	q, err := Connect(ctx, w, o)
	if err != nil {
		return nil, nil, err
	}
	r, err := q.Run(ctx, id)
	if err != nil {
		q.Close()
		exit := event.ExitUnavailable
		if errors.Is(err, queue.ErrNotFound) {
			exit = event.ExitUsage
		}
		return nil, nil, fault.New(exit, "%w", err)
	}
	return q, r, nil
}
