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

	"github.com/millhand/millhand/internal/figures"
)

// ErrDiskLimit is the cause if directories have grown beyond their limit.
var ErrDiskLimit = errors.New("too much was written to the disk")

// DiskMonitor monitors the total growth of directories while commands run. It is not a
// quota: directories can exceed the limit between two measurements.
type DiskMonitor struct {
	dirs  []string
	limit int64
	now   func() time.Time

	measured chan struct{} // closed when before and free are known
	cancel   context.CancelFunc
	before   int64 // bytes used at the start
	free     int64 // total bytes free on the directories' file systems at the start
	err      error

	mu   sync.Mutex
	over int // consecutive measurements above the limit
}

// Pauses between two measurements: at least diskPause, and diskRest times the
// duration of the measurement, to limit its share of CPU time.
const (
	diskPause = 250 * time.Millisecond
	diskRest  = 20
)

// NewDiskMonitor starts measuring directories, which may grow by limit bytes in total from
// now on. None may contain another. The caller closes it.
func NewDiskMonitor(dirs []string, limit int64, now func() time.Time) *DiskMonitor {
	ctx, cancel := context.WithCancel(context.Background())
	g := &DiskMonitor{dirs: dirs, limit: limit, now: now, measured: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(g.measured)
		g.before, g.err = g.used(ctx)
		g.free = g.freeBytes()
	}()
	return g
}

// Close cancels the first measurement if it is still running.
func (g *DiskMonitor) Close() {
	if g != nil {
		g.cancel()
		<-g.measured
	}
}

// Monitor monitors the directories while a command runs, until ctx ends. It returns
// ErrDiskLimit if they exceed the limit. If they exceeded it before the command, the command
// can clean up, but must not let them grow.
func (g *DiskMonitor) Monitor(ctx context.Context) error {
	select {
	case <-g.measured:
	case <-ctx.Done():
		<-g.measured
	}
	if g.err != nil {
		return g.err
	}
	allowed := g.limit
	if g.Exceeded() > 0 {
		if used, err := g.used(ctx); err == nil {
			allowed = max(allowed, used-g.before)
		}
	}
	for pause := diskPause; ; {
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
		pause = max(diskPause, diskRest*g.now().Sub(began))
	}
}

// atEnd measures again after a command has ended, if the limit can be exceeded: the
// free space of the file systems has decreased by the limit, or the directories were
// too large before.
func (g *DiskMonitor) atEnd(ctx context.Context) error {
	if g.Exceeded() == 0 && g.free-g.freeBytes() < g.limit {
		return nil
	}
	return g.Check(ctx)
}

// Check measures now, and returns ErrDiskLimit if the directories exceed the limit.
func (g *DiskMonitor) Check(ctx context.Context) error {
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

// Exceeded returns the number of consecutive commands that ended with the directories above
// the limit.
func (g *DiskMonitor) Exceeded() int {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}

func (g *DiskMonitor) exceeded(grown int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over++
	return fmt.Errorf("%w: the workspace and the directory for temporary files have grown by %s (limit %s); remove files that are not needed", ErrDiskLimit, figures.Bytes(grown), figures.Bytes(g.limit))
}

// grown returns the growth of the directories in bytes.
func (g *DiskMonitor) grown(ctx context.Context) (int64, error) {
	used, err := g.used(ctx)
	return used - g.before, err
}

// used returns the disk usage of the directories in bytes, without holes. Files that
// vanish or can't be read are not counted. It fails if ctx ends.
func (g *DiskMonitor) used(ctx context.Context) (int64, error) {
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

// freeBytes returns the total free space of the directories' file systems, each counted
// once; 0 if unknown.
func (g *DiskMonitor) freeBytes() int64 {
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
