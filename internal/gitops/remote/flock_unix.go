//go:build unix

package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// flock takes the lock on a file that other goroutines and processes take, too,
// and waits for it as long as the context lets it. The lock ends with the process at the latest.
// The file remains.
func flock(ctx context.Context, name string) (release func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, err
	}
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for %s: %w", name, ctx.Err()), f.Close())
		case <-time.After(pause):
		}
	}
}
