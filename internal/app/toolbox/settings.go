package toolbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/checks"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/media"
	"github.com/millhand/millhand/tools/outputs"
	"github.com/millhand/millhand/tools/websearch"
)

// settings is the configuration of tools outside of a session: a model's name, and
// the search, skills, agents and custom tools of a manifest.
type settings struct {
	env    tools.Env
	custom []tools.Tool
	skills []string    // directories of skills, in addition to the workspace's
	plan   *tasks.Plan // of the manifest; nil for none

	private *sandbox.Private // files of the system
}

// readSettings returns the settings for a model and a manifest. Without a model
// every tool is offered.
func readSettings(ctx context.Context, w world.World, o Options, opts tasks.Options) (*settings, error) {
	s := &settings{env: tools.Env{Offer: tools.Offer{Model: o.Model}, Now: w.Now, Spawn: noSpawn}, private: sandbox.NewPrivate(w.System...)}
	s.env.Batch = s.env.Model == ""
	agents := tasks.BuiltInAgents()
	if o.Manifest != "" {
		plan, err := s.fromManifest(ctx, w, o.Manifest, opts)
		if err != nil {
			return nil, err
		}
		s.plan, agents = plan, plan.Agents
	}
	known := models.Of(w, cmp.Or(s.plan, &tasks.Plan{})).Facts(s.env.Model)
	s.env.Accepts = media.Accepted{Images: known.Images || s.env.Model == "", PDFs: known.PDFs || s.env.Model == ""}
	for _, a := range agents {
		if a.Description != "" {
			s.env.Agents = append(s.env.Agents, tools.Agent{Name: a.Name, Description: a.Description})
		}
	}
	return s, nil
}

func (s *settings) fromManifest(ctx context.Context, w world.World, manifest string, opts tasks.Options) (*tasks.Plan, error) {
	plan, err := expand.Load(ctx, []string{manifest}, opts)
	var problems problem.List
	if errors.As(err, &problems) {
		return nil, fault.New(event.ExitUsage, "%s has %s; the first is: %s", manifest, figures.Count(len(problems), "problem"), problems[0])
	}
	if err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	s.env.Batch = s.env.Batch || plan.Batch
	s.env.Limits = outputs.Limits(plan.Output)
	s.env.Search = websearch.Config{Backend: plan.Search.Backend, URL: plan.Search.URL}
	if plan.Search.KeyEnv != "" {
		s.env.Search.Key = strings.TrimSpace(w.Getenv(plan.Search.KeyEnv))
	}
	s.skills = plan.Skills
	s.custom, err = checks.CustomTools(plan)
	return plan, err
}

// noSpawn is the spawn function of the task tool outside of a session.
func noSpawn(context.Context, tools.SpawnRequest) (tools.SpawnResult, error) {
	return tools.SpawnResult{}, errors.New("subagents are not supported in a single call: run a manifest")
}

// runs reports whether a tool can run commands.
func (s *settings) runs(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return name == "bash" || name == "batch" || slices.ContainsFunc(s.custom, func(t tools.Tool) bool { return strings.ToLower(t.Spec().Name) == name })
}

// granted reports whether a tool is a custom one that may write the workspace, whatever the profile allows.
func (s *settings) granted(name string) bool {
	return s.plan != nil && slices.ContainsFunc(s.plan.Tools, func(t tasks.CustomTool) bool {
		return t.Workspace && strings.EqualFold(t.Name, strings.TrimSpace(name))
	})
}
