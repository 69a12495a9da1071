package toolbox

import (
	"context"
	"errors"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
)

// hooks returns the hooks of the manifest around calls.
func (s *settings) hooks() []tasks.Hook {
	if s.plan == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.plan.Hooks), func(h tasks.Hook) bool { return h.On != tasks.BeforeTool && h.On != tasks.AfterTool })
}

// hook adds the hooks of the manifest around the call. They see the arguments that plugins have made.
func (s *site) hook(ctx context.Context) error {
	hooks := s.set.hooks()
	if len(hooks) == 0 {
		return nil
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	started := hook.New(hook.Config{
		Hooks: hooks, Input: hook.Input{Dir: s.ground.Workspace}, Sandbox: string(s.ground.Level), Redact: s.env.Redact,
		Launch: func(ctx context.Context, h tasks.Hook) (proc.Command, error) {
			own := s.ground
			own.Profile = confinement.HookProfile(own.Profile, h)
			return s.processes.LaunchHook(ctx, own, h, s.programs(), "tool")
		},
		Emit: func(event.Extension) {},
		Warn: s.warn,
		Stop: func(reason string) {
			s.warn(reason) // the call may have ended
			s.end(errors.New(reason))
		},
	})
	s.stops = append(s.stops, started.Close)
	s.env.Hooks = append(s.env.Hooks, started.Around("", "")...)
	return nil
}
