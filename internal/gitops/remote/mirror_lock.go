package remote

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/files/filelock"
)

// lockFile locks a file, which it creates if missing, against other goroutines
// and processes that use the same mirror, and waits for the lock. The file remains:
// removing it would let two processes lock two files of one name. Closing the returned file releases the lock.
func lockFile(ctx context.Context, name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, err
	}
	if err := filelock.Wait(ctx, f, filelock.Exclusive); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
