package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
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
		Found: FindsProgram(j.opts.Getenv, j.opts.Level, w.site.space.Dir()),
		Launch: func(ctx context.Context, s tasks.LanguageServer) (func(context.Context) (*proc.Service, error), func() error, error) {
			g, err := j.ground(w.site, LanguageProfile(profile, s))
			if err != nil {
				return nil, nil, err
			}
			g.within, g.Fail = w.site.sandbox, g.spared(true) // they only advise
			return LaunchLanguage(ctx, g, s, j.opts.Work, j.spec.ID+"@lsp-"+s.Name)
		},
		Emit: func(e event.Extension) { j.emit(event.Event{Type: event.ExtensionChanged, Extension: &e}) },
		Warn: j.warn, Now: j.opts.Now,
	})
}

// FindsProgram returns whether a program is on the PATH of commands in a workspace.
func FindsProgram(getenv func(string) string, level sandbox.Level, workspace string) func(string) bool {
	env, g := proc.ChildEnv(getenv, nil), CommandEnv{Level: level, Workspace: workspace}
	return func(program string) bool {
		found := errors.New("not looked for")
		err := g.look(func() { _, found = proc.Look(program, env) })
		return errors.Join(err, found) == nil
	}
}

// look calls a function that looks for files with the rights of commands.
func (g *CommandEnv) look(find func()) error {
	if g.confines() {
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
func (g *CommandEnv) lockLanguage() { g.Locked, g.Tools = []string{g.Workspace}, nil }

// LaunchLanguage is Launch for a language server, which can't write to the workspace.
func LaunchLanguage(ctx context.Context, g CommandEnv, s tasks.LanguageServer, work, own string) (start func(context.Context) (*proc.Service, error), end func() error, err error) {
	for _, dir := range s.Process.Write {
		if overlaps(dir, g.Workspace) {
			return nil, nil, fmt.Errorf("write path %s: the workspace is read-only for language servers; remove it from lsp.%s", dir, s.Name)
		}
	}
	g.lockLanguage()
	return Launch(ctx, g, s.Process, work, own)
}
