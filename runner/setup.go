package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// setUp runs the hooks of job_start and the setup commands. What they leave in the workspace is not
// the agent's.
func (r jobHooks) setUp(ctx context.Context) *ending.Stop {
	j, s := r.job, r.site
	fresh := !s.InPlace // otherwise it may be as an earlier process left it
	start, setup := r.start, func(ctx context.Context) *ending.Stop { return j.setup(ctx, s) }
	if slices.ContainsFunc(j.plan.Hooks, func(h tasks.Hook) bool { return h.On == tasks.JobStart }) {
		start = func(ctx context.Context) *ending.Stop { return s.diff.By(ctx, event.ByHook, fresh, r.start) }
	}
	if len(j.spec.Setup) > 0 {
		setup = func(ctx context.Context) *ending.Stop {
			return s.diff.By(ctx, event.BySetup, fresh && !s.hasHooks(tasks.JobStart), func(ctx context.Context) *ending.Stop { return j.setup(ctx, s) })
		}
	}
	return ending.First(ctx, start, setup)
}

// setupOf returns what the setup commands in a site get.
func (j *job) setupOf(ctx context.Context, s *site, output string) (confinement.Setup, error) {
	if output == "" {
		var dirty []string
		var err error
		if s.InPlace {
			if dirty, err = preflight.DirtyBelow(ctx, s.Tree, ""); err != nil {
				return confinement.Setup{}, err
			}
		}
		if output, err = preflight.ModelOutput(ctx, j.spec, s.origin, s.base, dirty); err != nil {
			return confinement.Setup{}, err
		}
	}
	found, err := preflight.DetectIn(s.Tree.Root(), s.space.Dir())
	if err != nil {
		return confinement.Setup{}, err
	}
	u, err := confinement.NewSetup(j.spec, found, output, j.opts.Getenv)
	if err != nil {
		j.warn(fmt.Sprintf("the registries of setup commands: %v", err))
	}
	return u, nil
}

// confineSetup creates the sandbox of the setup commands in a site: with the files and limits
// of another one there, and the network and the variables of setup. The caller closes it
// when they have ended.
func (j *job) confineSetup(ctx context.Context, s *site, g confinement.Env, within *confinement.Confinement, output string) (*confinement.Confinement, error) {
	u, err := j.setupOf(ctx, s, output)
	if err != nil {
		return nil, err
	}
	g.Profile, g.Within, g.Setup = u.Profile, within, &u
	for _, dir := range u.Settings.Dirs {
		if dir = g.UserCache(dir); dir != "" {
			g.Readable = append(slices.Clip(g.Readable), dir)
		}
	}
	c, err := confinement.Open(ctx, g)
	if err != nil {
		return nil, err
	}
	if err := j.equip(c, u, g.Home); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// equip gives the confinement of setup commands the user's settings of registries, and their
// own variables.
func (j *job) equip(c *confinement.Confinement, u confinement.Setup, home string) error {
	if err := c.UseRegistries(u, home); err != nil {
		return err
	}
	if u.Output != "" && len(j.spec.SetupEnv) > 0 {
		j.warn(fmt.Sprintf("setup commands don't get setup_env (%s): %s", strings.Join(j.spec.SetupEnv, ", "), u.Output))
		return nil
	}
	for _, name := range j.spec.SetupEnv {
		c.Env = proc.Set(c.Env, name, j.opts.Getenv(name))
	}
	return nil
}
