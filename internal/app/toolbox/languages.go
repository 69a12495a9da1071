package toolbox

import (
	"context"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
)

// serveLanguages gives the call the language servers of the manifest, which start as in a job.
func (s *site) serveLanguages(ctx context.Context) error {
	name := strings.ToLower(strings.TrimSpace(s.call))
	uses := name == "lsp" || name == "batch" || permission.ForTool(name) == "edit"
	if s.set.plan == nil || s.set.plan.LSP == nil || !uses {
		return nil
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	g := s.ground
	started := extension.NewLanguages(ctx, extension.LanguageConfig{
		LSP: confinement.FoundServers(*s.set.plan.LSP, s.w.Getenv, g.Level, g.Workspace), Root: s.env.Workspace.Root(), Version: s.w.Version, Sandbox: string(g.Level),
		Launch: func(ctx context.Context, l tasks.LanguageServer) (proc.Command, error) {
			own := g
			own.Profile = confinement.LanguageProfile(g.Profile, l)
			return s.processes.LaunchLanguage(ctx, own, l, s.programs(), "tool")
		},
		Emit: func(event.Extension) {}, Now: s.w.Now, Warn: s.warn,
	})
	s.stops = append(s.stops, started.Close)
	s.env.Languages = started.Tools()
	return nil
}
