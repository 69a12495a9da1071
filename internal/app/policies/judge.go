// Package policies decides calls by the rules of profiles and policies without making them: for `millhand policy
// explain`, and for the examples in policies, which `millhand policy test` and each run check. Package recorded decides
// the calls of saved runs by its [Judge]. It runs no tool.
package policies

import (
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tools"
)

// CheckExamples checks the examples of every profile that the plan uses.
func CheckExamples(w world.World, plan *tasks.Plan) error {
	judge, done, err := NewJudge(w)
	if err != nil {
		return err
	}
	defer done()
	var problems problem.List
	for _, p := range plan.Profiles {
		problems = append(problems, profiles.CheckExamples(p, judge.Decide(p))...)
	}
	if len(problems) == 0 {
		return nil
	}
	return fault.Wrap(event.ExitUsage, fault.Refused{Problems: problems, Text: figures.Count(len(problems), "policy example") + " failed"})
}

// Judge decides on calls, each given by its tool and subject, with the current
// directory as the workspace.
type Judge struct {
	Env tools.Env
}

// NewJudge opens the current directory; done releases it.
func NewJudge(w world.World) (j *Judge, done func(), err error) {
	space, err := workspace.Open(".")
	if err != nil {
		return nil, nil, fault.New(event.ExitUsage, "%w", err)
	}
	return &Judge{tools.Env{Workplace: tools.Workplace{Workspace: space, ChildEnv: proc.ChildEnv(w.Getenv, nil)}}}, func() { space.Close() }, nil
}

// All decides on every permission that a call requires under a profile.
func (j *Judge) All(p permission.Profile, tool, subject string) ([]permission.Decision, error) {
	env := j.Env
	env.Profile = p
	return tools.Decide(&env, tool, subject)
}

// Decide returns a function that makes one decision for each call under a profile.
func (j *Judge) Decide(p permission.Profile) func(tool, subject string) permission.Decision {
	return func(tool, subject string) permission.Decision {
		decisions, err := j.All(p, tool, subject)
		if err != nil {
			return permission.Decision{Request: permission.Need(tool, subject), Rule: err.Error(), NoRule: true, Source: "built in"}
		}
		return Overall(decisions)
	}
}

// Overall returns the decision on a call: the first denial, or the last decision by
// a rule.
func Overall(decisions []permission.Decision) permission.Decision {
	last := permission.Decision{Effect: permission.Allow, Rule: "nothing to decide", NoRule: true, Source: "built in"}
	for _, d := range decisions {
		switch {
		case !d.Allowed():
			return d
		case !d.NoRule || last.NoRule:
			last = d
		}
	}
	return last
}
