package expand

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

func TestARolloutDoesNotChangeTheHashOfThePlan(t *testing.T) {
	p := mustLoad(t, rolloutManifest("[10, 12.5%, 25%, 100%]"), tasks.Overrides{})
	want := &tasks.Rollout{
		Canary: []string{"api"}, Waves: []tasks.WaveSize{{Jobs: 10}, {Share: 1250}, {Share: 2500}, {Share: 10000}},
		Advance: tasks.Advance{Passed: 8000, Checks: 9000, Merged: 5, Forecast: 300 * money.Dollar},
		Stop:    tasks.StopLoss{Failed: 50, Denied: 5, CostPerJob: money.Dollar},
		MaxOpen: 20, PerHour: 10, CIMinutes: 600,
	}
	if diff := cmp.Diff(want, p.Rollout); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if mustLoad(t, oneTask, tasks.Overrides{}).Rollout != nil {
		t.Error("a manifest without the key has a rollout")
	}
	if without := mustLoad(t, strings.Replace(rolloutManifest("[10]"), "passed: 80%, ", "", 1), tasks.Overrides{}); without.Hash != p.Hash {
		t.Error("the rollout changes what the plan does")
	}
}

func rolloutManifest(waves string) string {
	return `version: 1
model: openai/gpt-5-mini
limits: {cost: 1}
repos: [{url: "https://x.example/a/api.git"}, {url: "https://x.example/a/web.git"}]
rollout:
  canary: [api]
  waves: ` + waves + `
  advance: {passed: 80%, checks: 90%, merged: 5, forecast: 300}
  stop: {failed: 0.5%, denied: 5, cost_per_job: 1.00}
  max_open: 20
  per_hour: 10
  ci_minutes: 600
tasks: [{id: a, prompt: p, publish: {mode: pr}}]
`
}

func TestShareRoundsUp(t *testing.T) {
	for _, c := range []struct {
		size tasks.WaveSize
		jobs int
		want int
	}{
		{tasks.WaveSize{Share: 2500}, 10, 3},
		{tasks.WaveSize{Share: 2500}, 8, 2},
		{tasks.WaveSize{Share: 1}, 3, 1},
		{tasks.WaveSize{Share: 10000}, 7, 7},
		{tasks.WaveSize{Jobs: 10}, 4, 4},
		{tasks.WaveSize{Jobs: 3}, 4, 3},
		{tasks.WaveSize{Share: 5000}, 0, 0},
	} {
		if got := c.size.Of(c.jobs); got != c.want {
			t.Errorf("%v of %d jobs: %d, want %d", c.size, c.jobs, got, c.want)
		}
	}
}

func TestRolloutProblems(t *testing.T) {
	const head = "version: 1\nmodel: openai/gpt-5-mini\ntasks: [{id: a, prompt: p}]\n"
	checkMistakes(t, []mistake{
		{"values", head + `rollout:
  canary: [ap, shop, shop]
  waves: [0, 10, 10, 50%, 25%, 100%, 200]
  advance: {passed: 80, checks: 101%, merged: 0, forecast: 0, unknown: 1}
  stop: {failed: "x%", denied: 5.5}
  max_open: -1
`, []string{
			`m.yaml:5:12: unknown repository "ap" in canary; repositories of the plan: shop`,
			`m.yaml:5:22: duplicate canary "shop"; remove it`,
			`m.yaml:6:11: entry 1 of "waves" must be a number of jobs from 1, or a percentage, not the number 0; write for example 10 or 25%`,
			`m.yaml:6:18: wave 10 is not larger than a wave before it; each wave counts the jobs of the waves before, too: write for example [10, 25%, 100%]`,
			`m.yaml:6:27: wave 25% is not larger than a wave before it; each wave counts the jobs of the waves before, too: write for example [10, 25%, 100%]`,
			`m.yaml:6:38: a wave after 100% has no jobs; remove it`,
			`m.yaml:7:21: "passed" must be a percentage above 0% and up to 100%, not the number 80; write for example 80%`,
			`m.yaml:7:33: "checks" must be a percentage above 0% and up to 100%, not the string "101%"; write for example 80%`,
			`m.yaml:7:47: "merged" must be an integer of at least 1, not the number 0; write 1 or more`,
			`m.yaml:7:60: "forecast" must be more than 0; remove it for no limit`,
			`m.yaml:7:63: unknown key "unknown"; known here: checks, forecast, merged, passed`,
			`m.yaml:8:18: "failed" must be a percentage above 0% and up to 100%, not the string "x%"; write for example 80%`,
			`m.yaml:8:32: "denied" must be an integer of at least 1, not the number 5.5; write a whole number without a unit`,
			`m.yaml:9:13: "max_open" must be an integer of at least 1, not the number -1; write 1 or more`,
		}},
		{"no pull requests and no limits", head + "rollout: {advance: {checks: 90%, merged: 1, forecast: 3}, max_open: 3, per_hour: 3, ci_minutes: 3}\n", []string{
			`m.yaml:4:21: "checks" counts pull requests, but no task creates them; set publish: {mode: pr} on a task, or remove it`,
			`m.yaml:4:34: "merged" counts pull requests, but no task creates them; set publish: {mode: pr} on a task, or remove it`,
			`m.yaml:4:45: "forecast" requires a cost limit of each job, which task "a" does not have; set limits: {cost: USD}`,
			`m.yaml:4:59: "max_open" counts pull requests, but no task creates them; set publish: {mode: pr} on a task, or remove it`,
			`m.yaml:4:72: "per_hour" counts pull requests, but no task creates them; set publish: {mode: pr} on a task, or remove it`,
			`m.yaml:4:85: "ci_minutes" counts pull requests, but no task creates them; set publish: {mode: pr} on a task, or remove it`,
		}},
	})
}

// TestRolloutSelectsJobs refuses flags that select jobs, and a second rollout.
func TestRolloutSelectsJobs(t *testing.T) {
	const text = "version: 1\nmodel: openai/gpt-5-mini\nrollout: {waves: [1]}\n"
	dir := dirWith(t, map[string]string{"m.yaml": text + "tasks: [{id: a, prompt: p}]\n", "n.yaml": strings.Replace(text, "[1]", "[2]", 1) + "tasks: [{id: b, prompt: p}]\n"})
	o := options(dir)
	o.Overrides = tasks.Overrides{Shard: tasks.Shard{Index: 1, Total: 2}, Limit: 1, Sample: 1, Only: []string{"a"}}
	_, err := Load(t.Context(), []string{"m.yaml", "n.yaml"}, o)
	want := []string{`n.yaml:3:1: the rollout differs from the one at m.yaml:3; state it once: it holds for all manifests of a run`}
	for _, flag := range []string{"--limit", "--only", "--sample", "--shard"} {
		want = append(want, flag+": can't be combined with a rollout, which selects the jobs of its next wave; remove it, or the key rollout")
	}
	got := lines(t, err)
	for _, line := range want {
		if !strings.Contains(strings.Join(got, "\n"), line) {
			t.Errorf("missing %q in\n%s", line, strings.Join(got, "\n"))
		}
	}
}
