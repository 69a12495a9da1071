package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// extensions are what the sessions of a job use beside the model and the built-in tools.
type extensions struct {
	job       *Job
	site      *site.Site
	set       *extension.Set       // nil without any
	languages *extension.Languages // likewise
	processes confinement.Processes
}

// start starts what the job's sessions use beside the model.
func (x *extensions) start(ctx context.Context, fail context.CancelCauseFunc) *ending.Stop {
	j := x.job
	x.openLanguages(ctx)
	if len(j.Plan.MCP) == 0 && !j.Plan.Scripts.Used() {
		return nil
	}
	main := x.job.ownSpec()
	scripts, err := x.launchScripts(ctx, fail)
	if err != nil {
		failed := extension.NotCompiled(err)
		j.Emit(event.Event{Type: event.ExtensionChanged, Extension: &failed})
		return ending.Fault(event.CodeExtension, fmt.Errorf("tool files and plugins: %w", proc.OfStart(err)))
	}
	c := extension.Config{
		Servers: j.Plan.MCP, Profiles: []permission.Profile{main.task.Profile}, Custom: j.run.equipment.Custom,
		Version: j.run.version, Sandbox: string(j.opts.Level), Proxy: j.run.equipment.Proxy, Hold: j.opts.Redact.Hold,
		Launch: func(ctx context.Context, s tasks.MCPServer) (proc.Command, error) {
			g, err := x.site.Ground(confinement.ProcessProfile(main.task.Profile, "mcp."+s.Name, s.Process))
			if err != nil {
				return proc.Command{}, err
			}
			g.Within, g.Tools, g.Fail = x.site.Sandboxes.Own, nil, g.Spared(s.Optional)
			return x.processes.LaunchServer(ctx, g, s, j.opts.Work, j.Spec.ID)
		},
		Scripts: scripts,
		Changed: func() { j.Read("tools that an MCP server describes in another way since the job started") },
		Emit:    func(e event.Extension) { j.Emit(event.Event{Type: event.ExtensionChanged, Extension: &e}) },
		Warn:    j.Warn, Now: j.opts.Now,
	}
	for _, a := range j.Plan.Agents {
		c.Profiles = append(c.Profiles, x.job.childSpec("", a.Name, "").task.Profile)
	}
	x.set, err = extension.Start(ctx, c)
	switch {
	case err != nil && ctx.Err() != nil:
		return ending.Of(ctx)
	case err != nil:
		return ending.Fault(event.CodeExtension, err)
	}
	return nil
}

// tools returns the tools of a session.
func (x *extensions) tools(ctx context.Context, env *tools.Env, s sessionSpec) (*tools.Registry, error) {
	more := x.job.run.equipment.Custom
	session, agent := x.job.SessionID(s.name), s.task.Agent
	follows := x.set.Follows()
	if !follows {
		more = slices.Concat(more, x.set.Tools(session, agent))
	}
	all, err := tools.For(env, more...)
	if err == nil && follows {
		all.Follow(x.set.Refresh(ctx, session, agent))
	}
	return all, err
}

// close ends what the job's sessions used beside the model.
func (x *extensions) close() {
	x.set.Close()
	x.languages.Close()
	if err := x.processes.Close(); err != nil {
		x.job.Warn(fmt.Sprintf("clean up after the extensions: %v", err))
	}
}

// none reports whether only calls and commands of the job can change its files: it has no extensions,
// language servers and hooks.
func (x *extensions) none() bool {
	return x.set == nil && x.languages == nil && x.site.Hooks == nil
}
