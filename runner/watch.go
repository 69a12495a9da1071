package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tools"
)

// watched are the hooks that run around calls now. Those of parallel calls overlap: what differs is
// determined from before the first to after the last.
type watched struct {
	mu      sync.Mutex
	running int
	before  gitops.States // nil if unknown
	changed func() bool   // whether a call can have changed files since then
}

// watch runs a hook around a call. What it leaves in the workspace is not the agent's.
func (r jobHooks) watch(ctx context.Context, run func()) {
	end := r.site.diff.startHook(ctx)
	run()
	if end = cmp.Or(end, r.site.diff.endHook(ctx)); end != nil && ctx.Err() == nil {
		r.job.end(session.Timeout{Code: end.Code, Reason: end.Detail})
	}
}

// plugins returns hooks of plugins, of which those that run before and after calls are watched.
func (r jobHooks) plugins(all []tools.Hook) []tools.Hook {
	for i, h := range all {
		if h.Before != nil {
			all[i].Before = func(ctx context.Context, c tools.HookCall) (made json.RawMessage, err error) {
				r.watch(ctx, func() { made, err = h.Before(ctx, c) })
				return made, err
			}
		}
		if h.After != nil {
			all[i].After = func(ctx context.Context, c tools.HookCall, was tools.HookResult) (made tools.HookResult) {
				r.watch(ctx, func() { made = h.After(ctx, c, was) })
				return made
			}
		}
	}
	return all
}

func (d *differences) startHook(ctx context.Context) (end *ending.Stop) {
	w := &d.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running++; w.running > 1 {
		return nil
	}
	w.changed = d.tree.Watch()
	w.before, end = d.states(ctx)
	return end
}

func (d *differences) endHook(ctx context.Context) *ending.Stop {
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
func (d *differences) onlyKnown(before, after gitops.States) {
	agents := func(path, _ string) bool {
		return !d.has(path, before[path]) || d.tree.Wrote(filepath.Join(d.site.tree.Root(), filepath.FromSlash(path)))
	}
	maps.DeleteFunc(after, agents)
	maps.DeleteFunc(before, agents)
}
