package proc

import "context"

// hurryKey is the key of the channel that WithHurry puts into a context.
type hurryKey struct{}

// WithHurry returns a context under which nothing waits any longer once the
// channel is closed: a process group that was sent SIGTERM is killed at once.
// The context itself need not end: the cause of an end can't change afterwards,
// but how long it may take can.
func WithHurry(ctx context.Context, hurry <-chan struct{}) context.Context {
	return context.WithValue(ctx, hurryKey{}, hurry)
}

// Hurried returns the channel of WithHurry. Without one it returns nil, which
// blocks forever.
func Hurried(ctx context.Context) <-chan struct{} {
	hurry, _ := ctx.Value(hurryKey{}).(<-chan struct{})
	return hurry
}
