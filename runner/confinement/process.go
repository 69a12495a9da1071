package confinement

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
)

// serverGrace is how long a server may take to end after its input was closed, and after
// SIGTERM.
const serverGrace = proc.Grace

// ProcessProfile returns the profile that confines a process: that of the job's commands, with
// the process's own network, caches and paths. Its maximum profiles limit these, too. The name
// is for messages.
func ProcessProfile(p permission.Profile, name string, s tasks.Process) permission.Profile {
	own := permission.Profile{Cache: s.Cache}
	if p.Max != nil {
		own = own.Under(*p.Max)
	}
	p = p.Clone()
	p.Name = name
	p.Network, p.Setup, p.Env, p.Cache = s.Network, nil, nil, own.Cache
	allow := func(permissionName string, dirs []string) {
		for _, dir := range dirs {
			p.Rules = append(p.Rules, permission.Rule{Permission: permissionName, Pattern: filepath.Join(dir, "**"), Effect: permission.Allow, Source: p.Name})
		}
	}
	allow(permission.ExternalDirectory, s.Write)
	allow(permission.ExternalRead, s.Read)
	return p
}

// Processes are the programs beside a model, each of which has a sandbox of its own.
type Processes struct {
	mu     sync.Mutex // programs are launched in parallel
	opened []process
}

// process is what a program has until it is closed.
type process struct {
	box  *Confinement // nil if it could not be opened
	dirs []string     // private ones
}

// Close releases what the programs needed, after the last of them has ended.
func (p *Processes) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, one := range p.opened {
		errs = append(errs, one.box.Close())
		for _, dir := range one.dirs {
			errs = append(errs, sharedfile.RemoveAll(dir))
		}
	}
	p.opened = nil
	return errors.Join(errs...)
}

// Launch opens the sandbox of a process, in which the workspace is read-only if neither the profile nor the
// process's own key allows to write it. See launch.
func (p *Processes) Launch(ctx context.Context, g Env, s tasks.Process, work, own string) (proc.Command, error) {
	if !g.readOnly() {
		g.lockFor(s)
	}
	return p.launch(ctx, g, s, work, own)
}

// launch opens the sandbox of a process, given the environment of the job's commands under
// the process's profile, and returns the command that starts it there. Its
// private directories have a name of their own in a directory for those of jobs.
//
// All programs beside the model are started here, so here the job ends if the machine refuses to start one.
func (p *Processes) launch(ctx context.Context, g Env, s tasks.Process, work, own string) (command proc.Command, err error) {
	explain := func(err error) error {
		if err = proc.OfStart(err); proc.IsMachine(err) {
			g.Fail(fmt.Errorf("%s: %w", g.Profile.Name, err))
		}
		return err
	}
	defer func() { err = explain(err) }()
	g.Home, g.Tmp, g.Caches = filepath.Join(work, "home", own), filepath.Join(work, "tmp", own), filepath.Join(work, "caches", own)
	if g.Within != nil { // they count for the job's disk limit
		g.Within.growth.Add([]string{g.Home, g.Tmp}, []string{g.Caches})
	}
	g.Beside = g.shown(slices.Concat(g.Beside, s.Readable), s)
	if err := g.open(s); err != nil {
		return proc.Command{}, err
	}
	has := process{dirs: []string{g.Home, g.Tmp}}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.opened = append(p.opened, has)
	}()
	if err := g.Prepare(); err != nil {
		return proc.Command{}, err
	}
	box, err := Open(ctx, g)
	if err != nil {
		return proc.Command{}, err
	}
	has.box = box
	if err := box.opens(s); err != nil {
		return proc.Command{}, err
	}
	env := proc.Set(box.Env, "HOME", g.Home)
	for name, value := range s.Environment {
		env = proc.Set(env, name, value)
	}
	return proc.Command{
		Args: s.Command, Dir: g.Workspace, Env: env, Grace: serverGrace, Confine: box.Confine(), Disk: box.Disk(),
		Explain: func(err error) error { return explain(hidden(err, s.Command[0], g.Workspace, env, g.Profile.Name)) },
	}, nil
}

// hidden adds to the error of a process that did not start that its program exists, where the sandbox
// hides it; key is that of the process in the manifest.
func hidden(err error, program, dir string, env []string, key string) error {
	text := err.Error() // of the sandbox's child
	if !strings.HasSuffix(text, syscall.ENOENT.Error()) && !strings.HasSuffix(text, syscall.EACCES.Error()) {
		return err
	}
	path, found := program, error(nil)
	if !strings.Contains(program, "/") {
		path, found = proc.Look(program, env)
	} else if !filepath.IsAbs(program) {
		path = filepath.Join(dir, program)
	}
	real, missing := filepath.EvalSymlinks(path)
	if found != nil || missing != nil {
		return err
	}
	dirs := filepath.Dir(path)
	if of := filepath.Dir(real); of != dirs {
		dirs += " and " + of
	}
	return fmt.Errorf("%w: the file exists, but the sandbox hides it; add its directory (%s) to %s.read", err, dirs, key)
}

// Spared returns what lets the job continue if the machine refuses to start a process that is optional.
func (g *Env) Spared(optional bool) func(error) {
	fail := g.Fail
	return func(err error) {
		if !optional || !proc.IsMachine(err) {
			fail(err)
		}
	}
}

// opens checks that the user of a process can open the paths of the process.
func (c *Confinement) opens(s tasks.Process) error {
	own := slices.Concat(s.Read, s.Write)
	for _, r := range s.Readable {
		own = append(own, r.Path)
	}
	for _, l := range c.left {
		if slices.ContainsFunc(own, func(p string) bool { return filepath.Clean(p) == l.Path }) {
			return l.Why
		}
	}
	return nil
}

// shown returns what a process can read next to the manifest. Files in its own paths are not
// hidden because of their names: packages have files such as token.py.
func (g *Env) shown(all []tasks.Readable, s tasks.Process) []tasks.Readable {
	granted := func(path string) bool {
		within := func(dir string) bool { return pathtree.Within(path, dir) }
		return slices.ContainsFunc(s.Read, within) && g.Profile.Allows(permission.ExternalRead, path) ||
			slices.ContainsFunc(s.Write, within) && g.Profile.Allows(permission.ExternalDirectory, path)
	}
	shown := make([]tasks.Readable, len(all))
	for i, r := range all {
		shown[i] = tasks.Readable{Path: r.Path, Hidden: slices.DeleteFunc(slices.Clone(r.Hidden), granted)}
	}
	return shown
}

// open adds the single files that a process may read, and checks its paths: the sandbox
// ignores those that are missing.
func (g *Env) open(s tasks.Process) error {
	for _, of := range []struct {
		key   string
		paths []string
	}{{"read", s.Read}, {"write", s.Write}} {
		for _, p := range of.paths {
			info, err := os.Stat(p)
			switch {
			case err != nil:
				return fmt.Errorf("%s path: %w", of.key, err)
			case info.IsDir():
			case of.key == "write":
				return fmt.Errorf("write path %s is not a directory", p)
			case g.Profile.Allows(permission.ExternalRead, filepath.Join(p, "x")):
				g.Readable = append(g.Readable, p)
			}
		}
	}
	return nil
}

// FoundServers returns the language servers of a plan that are used in a workspace: of those that are known, the ones whose program
// is on the PATH of commands.
func FoundServers(of tasks.LSP, getenv func(string) string, level sandbox.Level, workspace string) tasks.LSP {
	env, g := proc.ChildEnv(getenv, nil), Env{Level: level, Dirs: Dirs{Workspace: workspace}}
	of.Servers = slices.DeleteFunc(slices.Clone(of.Servers), func(s tasks.LanguageServer) bool {
		if !s.IfFound {
			return false
		}
		found := errors.New("not looked for")
		err := g.Look(func() { _, found = proc.Look(s.Process.Command[0], env) })
		return errors.Join(err, found) != nil
	})
	return of
}

// Look calls a function that looks for files with the rights of commands.
func (g *Env) Look(find func()) error {
	if g.Confines() {
		return sandbox.As(g.Workspace, find)
	}
	find()
	return nil
}

// LanguageProfile returns the profile that confines a language server.
func LanguageProfile(p permission.Profile, s tasks.LanguageServer) permission.Profile {
	return ProcessProfile(p, "lsp."+s.Name, s.Process)
}

// lockLanguage makes the workspace read-only for a language server, whatever the profile.
func (g *Env) lockLanguage() { g.Locked, g.Tools = []string{g.Workspace}, nil }

// LaunchLanguage is Launch for a language server of a job or call, which can't write to the workspace.
func (p *Processes) LaunchLanguage(ctx context.Context, g Env, s tasks.LanguageServer, work, of string) (proc.Command, error) {
	for _, dir := range s.Process.Write {
		if Overlap(dir, g.Workspace) {
			return proc.Command{}, fmt.Errorf("write path %s: the workspace is read-only for language servers; remove it from lsp.%s", dir, s.Name)
		}
	}
	g.lockLanguage()
	return p.Launch(ctx, g, s.Process, work, of+"@lsp."+s.Name)
}

// LaunchServer is Launch for an MCP server. of is the job or call that it belongs to: private directories are those of one kind of
// process, so that servers with the same name don't read what the other has written.
func (p *Processes) LaunchServer(ctx context.Context, g Env, s tasks.MCPServer, work, of string) (proc.Command, error) {
	return p.Launch(ctx, g, s.Process, work, of+"@mcp."+s.Name)
}

// HookProfile returns the profile that confines a hook: that of the job's commands without
// its environment variables.
func HookProfile(p permission.Profile, h tasks.Hook) permission.Profile {
	return ProcessProfile(p, "hooks."+h.Name, tasks.Process{Network: p.Network, Cache: p.Cache})
}

// LaunchHook is Launch for a hook. of is the job or call that it belongs to.
func (p *Processes) LaunchHook(ctx context.Context, g Env, h tasks.Hook, work, of string) (proc.Command, error) {
	g.Tools = nil
	s, own := hookProcess(h, of)
	return p.Launch(ctx, g, s, work, own)
}

// LaunchRunHook is LaunchHook for a hook of a run, which can write its own directory, whatever the profile.
func (p *Processes) LaunchRunHook(ctx context.Context, g Env, h tasks.Hook, work string) (proc.Command, error) {
	s, own := hookProcess(h, "")
	return p.launch(ctx, g, s, work, own)
}

// hookProcess returns the process of a hook, and the name of its private directories, which no job or server
// has.
func hookProcess(h tasks.Hook, of string) (tasks.Process, string) {
	return tasks.Process{Command: h.Command, Readable: h.Readable, Workspace: h.Workspace}, of + "@hook." + hookDirName.Replace(h.Name)
}

var hookDirName = strings.NewReplacer("[", ".", "]", "")
