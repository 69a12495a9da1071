package expand

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

const overridden = head + `limits: {turns: 50}
budget: {cost: 5, time: 1h}
jobs: 2
vars: {x: manifest, y: manifest}
profiles: {mine: {extends: edit}}
tasks:
  - {id: first, prompt: "${{ vars.x }} ${{ vars.y }}", vars: {x: task}, limits: {turns: 5}, profile: full, matrix: {k: [1, 2]}}
  - {id: second, prompt: "${{ vars.x }} ${{ vars.y }}"}
`

func TestFlagsOverrideManifest(t *testing.T) {
	type result struct {
		Jobs     []string
		Model    string
		Profile  string
		Prompts  []string
		Turns    []int
		Parallel int
		Budget   tasks.Budget
	}
	unchanged := func(change func(*result)) result {
		r := result{
			Jobs: []string{"first-1", "first-2", "second"}, Model: "openai/m", Profile: "full",
			Prompts: []string{"task manifest", "task manifest", "manifest manifest"}, Turns: []int{5, 5, 50},
			Parallel: 2, Budget: tasks.Budget{CostUSD: 5 * money.Dollar, Time: time.Hour},
		}
		change(&r)
		return r
	}
	for _, tt := range []struct {
		name string
		o    tasks.Overrides
		want result
	}{
		{"nothing", tasks.Overrides{}, unchanged(func(*result) {})},
		{"model", tasks.Overrides{Model: "openai/n"}, unchanged(func(r *result) { r.Model = "openai/n" })},
		{"a preset", tasks.Overrides{Profile: "review"}, unchanged(func(r *result) { r.Profile = "review" })},
		{"a profile of the manifest", tasks.Overrides{Profile: "mine"}, unchanged(func(r *result) { r.Profile = "mine" })},
		{"a profile's file", tasks.Overrides{Profile: "ci.yaml"}, unchanged(func(r *result) { r.Profile = "ci" })},
		{"variables", tasks.Overrides{Vars: map[string]string{"x": "${{ vars.y }}"}}, unchanged(func(r *result) {
			r.Prompts = []string{"${{ vars.y }} manifest", "${{ vars.y }} manifest", "${{ vars.y }} manifest"}
		})},
		{"a task", tasks.Overrides{Only: []string{"second"}}, unchanged(func(r *result) {
			r.Jobs, r.Prompts, r.Turns, r.Profile = []string{"second"}, []string{"manifest manifest"}, []int{50}, "readonly"
		})},
		{"a job", tasks.Overrides{Only: []string{"first-2"}}, unchanged(func(r *result) {
			r.Jobs, r.Prompts, r.Turns = []string{"first-2"}, []string{"task manifest"}, []int{5}
		})},
		{"fewer of everything", tasks.Overrides{Parallel: 1, MaxTurns: 4, MaxCost: 1 * money.Dollar, MaxTime: time.Minute}, unchanged(func(r *result) {
			r.Parallel, r.Turns, r.Budget = 1, []int{4, 4, 4}, tasks.Budget{CostUSD: money.Dollar, Time: time.Minute}
		})},
		{"more of everything raises only the concurrent jobs", tasks.Overrides{Parallel: 9, MaxTurns: 99, MaxCost: 9 * money.Dollar, MaxTime: 9 * time.Hour}, unchanged(func(r *result) {
			r.Parallel = 9
		})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := loadText(t, overridden, map[string]string{"ci.yaml": "extends: mine"}, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			got := result{Parallel: p.Parallel, Budget: p.Budget, Model: p.Jobs[0].Model, Profile: p.Jobs[0].Profile.Name}
			for _, j := range p.Jobs {
				got.Jobs = append(got.Jobs, j.ID)
				got.Prompts = append(got.Prompts, j.Prompt)
				got.Turns = append(got.Turns, j.Limits.Turns)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheCommandLineReplacesDefaults(t *testing.T) {
	p := mustLoad(t, oneTask, tasks.Overrides{MaxTurns: 500, MaxCost: 7 * money.Dollar, MaxTime: time.Hour})
	if p.Jobs[0].Limits.Turns != 500 || p.Budget.CostUSD != 7*money.Dollar || p.Budget.Time != time.Hour {
		t.Errorf("limits %+v, budget %+v", p.Jobs[0].Limits, p.Budget)
	}
}

func TestModelFlagReplacesModel(t *testing.T) {
	for _, manifest := range []string{
		"version: 1\ntasks: [{id: a, prompt: p}]",
		"version: 1\nmodel: anthropic/claude\ntasks: [{id: a, prompt: p, model: gone/x}]",
	} {
		if p := mustLoad(t, manifest, tasks.Overrides{Model: "openai/m"}); p.Jobs[0].Model != "openai/m" {
			t.Errorf("model %q", p.Jobs[0].Model)
		}
	}
}

func TestMistakesOnTheCommandLine(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    tasks.Overrides
		want []string
	}{
		{"model", tasks.Overrides{Model: "opneai/x"}, []string{`--model: unknown provider "opneai"; did you mean "openai"?`}},
		{"script", tasks.Overrides{Model: "script:no.yaml"}, []string{`--model: script "no.yaml": not found; check its path`}},
		{"profile", tasks.Overrides{Profile: "mien"}, []string{`--profile: unknown profile "mien"; did you mean "mine"?`}},
		{"profile's file", tasks.Overrides{Profile: "./no.yaml"}, []string{`./no.yaml: not found; check its path`}},
		{"task or job", tasks.Overrides{Only: []string{"secnd", "first-3", "second"}}, []string{
			`--only: unknown task or job "secnd"; did you mean "second"?`,
			`--only: unknown task or job "first-3"; did you mean "first-1"?`,
		}},
		{"variable", tasks.Overrides{Vars: map[string]string{"reviewer": "a", "X1": "b"}}, []string{
			`--var: unknown variable "X1"; did you mean "x"?`,
			`--var: unknown variable "reviewer"; known variables: x, y`,
		}},
		{"publishing", tasks.Overrides{Publish: "pull"}, []string{`--publish: unknown mode "pull"; write none, patch, branch, push or pr`}},
		{"numbers", tasks.Overrides{Parallel: 257, MaxTurns: -1, MaxCost: -1, MaxTime: -1, Limit: -1, Sample: -1, Shard: tasks.Shard{Index: 3, Total: 2}}, []string{
			`--jobs: value out of range; write a number from 1 to 256`,
			`--limit: value out of range; write a number of at least 1`,
			`--max-cost: value out of range; write an amount in USD, such as 5.00`,
			`--max-time: value out of range; write a duration, such as 20m`,
			`--max-turns: value out of range; write a number of at least 1`,
			`--sample: value out of range; write a number of at least 1`,
			`--shard: value out of range; write I/N with I from 1 to N, such as 1/4`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadText(t, overridden, nil, tt.o)
			if diff := cmp.Diff(tt.want, lines(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
