package runner

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
func (w *work) openLanguages(ctx context.Context) {
	j := w.job
	if j.plan.LSP == nil {
		return
	}
	profile := w.ownSpec().task.Profile
	w.languages = extension.NewLanguages(ctx, extension.LanguageConfig{
		LSP: *j.plan.LSP, Root: w.site.space.Root(), Version: j.opts.About.Version, Sandbox: string(j.opts.Level),
		Found: confinement.FindsProgram(j.opts.Getenv, j.opts.Level, w.site.space.Dir()),
		Launch: func(ctx context.Context, s tasks.LanguageServer) (func(context.Context) (*proc.Service, error), func() error, error) {
			g, err := w.site.ground(confinement.LanguageProfile(profile, s))
			if err != nil {
				return nil, nil, err
			}
			g.Within, g.Fail = w.site.sandboxes.own, g.Spared(true) // they only advise
			return confinement.LaunchLanguage(ctx, g, s, j.opts.Work, j.spec.ID+"@lsp-"+s.Name)
		},
		Emit: func(e event.Extension) { j.emit(event.Event{Type: event.ExtensionChanged, Extension: &e}) },
		Warn: j.warn, Now: j.opts.Now,
	})
}
