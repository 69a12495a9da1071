package runner

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/media"
	"github.com/millhand/millhand/tools/outputs"
	"github.com/millhand/millhand/tools/skill"
	"github.com/millhand/millhand/tools/websearch"
)

// toolEnv returns the environment for the tools of a session.
func (w *work) toolEnv(ctx context.Context, s sessionSpec) (*tools.Env, error) {
	var space *workspace.Workspace
	if w.site.readable() {
		space = w.site.space
	}
	skills := skill.Find(space, w.job.plan.Skills)
	for _, p := range skills.Problems {
		if s.parent == "" {
			w.job.warn(p.Error())
		}
	}
	known := w.job.opts.facts(s.speaks)
	env := &tools.Env{
		Profile: s.task.Profile, Todos: &tools.Todos{}, Notes: &tools.Notes{}, Redact: w.job.opts.Redact,
		Outputs: w.job.outputs(), Private: slices.Concat(w.site.private(), confinement.ConcealedFromTools(s.task.Profile, w.job.run.private)), Now: w.job.opts.Now,
		Limits: outputs.Limits(w.job.plan.Output),
		Model:  cmp.Or(known.Like, s.speaks), Batch: w.job.plan.Batch, Skills: skills, Languages: w.languages.Tools(), Tree: w.tree, Cache: &tools.Cache{},
		// Hooks of the manifest see the arguments that plugins have made.
		Hooks:  slices.Concat(jobHooks{w.site}.plugins(w.extensions.Hooks(w.job.sessionID(s.name))), w.site.hooks.Around(w.job.sessionID(s.name), s.task.Agent)),
		Search: websearch.Config{Backend: w.job.plan.Search.Backend, URL: w.job.plan.Search.URL, Key: w.job.opts.secret(w.job.plan.Search.KeyEnv)},
	}
	env.Accepts = media.Accepted{Images: known.Images, PDFs: known.PDFs}
	if s.parent == "" { // children can't start sessions
		env.Agents, env.Spawn = agents(w.job.plan), w.spawner(w.job.sessionID(s.name))
	}
	if w.site.usable() && w.site.sandboxes.onDemand == nil {
		return env, addFiles(ctx, env, w, s)
	}
	env.Complete, env.Commands.Scratch = completion(w, s), w.site.expectedScratch()
	return env, nil
}

// completion returns what completes the environment of a session's tools before its first
// call.
func completion(w *work, s sessionSpec) func(context.Context, *tools.Env) error {
	var mu sync.Mutex // calls can be parallel
	return func(ctx context.Context, env *tools.Env) error {
		mu.Lock()
		defer mu.Unlock()
		if env.Workspace != nil {
			return nil
		}
		if end := w.site.waitFor(); end != nil {
			return errors.New(end.Detail)
		}
		if _, end := w.site.sandboxes.needed(); end != nil {
			w.job.fails(end)
			return errors.New(end.Detail)
		}
		return addFiles(ctx, env, w, s)
	}
}

// addFiles adds to the environment of a session's tools what depends on the job's files.
func addFiles(ctx context.Context, env *tools.Env, w *work, s sessionSpec) error {
	ignored, err := w.site.Tree.IgnoredBelow(w.site.below, w.site.base)
	if err != nil {
		return err
	}
	box, err := w.site.sandboxes.of(ctx, s.narrowed, s.task.Profile, false)
	if err != nil {
		return err
	}
	env.Ignore, env.ChildEnv, env.Commands, env.Workspace = ignored, box.Env, box.Commands(), w.site.space
	env.Commands.Fault = func(err error) { w.job.end(session.Timeout{Code: event.CodeMachine, Reason: err.Error()}) }
	env.Commands.MaxTime, env.Commands.Confine = s.task.Limits.Time, box.ConfineSeries()
	if slices.ContainsFunc(w.job.plan.Tools, func(t tasks.CustomTool) bool { return t.Workspace }) && confinement.MayGrant(s.task.Profile) {
		if box, err = w.site.sandboxes.of(ctx, s.narrowed, s.task.Profile, true); err != nil {
			return err
		}
		env.Commands.Granted = box.Confine()
	}
	return nil
}
