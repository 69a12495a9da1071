package proc

import (
	"context"
	"sync/atomic"
)

// idleKey is the key of a context's value: whether the process only reads and checks its input.
type idleKey struct{}

// WithIdle returns a context in which [SetIdle] sets a value.
func WithIdle(ctx context.Context, idle *atomic.Bool) context.Context {
	return context.WithValue(ctx, idleKey{}, idle)
}

// SetIdle sets whether the process only reads and checks its input, so that nothing is lost if
// it exits.
func SetIdle(ctx context.Context, is bool) {
	if idle, ok := ctx.Value(idleKey{}).(*atomic.Bool); ok {
		idle.Store(is)
	}
}
