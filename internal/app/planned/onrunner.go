package planned

import (
	"slices"

	"github.com/millhand/millhand/internal/app/ci"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tasks"
)

// onRunner returns the jobs of a plan whose work ends with the CI job that runs this process, as it is on a branch of a
// repository, a mirror or a copy there, and nothing publishes it: none outside of CI. Later steps can use what a job
// changed in the checkout itself, and with publish: patch the report directory is the result.
func onRunner(w world.World, plan *tasks.Plan) []tasks.Job {
	if !ci.Present(w.Getenv) {
		return nil
	}
	var all []tasks.Job
	for _, j := range plan.Jobs {
		apart := j.Commit != nil && j.Commit.Branch != tasks.CurrentBranch || j.Repo.Kind == tasks.RepoCopy
		published := j.Publish.Pushes() || j.Publish == tasks.PublishPatch
		if apart && !published && j.Skip == "" && mayChange(plan, j) {
			all = append(all, j)
		}
	}
	return all
}

// mayChange reports whether a job may change files.
func mayChange(plan *tasks.Plan, j tasks.Job) bool {
	profile := j.Profile
	if at := slices.IndexFunc(plan.Agents, func(a tasks.Agent) bool { return a.Name == j.Agent }); at >= 0 {
		if most := plan.Agents[at].Max; most != nil {
			profile = profile.Under(*most)
		}
		for _, rules := range plan.Agents[at].Restrictions {
			profile = profile.Narrowed("agent "+j.Agent, rules)
		}
	}
	granted := slices.ContainsFunc(plan.Grants(), func(g tasks.Grant) bool { return g.Workspace })
	return j.Script != nil || profile.MayChange() || granted && (profile.Max == nil || profile.Max.MayChange())
}

// NoteProfiles returns a note for each task that asks for changes with a profile that allows none.
func NoteProfiles(plan *tasks.Plan) []string {
	var notes []string
	for _, j := range plan.Jobs {
		note := "task " + j.Task + ": " + permission.CannotChange(j.Profile.Name)
		if j.Changing && !mayChange(plan, j) && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// locationOf names where the work of a job is.
func locationOf(j tasks.Job) string {
	if j.Commit == nil {
		return "the copy of " + j.Repo.Name
	}
	return "branch " + j.Commit.Branch
}

// NoteOnRunner returns a note for each task with a job of [onRunner].
func NoteOnRunner(w world.World, plan *tasks.Plan) []string {
	var notes, seen []string
	for _, j := range onRunner(w, plan) {
		if !slices.Contains(seen, j.Task) {
			seen = append(seen, j.Task)
			notes = append(notes, "task "+j.Task+": "+locationOf(j)+OnlyHere+toPublish)
		}
	}
	return notes
}

// OnlyHere is the reason of a warning, and toPublish what prevents that the work is lost.
const (
	OnlyHere  = " is only on this runner: "
	toPublish = "set publish: push or pr, or publish: patch and upload the report directory"
)

// WarnOnRunner returns the warning of a run with jobs of [onRunner], if there are any. byAction is whether the GitHub action runs it.
func WarnOnRunner(w world.World, plan *tasks.Plan, byAction bool) []string {
	jobs := onRunner(w, plan)
	if len(jobs) == 0 {
		return nil
	}
	where, fix := locationOf(jobs[0]), toPublish
	if more := len(jobs) - 1; more > 0 {
		where += " (and those of " + figures.Count(more, "other job") + ")"
	}
	if byAction {
		fix = "set the input publish to push or pr, or to patch and upload steps.ID.outputs.report-dir, where ID is the id of this step"
	}
	return []string{where + OnlyHere + fix}
}
