// Package abandon waits for work that can't be interrupted no longer than until a context ends. It does not end
// that work, which continues in a goroutine that nobody waits for.
package abandon

import "context"

// When returns the result of work, or the cause of the context's end if that comes first. Then the
// goroutine of the work is left behind, although nothing may wait for it any more: a read of
// standard input, of a pipe or of a file system that doesn't respond returns at its own time. This is
// for work without effects, in processes or jobs that are about to end.
func When[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := work()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if r.err == nil || ctx.Err() == nil {
			return r.value, r.err
		} // or else the work has noticed
	case <-ctx.Done():
	}
	return *new(T), context.Cause(ctx)
}
