package proc

import "context"

// hurryKey is the context key of WithHurry's channel.
type hurryKey struct{}

// WithHurry returns a context with a channel. After it is closed, a process
// group that was sent SIGTERM is killed immediately. It is separate from the
// context's cancellation, whose cause can't change afterwards.
func WithHurry(ctx context.Context, hurry <-chan struct{}) context.Context {
	return context.WithValue(ctx, hurryKey{}, hurry)
}

// Hurried returns the channel of WithHurry. Without one it returns nil, which
// blocks forever.
func Hurried(ctx context.Context) <-chan struct{} {
	hurry, _ := ctx.Value(hurryKey{}).(<-chan struct{})
	return hurry
}
