package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/preflight"
)

// setupTimeout is the time limit of one setup command.
const setupTimeout = 30 * time.Minute

// Setup runs the setup commands of a job.
type Setup struct {
	Workdir *Workdir
	Within  *confinement.Confinement // that of the task's own commands there
}

// Run runs the task's setup commands. The first failure ends the job before the first
// model request.
func (u Setup) Run(ctx context.Context) (end *ending.Stop) {
	w := u.Workdir
	j := w.job
	ctx, cancel := j.TimeLimit.In(ctx)
	defer cancel()
	if len(j.Spec.Setup) == 0 {
		return nil
	}
	internal := func(err error) *ending.Stop {
		return ending.Fault(event.CodeInternal, fmt.Errorf("confine the setup commands: %w", err))
	}
	g, err := w.Ground(j.Spec.Profile)
	if err != nil {
		return internal(err)
	}
	box, err := u.confine(ctx, g, "")
	if ctx.Err() != nil {
		return ending.Of(ctx)
	}
	if err != nil {
		return internal(err)
	}
	defer func() { // the agent's commands must not find its proxy
		if err := box.Close(); err != nil && end == nil {
			end = internal(err)
		}
	}()
	for _, line := range j.Spec.Setup {
		run := event.Command{Kind: event.SetupCommand, Run: textcut.Head(line, MaxCommand, "…")}
		j.Emit(event.Event{Type: event.CommandStarted, Command: new(run)})
		v, err := w.command(ctx, box, line, setupTimeout)
		if err != nil && ctx.Err() == nil {
			return ending.Fault(event.CodeInternal, err)
		}
		if err != nil {
			end := ending.Of(ctx)
			end.Detail = fmt.Sprintf("setup command %q: %s", line, end.Detail)
			return end
		}
		run.ExitCode, run.ElapsedMS = &v.ExitCode, v.ElapsedMS
		j.Emit(event.Event{Type: event.CommandEnded, Command: &run})
		if !v.Passed {
			reason := fmt.Sprintf("setup command %q failed (%s)", line, commands.ExitText(v.Verify)) + commands.SetupFault(line, v)
			if v.Tail != "" {
				reason += ":\n" + commands.WithOutput(j.opts.Dir, v.Tail, v.OutputPath)
			}
			return &ending.Stop{Code: event.CodeFailed, Detail: reason}
		}
	}
	return nil
}

// settings returns what the setup commands in a site get.
func (u Setup) settings(ctx context.Context, output string) (confinement.Setup, error) {
	w := u.Workdir
	j := w.job
	if output == "" {
		var dirty []string
		var err error
		if w.InPlace {
			if dirty, err = preflight.DirtyBelow(ctx, w.Tree, ""); err != nil {
				return confinement.Setup{}, err
			}
		}
		if output, err = preflight.ModelOutput(ctx, j.Spec, w.Origin, w.Base, dirty); err != nil {
			return confinement.Setup{}, err
		}
	}
	found, err := ecosystem.DetectAll(w.Tree.Root(), w.Space.Dir())
	if err != nil {
		return confinement.Setup{}, err
	}
	made, err := confinement.NewSetup(j.Spec, found, output, j.opts.Getenv)
	if err != nil {
		j.Warn(fmt.Sprintf("the registries of setup commands: %v", err))
	}
	return made, nil
}

// confine creates the sandbox of the setup commands in a site: with the files and limits
// of another one there, and the network and the variables of setup. The caller closes it
// when they have ended.
func (u Setup) confine(ctx context.Context, g confinement.Env, output string) (*confinement.Confinement, error) {
	own, err := u.settings(ctx, output)
	if err != nil {
		return nil, err
	}
	g.Profile, g.Within, g.Setup = own.Profile, u.Within, &own
	for _, dir := range own.Settings.Dirs {
		if dir = g.UserCache(dir); dir != "" {
			g.Readable = append(slices.Clip(g.Readable), dir)
		}
	}
	c, err := confinement.Open(ctx, g)
	if err != nil {
		return nil, err
	}
	if err := u.Workdir.job.equip(c, own, g.Home); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// equip gives the confinement of setup commands the user's settings of registries, and their
// own variables.
func (j *Job) equip(c *confinement.Confinement, u confinement.Setup, home string) error {
	if err := c.UseRegistries(u, home); err != nil {
		return err
	}
	if u.Output != "" && len(j.Spec.SetupEnv) > 0 {
		j.Warn(fmt.Sprintf("setup commands don't get setup_env (%s): %s", strings.Join(j.Spec.SetupEnv, ", "), u.Output))
		return nil
	}
	for _, name := range j.Spec.SetupEnv {
		c.Env = proc.Set(c.Env, name, j.opts.Getenv(name))
	}
	return nil
}
