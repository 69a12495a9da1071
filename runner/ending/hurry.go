package ending

import (
	"context"

	"github.com/millhand/millhand/internal/proc"
)

// UntilHurried returns a context that only a second signal cancels.
func UntilHurried(ctx context.Context) (within context.Context, done func()) {
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-proc.Hurried(within):
			cancel()
		case <-within.Done():
		}
	}()
	return within, func() {
		cancel()
		<-ended
	}
}
