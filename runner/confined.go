package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
)

// openSandbox confines the job's commands.
func (j *job) openSandbox(ctx context.Context) error {
	g, err := j.ground(j.Profile, j.env)
	if err != nil {
		return err
	}
	if j.sandbox, err = OpenConfinement(ctx, g); err != nil {
		return err
	}
	j.env = j.sandbox.Env
	return nil
}

// confinement is what a session's commands get: the job's sandbox, or one below
// it if the session's agent may do less than the job. Setup and verify commands
// are the task's, not the agent's.
func (j *job) confinement(ctx context.Context, s seat) (*Confinement, error) {
	if s.agent.Most == nil && len(s.agent.Narrow) == 0 {
		return j.sandbox, nil
	}
	j.sessions.mu.Lock()
	defer j.sessions.mu.Unlock()
	if c := j.narrower[s.Agent]; c != nil {
		return c, nil
	}
	env, err := j.childEnv(s.Profile)
	if err != nil {
		return nil, err
	}
	g, err := j.ground(s.Profile, env)
	if err != nil {
		return nil, err
	}
	g.within = j.sandbox
	c, err := OpenConfinement(ctx, g)
	if err != nil {
		return nil, err
	}
	if j.narrower == nil {
		j.narrower = map[string]*Confinement{}
	}
	j.narrower[s.Agent] = c
	return c, nil
}

// ground is what commands under a profile are confined to.
func (j *job) ground(p permission.Profile, env []string) (Ground, error) {
	home := filepath.Join(j.Work, "home", j.ID)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return Ground{}, fmt.Errorf("make a home folder: %w", err)
	}
	g := Ground{
		Level: j.Level, Workspace: j.space.Dir(), Home: home, Tmp: proc.Value(env, "TMPDIR"),
		Git: []string{j.tree.Git.Own, j.tree.Git.Common}, InPlace: j.inPlace,
		Profile: p, Caches: j.Caches, Getenv: j.Getenv, Env: env, Limits: j.Limits, Now: j.Now,
		Tell:     func(n event.Network) { j.emit(event.Event{Type: event.NetworkTried, Network: &n}) },
		Tampered: j.tampered,
	}
	if rel, err := filepath.Rel(g.Workspace, j.Dir.Path()); err == nil && filepath.IsLocal(rel) {
		g.Hidden = append(g.Hidden, j.Dir.Path())
	}
	for _, t := range j.plan.Tools {
		if filepath.IsAbs(t.Command[0]) {
			g.Programs = append(g.Programs, filepath.Dir(t.Command[0]))
		}
	}
	return g, nil
}

// closeSandboxes gives up what the job's commands were confined by.
func (j *job) closeSandboxes() error {
	var errs []error
	for _, c := range j.narrower {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, j.sandbox.Close())...)
}
