// Package parallel does the same for many items on a few goroutines. It does not know what that is.
package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// maxWorkers is the maximum number of goroutines of one operation; several
// jobs run concurrently.
const maxWorkers = 4

// Each calls do for each item on a few goroutines and waits for them.
// After the first error, or when the context is done, it starts no more items.
func Each[T any](ctx context.Context, items []T, do func(T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			i := next.Add(1) - 1
			if i >= int64(len(items)) {
				return
			}
			if err := do(items[i]); err != nil {
				cancel(err)
			}
		}
	}
	var workers sync.WaitGroup
	for range min(maxWorkers, runtime.GOMAXPROCS(0), len(items)) {
		workers.Go(work)
	}
	workers.Wait()
	return context.Cause(ctx)
}
