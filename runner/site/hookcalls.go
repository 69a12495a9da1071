package site

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/millhand/millhand/tools"
)

// watch runs a hook around a call. What it leaves in the workspace is not the agent's.
func (r JobHooks) watch(ctx context.Context, run func()) {
	end := r.Site.Diff.StartHook(ctx)
	run()
	if end = cmp.Or(end, r.Site.Diff.EndHook(ctx)); end != nil && ctx.Err() == nil {
		r.Site.job.Fails(end)
	}
}

// Watched returns hooks, of which those that run before and after calls are watched.
func (r JobHooks) Watched(all []tools.Hook) []tools.Hook {
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
