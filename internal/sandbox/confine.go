//go:build linux

package sandbox

import (
	"errors"

	"github.com/millhand/millhand/internal/proc"
)

// Confine prepares a command for package proc.
func (s *Sandbox) Confine(args, env []string, dir string) (*proc.Confined, error) {
	l, err := s.Launch(args, env, dir)
	if err != nil {
		return nil, err
	}
	return &proc.Confined{
		Start: l.Start, Kill: l.Kill,
		Ended: func() (proc.Result, error) {
			end, err := l.Ended()
			if errors.Is(err, ErrLost) {
				_, swept := Sweep()
				err = errors.Join(err, swept)
			}
			return proc.Result{ExitCode: end.ExitCode, Signal: end.Signal}, err
		},
	}, nil
}
