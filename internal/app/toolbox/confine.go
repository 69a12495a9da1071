package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/machine"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// confine gives a single call the sandbox of a session's commands. A violation
// that the level can't prevent ends the call. done removes the sandbox.
func confine(ctx context.Context, w world.World, o load.ProfileOptions, mode string, env *tools.Env, set *settings, end func(error), call string) (done func(), err error) {
	g, base, err := ground(ctx, w, o, mode, env, set, end)
	if err != nil {
		return nil, err
	}
	if !set.granted(call) {
		g.LockWorkspace()
	}
	if err := g.Prepare(); err != nil {
		os.RemoveAll(base)
		return nil, fault.Wrap(event.ExitInternal, err)
	}
	box, err := confinement.Open(ctx, g)
	switch {
	case errors.Is(err, sandbox.ErrAbsent):
		os.RemoveAll(base)
		return nil, fault.Wrap(event.ExitPolicy, err)
	case err != nil:
		failed := err // of each command of the call
		env.ChildEnv = g.Env
		env.Commands.Confine = func([]string, []string, string) (*proc.Confined, error) { return nil, failed }
		return func() { os.RemoveAll(base) }, nil //nolint:nilerr // see failed
	}
	for _, l := range box.Unopened(g) {
		fmt.Fprintln(w.Err, printable.Text("millhand: "+l.Why.Error()))
	}
	env.ChildEnv, env.Commands = box.Env, box.Commands()
	return func() {
		box.Close() //nolint:errcheck // the call has ended
		os.RemoveAll(base)
	}, nil
}

// ground returns what a single call's commands are confined to, and the directory with
// their private ones, which the caller removes.
func ground(ctx context.Context, w world.World, o load.ProfileOptions, sandboxFlag string, env *tools.Env, set *settings, end func(error)) (g confinement.Env, base string, err error) {
	if err := machine.Check(w); err != nil {
		return g, "", err
	}
	opts, err := load.TaskOptions(ctx, w, o.PolicyOptions)
	if err != nil {
		return g, "", err
	}
	mode, err := levels.Mode(sandboxFlag, opts.Policies)
	if err != nil {
		return g, "", err
	}
	level, state, err := levels.Choose(ctx, mode, !env.Profile.Hides("bash") || set.extends(), levels.Probing(ctx, mode).End)
	if err != nil {
		return g, "", err
	}
	if state.Warning != "" {
		fmt.Fprintln(w.Err, printable.Text("millhand: "+state.Warning))
	}
	repo, err := repository(w, env.Workspace.Dir())
	if err != nil {
		return g, "", err
	}
	if base, err = os.MkdirTemp("", "millhand-tool-"); err != nil {
		return g, "", fault.New(event.ExitInternal, "create a private directory: %w", err)
	}
	if os.Geteuid() == 0 { // whose commands can run as another user
		if err := os.Chmod(base, 0o711); err != nil {
			os.RemoveAll(base)
			return g, "", fault.New(event.ExitInternal, "create a private directory: %w", err)
		}
	}
	g = confinement.Env{
		Level: level,
		Dirs: confinement.Dirs{
			Workspace: env.Workspace.Dir(), InPlace: true,
			Home: filepath.Join(base, "home"), Tmp: filepath.Join(base, "tmp"), Caches: filepath.Join(base, "caches"),
		},
		Rules:   confinement.Rules{Profile: env.Profile, Limits: tasks.DefaultLimits()},
		Getenv:  w.Getenv,
		Now:     w.Now,
		Private: set.private,
		Tell:    func(event.Network) {},
		Fail: func(err error) {
			if errors.As(err, new(*permission.Error)) { // otherwise it is the error of the call
				end(err)
			}
		},
	}
	if set.plan != nil {
		g.Tools = set.plan.Tools
	}
	if repo != nil {
		g.Git, g.Tree = []string{repo.Git.Own, repo.Git.Common}, repo.Root()
		if below, err := repo.Below(g.Workspace); err == nil {
			g.Submodules = repo.Submodules(below)
		}
	}
	for _, dir := range []string{g.Workspace, cmp.Or(g.Tree, g.Workspace)} {
		g.Hidden = append(g.Hidden, filepath.Join(dir, ".millhand"))
	}
	slices.Sort(g.Hidden)
	g.Hidden = slices.Compact(g.Hidden)
	if env.Outputs != nil && env.Outputs.Mkdir(".") == nil {
		g.Readable = []string{env.Outputs.Path()}
	}
	return g, base, nil
}
