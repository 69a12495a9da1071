package toolbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// hooks returns the hooks of the manifest around calls.
func (s *settings) hooks() []tasks.Hook {
	if s.plan == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.plan.Hooks), func(h tasks.Hook) bool { return h.On != tasks.BeforeTool && h.On != tasks.AfterTool })
}

// hookCalls returns the hooks around a single call. stop releases them.
func hookCalls(ctx context.Context, w world.World, o load.ProfileOptions, mode string, env *tools.Env, set *settings, end func(error)) (around []tools.Hook, stop func(), err error) {
	hooks := set.hooks()
	if len(hooks) == 0 {
		return nil, func() {}, nil
	}
	g, base, err := ground(ctx, w, o, mode, env, set, end)
	if err != nil {
		return nil, nil, err
	}
	warn := func(text string) { fmt.Fprintln(w.Err, printable.Text(env.Redact.Text("millhand: "+text))) }
	processes := &confinement.Processes{}
	started := hook.New(hook.Config{
		Hooks: hooks, Input: hook.Input{Dir: g.Workspace}, Sandbox: string(g.Level), Redact: env.Redact,
		Launch: func(ctx context.Context, h tasks.Hook) (proc.Command, error) {
			own := g
			own.Profile = confinement.HookProfile(g.Profile, h)
			return processes.LaunchHook(ctx, own, h, base, "tool")
		},
		Emit: func(event.Extension) {},
		Warn: warn,
		Stop: func(reason string) {
			warn(reason) // the call may have ended
			end(errors.New(reason))
		},
	})
	return started.Around("", ""), func() {
		started.Close()
		if err := errors.Join(processes.Close(), os.RemoveAll(base)); err != nil {
			fmt.Fprintln(w.Err, printable.Text("millhand: "+err.Error()))
		}
	}, nil
}
