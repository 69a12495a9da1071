package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/file"
	"github.com/millhand/millhand/tools/media"
	"github.com/millhand/millhand/tools/outputs"
	"github.com/millhand/millhand/tools/skill"
	"github.com/millhand/millhand/tools/websearch"
)

// toolEnv returns the environment for the tools of a session.
func (w *work) toolEnv(ctx context.Context, s sessionSpec) (*tools.Env, error) {
	var space *workspace.Workspace
	notes := &file.Notes{}
	if w.job.Start.OnPull.Trusted != "" {
		notes = nil // skills and instructions in the workspace are those of the pull request
	} else if w.site.Readable() {
		space = w.site.Space
	}
	skills := skill.Find(space, w.job.Plan.Skills)
	for _, p := range skills.Problems {
		if s.parent == "" {
			w.job.Warn(p.Error())
		}
	}
	known := w.job.run.equipment.facts(s.speaks)
	env := &tools.Env{
		Offer: tools.Offer{
			Model: cmp.Or(known.Like, s.speaks), Accepts: media.Accepted{Images: known.Images, PDFs: known.PDFs},
			Batch: w.job.Plan.Batch, Skills: skills, Languages: w.extensions.languages.Tools(),
			Search: websearch.Config{Backend: w.job.Plan.Search.Backend, URL: w.job.Plan.Search.URL, Key: w.job.secret(w.job.Plan.Search.KeyEnv)},
		},
		Results: tools.Results{Outputs: w.job.Outputs(), Limits: outputs.Limits(w.job.Plan.Output), Redact: w.job.opts.Redact},
		Profile: s.task.Profile, Todos: &tools.Todos{}, Notes: notes, Now: w.job.opts.Now, Changes: w.tree, Cache: &tools.Cache{},
		Private: slices.Concat(w.site.Private(), confinement.ConcealedFromTools(s.task.Profile, w.job.run.sites.Private)),
		// Hooks of the manifest see the arguments that plugins have made.
		Hooks: site.JobHooks{Site: w.site}.Watched(slices.Concat(w.extensions.set.Hooks(w.job.SessionID(s.name)), w.site.Hooks.Around(w.job.SessionID(s.name), s.task.Agent))),
	}
	env.Untrusted.Job = w.job.Untrusted
	w.job.ReadNotes(filesOf(skills.List, w.site.Dir)...)
	if s.parent == "" { // children can't start sessions
		env.Agents, env.Spawn = agents(w.job.Plan), w.spawner(w.job.SessionID(s.name))
	}
	if w.site.Usable() && w.site.Sandboxes.OnDemand == nil {
		return env, addFiles(ctx, env, w, s)
	}
	env.Complete, env.Commands.Scratch = completion(w, s), w.site.ExpectedScratch()
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
		if end := w.site.WaitFor(); end != nil {
			return errors.New(end.Detail)
		}
		if _, end := w.site.Sandboxes.Needed(); end != nil {
			w.job.Fails(end)
			return errors.New(end.Detail)
		}
		return addFiles(ctx, env, w, s)
	}
}

// addFiles adds to the environment of a session's tools what depends on the job's files.
func addFiles(ctx context.Context, env *tools.Env, w *work, s sessionSpec) error {
	ignored, err := w.site.Tree.IgnoredBelow(w.site.Below, w.site.Base)
	if err != nil {
		return err
	}
	w.site.Sandboxes.FindUntrusted()
	box, err := w.site.Sandboxes.Of(ctx, s.narrowed, s.task.Profile, false)
	if err != nil {
		return err
	}
	env.Workplace = tools.Workplace{Workspace: w.site.Space, Ignore: tools.Ignored{Rules: ignored.Rules, Tracked: ignored.Tracked}, ChildEnv: box.Env, Commands: box.Commands()}
	env.Commands.Fault = func(err error) { w.job.End(event.EndCause{Code: event.CodeMachine, Reason: err.Error()}) }
	env.Commands.MaxTime, env.Commands.Confine = s.task.Limits.Time, w.site.Sandboxes.Confined(box, s.narrowed, s.task.Profile, false) //nolint:contextcheck // the sandbox lives as long as the job
	if slices.ContainsFunc(w.job.Plan.Tools, func(t tasks.CustomTool) bool { return t.Workspace }) && confinement.MayGrant(s.task.Profile) {
		if box, err = w.site.Sandboxes.Of(ctx, s.narrowed, s.task.Profile, true); err != nil {
			return err
		}
		env.Commands.Granted = w.site.Sandboxes.Confined(box, s.narrowed, s.task.Profile, true) //nolint:contextcheck // see above
	}
	return nil
}
