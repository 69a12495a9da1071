package toolbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// serveLanguages gives a call the language servers of a manifest, which start as in a job. stop
// ends them.
func serveLanguages(ctx context.Context, w world.World, o load.ProfileOptions, mode string, env *tools.Env, set *settings, end func(error), call string) (stop func(), err error) {
	name := strings.ToLower(strings.TrimSpace(call))
	uses := name == "lsp" || name == "batch" || permission.ForTool(name) == "edit"
	if set.plan == nil || set.plan.LSP == nil || !uses {
		return func() {}, nil
	}
	g, base, err := ground(ctx, w, o, mode, env, set, end)
	if err != nil {
		return nil, err
	}
	processes := &confinement.Processes{}
	started := extension.NewLanguages(ctx, extension.LanguageConfig{
		LSP: confinement.FoundServers(*set.plan.LSP, w.Getenv, g.Level, g.Workspace), Root: env.Workspace.Root(), Version: w.Version, Sandbox: string(g.Level),
		Launch: func(ctx context.Context, s tasks.LanguageServer) (proc.Command, error) {
			own := g
			own.Profile = confinement.LanguageProfile(g.Profile, s)
			return processes.LaunchLanguage(ctx, own, s, base, "tool@lsp-"+s.Name)
		},
		Emit: func(event.Extension) {}, Now: w.Now,
		Warn: func(text string) { fmt.Fprintln(w.Err, printable.Text(env.Redact.Text("millhand: "+text))) },
	})
	env.Languages = started.Tools()
	return func() {
		started.Close()
		if err := errors.Join(processes.Close(), os.RemoveAll(base)); err != nil {
			fmt.Fprintln(w.Err, printable.Text("millhand: "+err.Error()))
		}
	}, nil
}
