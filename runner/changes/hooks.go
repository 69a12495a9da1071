package changes

import (
	"context"
	"maps"
	"path/filepath"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/runner/ending"
)

// watched are the hooks that run around calls now. Those of parallel calls overlap: what differs is
// determined from before the first to after the last.
type watched struct {
	mu      sync.Mutex
	running int
	before  state.States // nil if unknown
	changed func() bool  // whether a call can have changed files since then
}

// StartHook notes the state before a hook around a call, unless another hook is running.
func (d *Differences) StartHook(ctx context.Context) (end *ending.Stop) {
	w := &d.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running++; w.running > 1 {
		return nil
	}
	w.changed = d.Tree.Watch()
	w.before, end = d.states(ctx)
	return end
}

// EndHook records what hooks around calls have left, when the last one has ended.
func (d *Differences) EndHook(ctx context.Context) *ending.Stop {
	w := &d.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running--; w.running > 0 || w.before == nil {
		return nil
	}
	after, end := d.states(context.WithoutCancel(ctx))
	if end != nil {
		return end
	}
	if w.changed() {
		d.onlyKnown(w.before, after)
	}
	d.record(event.ByHook, w.before, after)
	return nil
}

// onlyKnown reduces two states, between which a call could change files, too, to the files that others
// than the agent had left, and that no file tool wrote: any other difference may be the agent's work.
func (d *Differences) onlyKnown(before, after state.States) {
	agents := func(path, _ string) bool {
		return !d.Has(path, before[path]) || d.Tree.Wrote(filepath.Join(d.At.Tree.Root(), filepath.FromSlash(path)))
	}
	maps.DeleteFunc(after, agents)
	maps.DeleteFunc(before, agents)
}
