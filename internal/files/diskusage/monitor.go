// Package diskusage measures how much directories grow while commands run, which it neither starts nor ends: package proc
// does, with [Monitor.Watch].
package diskusage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/text/figures"
)

// ErrLimit is the cause if directories have grown beyond their limit.
var ErrLimit = errors.New("too much was written to the disk")

// Monitor monitors the total growth of directories while commands run. It is not a
// quota: directories can exceed the limit between two measurements.
//
// If the disk has lost as much as the limit, be it through others, deleted files that are
// still open count, too.
type Monitor struct {
	limit int64
	now   func() time.Time

	start    func()        // starts the first measurement, once
	measured chan struct{} // closed at its end
	cancel   context.CancelFunc
	before   int64 // bytes used at the start
	err      error

	mu     sync.Mutex
	dirs   []string
	caches []string
	most   space // the most that was left on the file systems
	over   int   // consecutive measurements above the limit
}

// Pauses between two measurements: at least diskPause, and diskRest times the
// duration of the measurement, to limit its share of CPU time.
const (
	diskPause = 250 * time.Millisecond
	diskRest  = 20
)

// NewMonitor returns a monitor of directories, which may grow by limit bytes in total from
// the first measurement on. None may contain another. Those in caches are not visible to commands, except for
// directories in them. The caller closes it.
func NewMonitor(dirs, caches []string, limit int64, now func() time.Time) *Monitor {
	ctx, cancel := context.WithCancel(context.Background())
	g := &Monitor{dirs: dirs, caches: caches, limit: limit, now: now, measured: make(chan struct{}), cancel: cancel}
	g.lost()
	g.start = sync.OnceFunc(func() {
		go func() {
			defer close(g.measured)
			g.before, g.err = g.used(ctx)
		}()
	})
	return g
}

// Start starts the first measurement, unless it was started before.
func (g *Monitor) Start() {
	if g != nil {
		g.start()
	}
}

// maxFirst is how long a command waits for the first measurement. Only in a very large tree, what it
// writes meanwhile may not count.
const maxFirst = 2 * time.Second

// Measure is called before a command starts. It starts the first measurement, if that was not started
// before, and waits for its end.
func (g *Monitor) Measure() {
	if g == nil {
		return
	}
	g.start()
	select {
	case <-g.measured:
		return
	default:
	}
	wait := time.NewTimer(maxFirst)
	defer wait.Stop()
	select {
	case <-g.measured:
	case <-wait.C:
	}
}

// Add measures further directories that are missing or empty: all that is in them counts. They
// are of the kinds that [NewMonitor] describes.
func (g *Monitor) Add(dirs, caches []string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dirs, g.caches = slices.Concat(g.dirs, dirs), slices.Concat(g.caches, caches)
}

// watched returns the directories that commands see, and all.
func (g *Monitor) watched() (visible, all []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dirs, slices.Concat(g.dirs, g.caches)
}

// Close cancels the first measurement if it is still running.
func (g *Monitor) Close() {
	if g != nil {
		g.cancel()
		g.start()
		<-g.measured
	}
}

// Watch measures the directories while a command runs, until ctx ends. It returns
// ErrLimit if they exceed the limit. If they exceeded it before the command, the command
// can clean up, but must not let them grow.
func (g *Monitor) Watch(ctx context.Context) error {
	g.start()
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
		if grown, err := g.grown(ctx); err == nil {
			allowed = max(allowed, grown)
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
func (g *Monitor) atEnd(ctx context.Context) error {
	if g.Exceeded() == 0 && g.lost() < g.limit {
		return nil
	}
	return g.Check(ctx)
}

// Check measures now, and returns ErrLimit if the directories exceed the limit.
func (g *Monitor) Check(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.start()
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
func (g *Monitor) Exceeded() int {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}

func (g *Monitor) exceeded(grown int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over++
	return fmt.Errorf("%w: the workspace, the directory for temporary files and caches have grown by %s (limit %s); remove files that are not needed", ErrLimit, figures.Bytes(grown), figures.Bytes(g.limit))
}

// grown returns the growth in bytes.
func (g *Monitor) grown(ctx context.Context) (int64, error) {
	used, err := g.used(ctx)
	visible, _ := g.watched()
	if lost := g.lost(); err == nil && lost >= g.limit {
		used += min(lost, unlinkedBytes(visible))
	}
	return used - g.before, err
}

// used returns the disk usage of the directories in bytes.
func (g *Monitor) used(ctx context.Context) (total int64, err error) {
	_, all := g.watched()
	for _, dir := range all {
		n, err := usage(ctx, dir)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// lost returns how much less is left on the file systems than at most: bytes or inodes.
func (g *Monitor) lost() int64 {
	_, all := g.watched()
	now := left(all)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most = space{max(g.most.bytes, now.bytes), max(g.most.inodes, now.inodes)}
	return max(g.most.bytes-now.bytes, g.most.inodes-now.inodes)
}
