package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/machine"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// site is where the programs of a single call run: its commands, and the servers and hooks of a manifest. What they are confined
// to is decided once, before the first of them starts: a call without any needs neither a sandbox nor directories.
type site struct {
	w    world.World
	opts tasks.Options // with the policies
	set  *settings
	env  *tools.Env                   // of the settings
	mode string                       // of the sandbox, as the options ask for it
	call string                       // name of the tool; "" if all are listed
	repo func() (*gitops.Repo, error) // that the workspace is in; nil for none
	end  context.CancelCauseFunc      // ends the call

	ground    confinement.Env // of the call's own commands, after open
	dir       string          // private to the call; "" before open
	processes confinement.Processes
	stops     []func() // of what was started, in this order
}

// newSite loads the profile, the policies and the manifest of a call.
func newSite(ctx context.Context, w world.World, o Options) (*site, error) {
	profile, opts, err := load.Profile(ctx, w, o.ProfileOptions)
	if err != nil {
		return nil, err
	}
	set, err := readSettings(ctx, w, o, opts)
	if err != nil {
		return nil, err
	}
	s := &site{w: w, opts: opts, set: set, env: &set.env, mode: o.Sandbox}
	s.env.Profile = profile
	s.repo = sync.OnceValues(func() (*gitops.Repo, error) { return repository(w, s.env.Workspace.Dir()) })
	return s, nil
}

// warn prints a warning, without secrets.
func (s *site) warn(text string) {
	fmt.Fprintln(s.w.Err, printable.Text(s.env.Redact.Text("millhand: "+text)))
}

// open decides what the programs of the call are confined to, and creates its private directory, unless that is done.
func (s *site) open(ctx context.Context) error {
	if s.dir != "" {
		return nil
	}
	if err := machine.Check(s.w); err != nil {
		return err
	}
	mode, err := levels.Mode(s.mode, s.opts.Policies)
	if err != nil {
		return err
	}
	level, state, err := levels.Choose(ctx, mode, !s.env.Profile.Hides("bash") || s.set.extends(), levels.Probing(ctx, mode).End)
	if err != nil {
		return err
	}
	if state.Warning != "" {
		s.warn(state.Warning)
	}
	repo, err := s.repo()
	if err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "millhand-tool-"); err != nil {
		return fault.New(event.ExitInternal, "create a private directory: %w", err)
	}
	for _, dir := range []string{s.programs(), filepath.Join(s.programs(), "home")} { // root's can run as another user
		if err := confinement.MakePrivate(dir); err != nil {
			return fault.New(event.ExitInternal, "create a private directory: %w", err)
		}
	}
	s.ground = confinement.Env{
		Level: level,
		Dirs: confinement.Dirs{
			Workspace: s.env.Workspace.Dir(), InPlace: true,
			Home: filepath.Join(s.dir, "home"), Tmp: filepath.Join(s.dir, "tmp"), Caches: filepath.Join(s.dir, "caches"),
		},
		Rules:   confinement.Rules{Profile: s.env.Profile, Limits: tasks.DefaultLimits()},
		Getenv:  s.w.Getenv,
		Now:     s.w.Now,
		Private: s.set.private,
		Tell:    func(event.Network) {},
		Fail: func(err error) {
			if errors.As(err, new(*permission.Error)) { // otherwise it is the error of the call
				s.end(err)
			}
		},
	}
	s.groundIn(repo)
	return nil
}

// groundIn adds what commands can reach, and what they can't, of the repository, the manifest and saved outputs.
func (s *site) groundIn(repo *gitops.Repo) {
	g := &s.ground
	if s.set.plan != nil {
		g.Tools = s.set.plan.Tools
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
	g.Hidden = slices.Clip(slices.Compact(g.Hidden))
	if s.env.Outputs != nil && s.env.Outputs.Mkdir(".") == nil {
		g.Readable = []string{s.env.Outputs.Path()}
	}
}

// programs is the directory for the private directories of servers and hooks, each of which has its own.
func (s *site) programs() string { return filepath.Join(s.dir, "programs") }

// close ends what was started, the last of it first, and removes what it had.
func (s *site) close() {
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
	err := s.processes.Close()
	if s.dir != "" {
		err = errors.Join(err, sharedfile.RemoveAll(s.dir))
	}
	if err != nil {
		s.warn(err.Error())
	}
}
