package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/printable"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// servers returns the MCP servers of the manifest.
func (s *toolSettings) servers() []tasks.MCPServer {
	if s.plan == nil {
		return nil
	}
	return s.plan.MCP
}

// serveTools starts the MCP servers of a manifest as a job would, and returns their tools: for a
// call only the servers whose tool it can be, without a call ("") all that the profile
// needs. stop ends them.
func serveTools(ctx context.Context, w World, o profileOptions, mode string, env *tools.Env, settings *toolSettings, end func(error), call string) (served []tools.Tool, stop func(), err error) {
	needed := slices.DeleteFunc(slices.Clone(settings.servers()), func(s tasks.MCPServer) bool {
		return call != "" && !strings.EqualFold(call, "batch") && !strings.HasPrefix(strings.ToLower(call), strings.ToLower(s.Name)+"_")
	})
	if len(needed) == 0 || env.Workspace == nil {
		return nil, func() {}, nil
	}
	if call != "" && !strings.EqualFold(call, "batch") && !env.Profile.MayCall(call) { // the denial of a call that is never made
		return []tools.Tool{tools.NewExternal(tools.External{Name: call, Extension: needed[0].Name})}, func() {}, nil
	}
	g, base, err := toolGround(ctx, w, o, mode, env, settings, end)
	if err != nil {
		return nil, nil, err
	}
	set, err := extension.Start(ctx, extension.Config{
		Servers: needed, Profiles: []permission.Profile{env.Profile}, Taken: runner.Taken(settings.custom), Version: version(), Sandbox: string(g.Level),
		Launch: func(ctx context.Context, s tasks.MCPServer) (func(context.Context) (*proc.Service, error), func() error, error) {
			own := g
			own.Profile, own.Tools = runner.ProcessProfile(g.Profile, "mcp."+s.Name, s.Process), nil
			return runner.Launch(ctx, own, s.Process, base, "tool@"+s.Name)
		},
		Emit: func(event.Extension) {}, Now: w.Now,
		Warn: func(text string) { fmt.Fprintln(w.Err, printable.Text(env.Redact.Text("millhand: "+text))) },
	})
	stop = func() {
		if err := errors.Join(set.Close(), os.RemoveAll(base)); err != nil {
			fmt.Fprintln(w.Err, printable.Text("millhand: "+err.Error()))
		}
	}
	if err != nil {
		stop()
		return nil, nil, fail(event.ExitFailed, "%w", err)
	}
	return set.Tools("", ""), stop, nil
}
