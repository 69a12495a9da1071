package agent

import (
	"context"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
)

// openLanguages prepares the language servers of the job. They are not paused while verify
// commands run: they can't change files.
func (x *extensions) openLanguages(ctx context.Context) {
	j := x.job
	if j.Plan.LSP == nil {
		return
	}
	profile := x.job.AgentProfile()
	x.languages = extension.NewLanguages(ctx, extension.LanguageConfig{
		LSP: confinement.FoundServers(*j.Plan.LSP, j.opts.Getenv, j.opts.Level, x.site.Space.Dir()), Root: x.site.Space.Root(), Version: j.run.version, Sandbox: string(j.opts.Level),
		Launch: func(ctx context.Context, s tasks.LanguageServer) (proc.Command, error) {
			g, err := x.site.Ground(confinement.LanguageProfile(profile, s))
			if err != nil {
				return proc.Command{}, err
			}
			g.Within, g.Fail = x.site.Sandboxes.Own, g.Spared(true) // they only advise
			return x.processes.LaunchLanguage(ctx, g, s, j.opts.Work, j.Spec.ID)
		},
		Emit: func(e event.Extension) { j.Emit(event.Event{Type: event.ExtensionChanged, Extension: &e}) },
		Warn: j.Warn, Now: j.opts.Now,
	})
}
