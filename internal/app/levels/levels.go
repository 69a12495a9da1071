// Package levels chooses the level at which the sandbox confines commands: from the mode that an option asks for, the policies, and what a
// probe of this machine finds. It confines nothing.
package levels

import (
	"context"
	"sync"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/sandbox"
)

// Field is the option --sandbox of commands that run confined commands.
func Field(to *string, group string) option.Field {
	return option.Field{Name: "sandbox", Group: group, To: to, Usage: "Confine commands with `MODE`: auto, require, external or off"}
}

// Mode returns the mode of the sandbox, given the requested one and the policies.
func Mode(mode string, set policy.Set) (string, error) {
	at := set.RequiresSandbox()
	switch {
	case at == "" || mode == string(sandbox.Require):
		return mode, nil
	case mode == string(sandbox.Auto):
		return string(sandbox.Require), nil
	}
	return "", fault.New(event.ExitUsage, "--sandbox %s not allowed by sandbox (%s): it requires level A; nothing was run", mode, at)
}

// Probe determines the levels of sandbox on this machine.
type Probe struct {
	found       sandbox.Found
	known, rest sync.WaitGroup
}

// Probing starts a probe, unless mode needs none. The caller waits for its end.
func Probing(ctx context.Context, mode string) *Probe {
	p := &Probe{}
	if m := sandbox.Mode(mode); m == sandbox.Auto || m == sandbox.Require {
		p.known.Go(func() { p.found = sandbox.ProbeEarly(ctx, "", &p.rest) })
	}
	return p
}

// Found waits for the result.
func (p *Probe) Found() sandbox.Found {
	p.known.Wait()
	return p.found
}

// End waits for the end, which is later, and returns the result.
func (p *Probe) End() sandbox.Found {
	defer p.rest.Wait()
	return p.Found()
}

// Choose determines the sandbox level of commands on this machine, which probe has
// examined. It fails if the mode does not allow that level.
func Choose(ctx context.Context, mode string, shell bool, probe func() sandbox.Found) (sandbox.Level, sandbox.State, error) {
	m := sandbox.Mode(mode)
	if err := m.Check(); err != nil {
		return sandbox.None, sandbox.State{}, fault.Wrap(event.ExitUsage, err)
	}
	found := probe()
	if ctx.Err() != nil {
		return sandbox.None, sandbox.State{}, context.Cause(ctx)
	}
	level, err := sandbox.Choose(m, shell, found)
	if err == nil && level == sandbox.Partial {
		err = sandbox.Adopt()
	}
	if err != nil {
		return level, sandbox.State{}, fault.Wrap(event.ExitPolicy, err)
	}
	return level, found.State(level), nil
}
