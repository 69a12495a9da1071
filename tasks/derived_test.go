package tasks

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/permission"
)

// planned returns a plan in which every derived one changes something.
func planned() *Plan {
	return &Plan{
		Jobs: []Job{
			{ID: "a", Needs: []string{"b", "c"}, Commit: &Commit{Branch: "fix", IfExists: ReplaceIfExists}, Profile: permission.Profile{Name: "full"}},
			{ID: "b", Commit: &Commit{Branch: "b"}},
			{ID: "c"},
		},
		Elsewhere: []Job{{ID: "d"}}, Shard: Shard{Index: 1, Total: 2}, Sources: []Listed{{}}, Parallel: 4, Notes: []string{"note"},
		Budget: Budget{CostUSD: 8, Time: time.Hour}, Forges: []Forge{{Host: "a"}}, Hooks: []Hook{{On: JobStart}, {On: RunStart}},
		MCP: []MCPServer{{Name: "m"}}, Tools: []CustomTool{{Name: "t"}}, LSP: &LSP{}, Scripts: Scripts{Runtime: "node"},
	}
}

func TestDerivedPlansLeaveThePlanAsItIs(t *testing.T) {
	first := func(id string) bool { return id == "a" }
	for name, test := range map[string]struct {
		derive func(*Plan) *Plan
		as     func(p *Plan) bool
	}{
		"Under": {func(p *Plan) *Plan { return p.Under(permission.Profile{Name: "most"}) }, func(p *Plan) bool {
			return !reflect.DeepEqual(p.Jobs[0].Profile, planned().Jobs[0].Profile)
		}},
		"WithOutput": {func(p *Plan) *Plan { return p.WithOutput(OutputFile{Path: "x"}) }, func(p *Plan) bool {
			return p.Jobs[0].Output.Path == "x" && p.Jobs[2].Output.Path == "x"
		}},
		"WithJobCost": {func(p *Plan) *Plan { return p.WithJobCost(3, first).WithJobCost(5, first) }, func(p *Plan) bool {
			return p.Jobs[0].Limits.CostUSD == 3 && p.Jobs[1].Limits.CostUSD == 0
		}},
		"WithCost":   {func(p *Plan) *Plan { return p.WithCost(3) }, func(p *Plan) bool { return p.Budget == Budget{CostUSD: 3, Time: time.Hour} }},
		"WithForges": {func(p *Plan) *Plan { return p.WithForges(nil) }, func(p *Plan) bool { return p.Forges == nil }},
		"WithParallel": {func(p *Plan) *Plan { return p.WithParallel(2, "why") }, func(p *Plan) bool {
			return p.Parallel == 2 && slices.Equal(p.Notes, []string{"note", "why"})
		}},
		"Only": {func(p *Plan) *Plan { return p.Only(first) }, func(p *Plan) bool { return len(p.Jobs) == 1 && len(p.Jobs[0].Needs) == 2 }},
		"Wave": {func(p *Plan) *Plan { return p.Wave(func(id string) bool { return id != "b" }) }, func(p *Plan) bool {
			return len(p.Jobs) == 2 && slices.Equal(p.Jobs[0].Needs, []string{"c"})
		}},
		"OneJob": {func(p *Plan) *Plan { return p.OneJob(0, time.Minute) }, func(p *Plan) bool {
			return len(p.Jobs) == 1 && p.Jobs[0].Needs == nil && p.Elsewhere == nil && p.Sources == nil && p.Parallel == 1 && p.Shard == Shard{Index: 1, Total: 3} && p.Budget.Time == time.Minute
		}},
		"OneJob after its time": {func(p *Plan) *Plan { return p.OneJob(0, -time.Minute) }, func(p *Plan) bool { return p.Budget.Time == 1 }},
		"Fork": {func(p *Plan) *Plan { return p.Fork(p.Jobs[0], "new") }, func(p *Plan) bool {
			j := p.Jobs[0]
			return len(p.Jobs) == 1 && j.Commit.Branch == "new" && j.Commit.IfExists == FailIfExists && j.Needs == nil && p.Elsewhere == nil && p.Shard == Shard{}
		}},
		"Fork of a job without a commit": {func(p *Plan) *Plan { return p.Fork(p.Jobs[2], "new") }, func(p *Plan) bool { return p.Jobs[0].Commit.Branch == "new" }},
		"Question": {func(p *Plan) *Plan { return p.Question(Job{ID: "q"}) }, func(p *Plan) bool {
			return len(p.Jobs) == 1 && p.Jobs[0].ID == "q" && !p.StartsProcesses() && p.MCP == nil && p.Tools == nil && reflect.ValueOf(p.Scripts).IsZero()
		}},
		"Trial": {func(p *Plan) *Plan { return p.Trial([]Job{{ID: "t"}}) }, func(p *Plan) bool {
			return len(p.Jobs) == 1 && len(p.Hooks) == 1 && p.Hooks[0].On == JobStart
		}},
	} {
		p := planned()
		if got := test.derive(p); !test.as(got) {
			t.Errorf("%s: %+v", name, got)
		}
		if !reflect.DeepEqual(p, planned()) {
			t.Errorf("%s changed the plan: %+v", name, p)
		}
	}
}

func TestOneJobOfAPlanWithoutALimitHasNone(t *testing.T) {
	if p := (&Plan{Jobs: []Job{{ID: "a"}}}).OneJob(0, -time.Hour); p.Budget.Time != 0 {
		t.Errorf("limit %s", p.Budget.Time)
	}
}

func TestReleaseDropsTheJobsOfOtherPlansToo(t *testing.T) {
	p := planned()
	p.WithCost(1).Release()
	if p.Jobs[0].ID != "" {
		t.Error("the jobs still have memory")
	}
}

func TestDerivedJobsLeaveTheJobAsItIs(t *testing.T) {
	rule := permission.Rule{Permission: "edit", Pattern: "*.go", Source: "test"}
	job := func() Job {
		return Job{
			ID: "a", Agent: "build", Model: "m", ModelName: "m", Fallback: []Model{{ID: "f"}}, Limits: Limits{Turns: 9}, RequireChanges: true,
			Profile: permission.Profile{Name: "p", Rules: []permission.Rule{{Permission: "*", Pattern: "*", Effect: permission.Allow}}}, Protect: []permission.Rule{{Pattern: "x"}},
			Commit: &Commit{Message: "m", Branch: "b"}, Publish: PublishPush, Verify: []Verify{{Name: "v"}}, Setup: []string{"s"}, Attempts: 3,
			Schema: map[string]any{"type": "object"}, Findings: true, Needs: []string{"b"}, Skip: "why", Repo: Repo{Depth: 1},
		}
	}
	for name, test := range map[string]struct {
		derive func(Job) Job
		as     func(Job) bool
	}{
		"WithProfile": {func(j Job) Job { return j.WithProfile(permission.Profile{Name: "q"}) }, func(j Job) bool { return j.Profile.Name == "q" }},
		"WithModel": {func(j Job) Job { return j.WithModel(Model{ID: "x/y", Name: "y"}) }, func(j Job) bool {
			return j.Model == "x/y" && j.ModelName == "y" && j.Fallback == nil
		}},
		"Protecting": {func(j Job) Job { return j.Protecting("test", []permission.Rule{rule}) }, func(j Job) bool {
			return len(j.Protect) == 2 && j.Protect[0] == rule && !reflect.DeepEqual(j.Profile, job().Profile)
		}},
		"Reverting": {func(j Job) Job { return j.Reverting("revert", false) }, func(j Job) bool {
			return j.Commit.Message == "revert" && j.Commit.Branch == "b" && !j.RequireChanges
		}},
		"Reverting here":             {func(j Job) Job { return j.Reverting("revert", true) }, func(j Job) bool { return j.Commit.Branch == CurrentBranch }},
		"Reverting without a commit": {func(j Job) Job { j.Commit = nil; return j.Reverting("revert", true) }, func(j Job) bool { return j.Commit == nil && !j.RequireChanges }},
		"OnBase": {func(j Job) Job { return j.OnBase("c0ffee", "trial") }, func(j Job) bool {
			return j.Repo.Ref == "c0ffee" && j.Repo.Depth == 0 && j.Commit.Branch == "trial" && j.Commit.Message == "" && j.Publish == PublishPatch && j.Skip == "" && j.Needs == nil && !j.RequireChanges && j.Verify != nil
		}},
		"Asking": {func(j Job) Job { return j.Asking("q", "what?", map[string]any{}, permission.Profile{Name: "r"}) }, func(j Job) bool {
			return j.ID == "q" && j.Prompt == "what?" && len(j.Schema) == 0 && !j.Findings && j.Profile.Name == "r" && j.Verify == nil && j.Setup == nil && j.Attempts == 1
		}},
		"RunningOnly": {func(j Job) Job { return j.RunningOnly(TaskScript{File: "s"}) }, func(j Job) bool {
			return j.Script.File == "s" && j.Script.Alone && j.Script.MustChange && j.Schema == nil && !j.Findings
		}},
		"RunningOnly of a job that may change nothing": {func(j Job) Job { j.RequireChanges = false; return j.RunningOnly(TaskScript{}) }, func(j Job) bool { return !j.Script.MustChange }},
		"WithAgent": {func(j Job) Job {
			return j.WithAgent(Agent{Name: "x", Turns: 3, Without: []string{"bash"}}, "todowrite")
		}, func(j Job) bool {
			return j.Agent == "x" && j.Limits.Turns == 3 && j.Profile.Hides("bash") && j.Profile.Hides("todowrite") && !j.Profile.Hides("edit")
		}},
		"WithAgent that may do more": {func(j Job) Job {
			return j.WithAgent(Agent{Name: "x", Turns: 30, Max: &permission.Profile{Name: "full", Rules: []permission.Rule{{Permission: "*", Pattern: "*", Effect: permission.Allow}}}})
		}, func(j Job) bool {
			return j.Limits.Turns == 9
		}},
		"WithAgent that may do less": {func(j Job) Job {
			return j.WithAgent(Agent{Name: "x", Max: &permission.Profile{}, Restrictions: [][]permission.Rule{{rule}}})
		}, func(j Job) bool {
			return !j.Profile.Allows("edit", "main.go") && j.Limits.Turns == 9
		}},
	} {
		j := job()
		if got := test.derive(j); !test.as(got) {
			t.Errorf("%s: %+v", name, got)
		}
		if !reflect.DeepEqual(j, job()) {
			t.Errorf("%s changed the job: %+v", name, j)
		}
	}
}
