package toolbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
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

// compile compiles the tool files and plugins. Those of a repository are as of its HEAD;
// without any commit, files that the manifest names without workspace: are as they are, as in a run.
func (s *site) compile(ctx context.Context, of tasks.Scripts) (*extension.Scripts, error) {
	unborn := false
	root, read := s.ground.Workspace, func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(s.ground.Workspace, filepath.FromSlash(name)))
	}
	repo, err := s.repo()
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
	if unborn && !of.OfWorkspace() {
		beneath = ""
	}
	p, err := jsprogram.Compile(of, beneath, read, filepath.Join(s.dir, "js"))
	if err != nil {
		return nil, err
	}
	scripts := p.Config(ctx, &s.processes, of, s.ground, root, s.programs(), "tool@js")
	scripts.Fail = func(error) {}
	return scripts, nil
}

// serve starts the MCP servers, tool files and plugins of the manifest as a job would, returns
// their tools, and adds their hooks: for a call only the servers whose tool it can be, for the
// list all that the profile needs.
func (s *site) serve(ctx context.Context) ([]tools.Tool, error) {
	needed := slices.DeleteFunc(slices.Clone(s.set.servers()), func(m tasks.MCPServer) bool {
		return s.call != "" && !strings.EqualFold(s.call, "batch") && !strings.HasPrefix(strings.ToLower(s.call), strings.ToLower(m.Name)+"_")
	})
	of, scripted := s.set.scripts(s.call)
	if len(needed) == 0 && !scripted || s.env.Workspace == nil {
		return nil, nil
	}
	if len(needed) > 0 && !scripted && !strings.EqualFold(s.call, "batch") && s.call != "" && !s.env.Profile.MayCall(s.call) { // the denial of a call that is never made
		return []tools.Tool{tools.NewExternal(tools.External{Name: s.call, Extension: needed[0].Name})}, nil
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	var scripts *extension.Scripts
	if scripted {
		var err error
		if scripts, err = s.compile(ctx, of); err != nil {
			return nil, fault.New(event.ExitFailed, "tool files and plugins: %w", err)
		}
		scripts.Load.Settings = jsprogram.Settings(s.set.plan, s.env.Profile, s.env.Model, tasks.DefaultAgent)
	}
	started, err := extension.Start(ctx, extension.Config{
		Servers: needed, Scripts: scripts, Profiles: []permission.Profile{s.env.Profile}, Custom: s.set.custom,
		Version: s.w.Version, Sandbox: string(s.ground.Level), Proxy: s.w.Proxy, Hold: s.env.Redact.Hold,
		Launch: func(ctx context.Context, m tasks.MCPServer) (proc.Command, error) {
			own := s.ground
			own.Profile, own.Tools = confinement.ProcessProfile(own.Profile, "mcp."+m.Name, m.Process), nil
			return s.processes.LaunchServer(ctx, own, m, s.programs(), "tool")
		},
		Changed: func() {}, Emit: func(event.Extension) {}, Now: s.w.Now, Warn: s.warn,
	})
	s.stops = append(s.stops, started.Close)
	if err != nil {
		return nil, fault.New(event.ExitFailed, "%w", err)
	}
	s.env.Hooks = started.Hooks("")
	return started.Tools("", ""), nil
}

// extends reports whether the manifest has programs that serve jobs.
func (s *settings) extends() bool {
	return s.plan != nil && s.plan.StartsProcesses()
}
