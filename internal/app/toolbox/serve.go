package toolbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/jsprogram"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// servers returns the MCP servers of the manifest.
func (s *settings) servers() []tasks.MCPServer {
	if s.plan == nil {
		return nil
	}
	return s.plan.MCP
}

// scripts returns the tool files and plugins of the manifest that a call needs: plugins have hooks for
// all calls.
func (s *settings) scripts(call string) (of tasks.Scripts, needed bool) {
	if s.plan == nil {
		return of, false
	}
	of = s.plan.Scripts
	return of, of.Used() && (call == "" || len(of.Plugins) > 0 || !permission.Reserved(call) || strings.EqualFold(call, "batch"))
}

// openScripts compiles the tool files and plugins. Those of a repository are as of its HEAD;
// without any commit, files that the manifest names without workspace: are as they are, as in a run.
func openScripts(ctx context.Context, w world.World, others *confinement.Processes, s tasks.Scripts, g confinement.Env, base string) (*extension.Scripts, error) {
	unborn := false
	root, read := g.Workspace, func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(g.Workspace, filepath.FromSlash(name)))
	}
	repo, err := repository(w, g.Workspace)
	if err != nil {
		return nil, err
	}
	if repo != nil {
		head, err := repo.Git.Head()
		if err != nil {
			return nil, err
		}
		unborn = head.Unborn
		root, read = repo.Root(), func(name string) ([]byte, error) { return repo.File(head.Hash, name) }
	}
	beneath := root
	if unborn && !s.OfWorkspace() {
		beneath = ""
	}
	p, err := jsprogram.Compile(s, beneath, read, filepath.Join(base, "js"))
	if err != nil {
		return nil, err
	}
	scripts := p.Config(ctx, others, s, g, root, base, "tool@js")
	scripts.Fail = func(error) {}
	return scripts, nil
}

// serve starts the MCP servers, tool files and plugins of a manifest as a job would, returns
// their tools, and adds their hooks: for a call only the servers whose tool it can be, without a
// call ("") all that the profile needs. stop ends them.
func serve(ctx context.Context, w world.World, o load.ProfileOptions, mode string, env *tools.Env, set *settings, end func(error), call string) (served []tools.Tool, stop func(), err error) {
	needed := slices.DeleteFunc(slices.Clone(set.servers()), func(s tasks.MCPServer) bool {
		return call != "" && !strings.EqualFold(call, "batch") && !strings.HasPrefix(strings.ToLower(call), strings.ToLower(s.Name)+"_")
	})
	of, scripted := set.scripts(call)
	if len(needed) == 0 && !scripted || env.Workspace == nil {
		return nil, func() {}, nil
	}
	if len(needed) > 0 && !scripted && !strings.EqualFold(call, "batch") && call != "" && !env.Profile.MayCall(call) { // the denial of a call that is never made
		return []tools.Tool{tools.NewExternal(tools.External{Name: call, Extension: needed[0].Name})}, func() {}, nil
	}
	g, base, err := ground(ctx, w, o, mode, env, set, end)
	if err != nil {
		return nil, nil, err
	}
	processes := &confinement.Processes{}
	var scripts *extension.Scripts
	if scripted {
		if scripts, err = openScripts(ctx, w, processes, of, g, base); err != nil {
			return nil, nil, errors.Join(fault.New(event.ExitFailed, "tool files and plugins: %w", err), os.RemoveAll(base))
		}
		scripts.Load.Settings = jsprogram.Settings(set.plan, env.Profile, env.Model, tasks.DefaultAgent)
	}
	started, err := extension.Start(ctx, extension.Config{
		Servers: needed, Scripts: scripts, Profiles: []permission.Profile{env.Profile}, Custom: set.custom, Version: w.Version, Sandbox: string(g.Level), Proxy: w.Proxy, Hold: env.Redact.Hold,
		Launch: func(ctx context.Context, s tasks.MCPServer) (proc.Command, error) {
			own := g
			own.Profile, own.Tools = confinement.ProcessProfile(g.Profile, "mcp."+s.Name, s.Process), nil
			return processes.Launch(ctx, own, s.Process, base, "tool@"+s.Name)
		},
		Changed: func() {}, Emit: func(event.Extension) {}, Now: w.Now,
		Warn: func(text string) { fmt.Fprintln(w.Err, printable.Text(env.Redact.Text("millhand: "+text))) },
	})
	stop = func() {
		started.Close()
		if err := errors.Join(processes.Close(), os.RemoveAll(base)); err != nil {
			fmt.Fprintln(w.Err, printable.Text("millhand: "+err.Error()))
		}
	}
	if err != nil {
		stop()
		return nil, nil, fault.New(event.ExitFailed, "%w", err)
	}
	env.Hooks = started.Hooks("")
	return started.Tools("", ""), stop, nil
}

// extends reports whether the manifest has programs that serve jobs.
func (s *settings) extends() bool {
	return s.plan != nil && s.plan.StartsProcesses()
}
