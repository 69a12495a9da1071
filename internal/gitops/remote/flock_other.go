//go:build !unix

package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// flock takes the lock on a file that other goroutines and processes take, too,
// and waits for it as long as the context lets it. A process that is killed
// leaves its lock behind, as a file ".held".
func flock(ctx context.Context, name string) (release func(), err error) {
	name += ".held"
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
		if err == nil {
			return func() { discard(f) }, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s: %w", name, ctx.Err())
		case <-time.After(pause):
		}
	}
}
