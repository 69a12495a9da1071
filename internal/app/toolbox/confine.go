package toolbox

import (
	"context"
	"errors"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/confinement"
)

// confine gives the call the sandbox of a session's commands, if its tool runs any. A violation
// that the level can't prevent ends the call.
func (s *site) confine(ctx context.Context) error {
	if !s.set.runs(s.call) {
		return nil
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	g := s.ground
	if !s.set.granted(s.call) {
		g.LockWorkspace()
	}
	if err := g.Prepare(); err != nil {
		return fault.Wrap(event.ExitInternal, err)
	}
	box, err := confinement.Open(ctx, g)
	switch {
	case errors.Is(err, sandbox.ErrAbsent):
		return fault.Wrap(event.ExitPolicy, err)
	case err != nil:
		failed := err // of each command of the call
		s.env.ChildEnv = g.Env
		s.env.Commands.Confine = func([]string, []string, string) (*proc.Confined, error) { return nil, failed }
		return nil //nolint:nilerr // see failed
	}
	s.stops = append(s.stops, func() { box.Close() }) //nolint:errcheck // the call has ended
	for _, l := range box.Unopened(g) {
		s.warn(l.Why.Error())
	}
	s.env.ChildEnv, s.env.Commands = box.Env, box.Commands()
	return nil
}
