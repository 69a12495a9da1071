package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// ErrGrown is the cause when a folder has grown more than it may.
var ErrGrown = errors.New("it has grown beyond its limit")

// Usage returns how many bytes the files below a folder take up on the disk,
// holes not counted. What vanishes or can't be read while it looks counts as
// nothing; it fails when ctx ends.
func Usage(ctx context.Context, dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				total += st.Blocks * 512
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", dir, err)
	}
	return total, nil
}

// WatchGrowth looks at a folder again and again, with pauses of at least the
// one given and of ten times what looking took, and fails with ErrGrown when it
// takes up more than before bytes and limit together. It returns nil when ctx
// ends. What grows faster than it looks gets further than the limit: it is no
// quota.
func WatchGrowth(ctx context.Context, dir string, before, limit int64, pause time.Duration, now func() time.Time) error {
	for {
		began := now()
		used, err := Usage(ctx, dir)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // whoever ended it doesn't want to know
		}
		if err != nil {
			return err
		}
		if used > before+limit {
			return fmt.Errorf("%s takes up %d bytes more than before, and may %d: %w", dir, used-before, limit, ErrGrown)
		}
		wait := time.NewTimer(max(pause, 10*now().Sub(began)))
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil
		case <-wait.C:
		}
	}
}
