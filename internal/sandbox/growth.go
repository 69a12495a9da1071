package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrGrown is the cause when directories have grown more than they may.
var ErrGrown = errors.New("too much was written to the disk")

// Growth watches how much directories grow, all together, while commands run. It is
// no quota: what grows faster than it looks gets further than the limit.
type Growth struct {
	dirs  []string
	limit int64
	now   func() time.Time

	measured chan struct{} // closed when before and free are known
	cancel   context.CancelFunc
	before   int64 // bytes used at the beginning
	free     int64 // bytes that were free on the directories' disks, all together
	err      error

	mu   sync.Mutex
	over int // looks in a row that found the directories beyond the limit
}

// Pauses between two looks: at least the first, and so many times what looking
// took, so that it costs a small part of one processor.
const (
	growthPause = 250 * time.Millisecond
	growthRest  = 20
)

// WatchGrowth begins to measure directories, none of which lies in another, which
// may grow by limit bytes from now on. The caller closes it.
func WatchGrowth(dirs []string, limit int64, now func() time.Time) *Growth {
	ctx, cancel := context.WithCancel(context.Background())
	g := &Growth{dirs: dirs, limit: limit, now: now, measured: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(g.measured)
		g.before, g.err = g.used(ctx)
		g.free = g.freeBytes()
	}()
	return g
}

// Close ends the first measurement, should it still go on.
func (g *Growth) Close() {
	if g != nil {
		g.cancel()
		<-g.measured
	}
}

// Beside watches for as long as a command runs, which is until ctx ends. It
// fails with ErrGrown when the directories are larger than they may be; a command
// that begins when they are must not let them grow at all, and may clear up.
func (g *Growth) Beside(ctx context.Context) error {
	select {
	case <-g.measured:
	case <-ctx.Done():
		<-g.measured
	}
	if g.err != nil {
		return g.err
	}
	allowed := g.limit
	if g.Over() > 0 {
		if used, err := g.used(ctx); err == nil {
			allowed = max(allowed, used-g.before)
		}
	}
	for pause := growthPause; ; {
		wait := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			wait.Stop()
			return g.atEnd(context.WithoutCancel(ctx))
		case <-wait.C:
		}
		began := g.now()
		grown, err := g.grown(ctx)
		switch {
		case ctx.Err() != nil:
			return g.atEnd(context.WithoutCancel(ctx))
		case err != nil:
			return err
		case grown > allowed:
			return g.exceeded(grown)
		}
		pause = max(growthPause, growthRest*g.now().Sub(began))
	}
}

// atEnd looks once more after a command's end, if there can be anything to see:
// the disks have lost as much as the directories may grow, or the directories were too
// large before.
func (g *Growth) atEnd(ctx context.Context) error {
	if g.Over() == 0 && g.free-g.freeBytes() < g.limit {
		return nil
	}
	return g.Check(ctx)
}

// Check looks now, and fails with ErrGrown if the directories are larger than they
// may be.
func (g *Growth) Check(ctx context.Context) error {
	if g == nil {
		return nil
	}
	<-g.measured
	if g.err != nil {
		return g.err
	}
	grown, err := g.grown(ctx)
	if err != nil {
		return err
	}
	if grown > g.limit {
		return g.exceeded(grown)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = 0
	return nil
}

// Over returns how many commands, one after the other, have ended or were ended
// with the directories larger than they may be.
func (g *Growth) Over() int {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}

func (g *Growth) exceeded(grown int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over++
	return fmt.Errorf("%w: the workspace and the directory for temporary files have grown by %s, and may by %s; remove what is not needed", ErrGrown, megabytes(grown), megabytes(g.limit))
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// grown returns by how many bytes the directories have grown.
func (g *Growth) grown(ctx context.Context) (int64, error) {
	used, err := g.used(ctx)
	return used - g.before, err
}

// used returns how many bytes the files below the directories take up on the disk,
// holes not counted. What vanishes or can't be read while it looks counts as
// nothing; it fails when ctx ends.
func (g *Growth) used(ctx context.Context) (int64, error) {
	var total int64
	for _, dir := range g.dirs {
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
	}
	return total, nil
}

// freeBytes returns what is free on the disks that the directories are on, each
// counted once; 0 if that can't be told.
func (g *Growth) freeBytes() int64 {
	var free int64
	seen := map[unix.Fsid]bool{}
	for _, dir := range g.dirs {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			return 0
		}
		if !seen[st.Fsid] {
			seen[st.Fsid] = true
			free += int64(st.Bfree) * int64(st.Bsize) //nolint:gosec,unconvert // no disk is that large; Bsize has 32 bits on macOS
		}
	}
	return free
}
