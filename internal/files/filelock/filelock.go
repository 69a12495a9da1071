// Package filelock locks open files against other processes and other
// goroutines of this one, with flock(2). The kernel releases a lock when the file
// is closed, however the process ends. It knows nothing of what a lock protects.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/proc/clock"
)

// ErrHeld is the error of [Try] if the lock is held through another open file.
var ErrHeld = errors.New("lock is held")

// Mode is how a lock is held.
type Mode int

// The modes.
const (
	Exclusive Mode = iota // by one open file
	Shared                // by any number of open files, none of them exclusively
)

// Try locks a file without waiting. The error is [ErrHeld], or wraps that of
// flock(2): ENOLCK, ENOSYS, EOPNOTSUPP or EINVAL on file systems without locks.
func Try(f *os.File, mode Mode) error {
	how := unix.LOCK_EX
	if mode == Shared {
		how = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB) //nolint:gosec // a descriptor is small
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrHeld
		default:
			return fmt.Errorf("flock %s: %w", f.Name(), err)
		}
	}
}

// Wait is [Try] repeated until the lock is free or the context ends. It polls
// because a blocked flock(2) can't be canceled.
func Wait(ctx context.Context, f *os.File, mode Mode) error {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		if err := Try(f, mode); !errors.Is(err, ErrHeld) {
			return err
		}
		if clock.Wait(ctx, pause) != nil {
			return fmt.Errorf("wait for the lock %s: %w", f.Name(), ctx.Err())
		}
	}
}

// orphanWait is how long the locks of a killed process can outlive it: a child that it has just started has its
// files open until it executes its program.
const orphanWait = 500 * time.Millisecond

// AfterOrphans repeats a look at locks that don't name their processes until it is done, and long enough for the last
// children of killed processes: last is true for a look that has to do without them. A look holds no lock after it.
func AfterOrphans(ctx context.Context, look func(last bool) (done bool, err error)) error {
	const pause = orphanWait / 20
	for waited := time.Duration(0); ; waited += pause {
		last := waited >= orphanWait
		if done, err := look(last); done || last || err != nil {
			return err
		}
		if err := clock.Wait(ctx, pause); err != nil {
			return err
		}
	}
}
