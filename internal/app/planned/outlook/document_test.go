package outlook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forecast"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/tasks"
)

func TestTheDocumentHasWhatAJobIsAllowed(t *testing.T) {
	t.Parallel()
	full := tasks.Job{
		ID: "a", Task: "fix", Repo: tasks.Repo{Name: "shop"}, ModelName: "openai/x", Agent: "build", Prompt: "Fix.", Attempts: 2, Publish: tasks.PublishPush,
		Matrix: map[string]string{"dir": "a"}, Setup: []string{"make"}, Needs: []string{"b"}, Baseline: "fail", Untrusted: []string{"vendor/**"},
		Commit: &tasks.Commit{Branch: "millhand/a"}, Script: &tasks.TaskScript{File: "fix.js"},
		Context: &tasks.Context{Parts: []tasks.ContextPart{"diff"}, Thread: tasks.Thread{Repo: "acme/shop", Number: 7, Issue: true}}, AfterUntrusted: &tasks.AfterUntrusted{Network: true, Bash: tasks.BashNone, Source: "m.yaml:3"},
		Verify: []tasks.Verify{{Name: "vet", Run: "go vet ./...", Time: time.Minute}, {Name: "test", Run: "go test ./..."}},
	}
	full.Limits.Turns, full.Limits.CostUSD, full.Limits.Time, full.Limits.Tokens = 9, money.Dollar, time.Hour, 1000
	full.Limits.Denials, full.Limits.Failures, full.Limits.Disk, full.Limits.Memory, full.Limits.Processes = 3, 4, 5, 6, 7
	got := fields(t, jobJSON(full))
	for name, want := range map[string]string{
		"id": `"a"`, "task": `"fix"`, "repo": `"shop"`, "matrix": `{"dir":"a"}`, "model": `"openai/x"`, "agent": `"build"`, "prompt": `"Fix."`, "branch": `"millhand/a"`, "setup": `["make"]`,
		"script": `"fix.js"`, "baseline": `"fail"`, "attempts": "2", "needs": `["b"]`, "publish": `"push"`,
		"context":         `{"parts":["diff"],"repo":"acme/shop","number":7,"issue":true}`,
		"verify":          `[{"name":"vet","run":"go vet ./...","time":"1m0s"},{"name":"test","run":"go test ./...","time":""}]`,
		"limits":          `{"turns":9,"cost_usd":1,"time":"1h0m0s","tokens":1000,"denials":3,"failures":4,"disk_bytes":5,"memory_bytes":6,"processes":7}`,
		"after_untrusted": `{"network":"deny","bash":"none","untrusted":["vendor/**"],"source":"m.yaml:3"}`,
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	none := fields(t, jobJSON(tasks.Job{}))
	for name, want := range map[string]string{
		"branch": "null", "script": "null", "baseline": "null", "context": "", "after_untrusted": "", "setup": "[]", "needs": "[]", "verify": "[]",
		"limits": `{"turns":null,"cost_usd":null,"time":null,"tokens":null,"denials":null,"failures":null,"disk_bytes":null,"memory_bytes":null,"processes":null}`,
	} {
		if none[name] != want {
			t.Errorf("without any: %s: %s, want %s", name, none[name], want)
		}
	}
}

// fields are those of a document, as compact JSON; "" for an absent one.
func fields(t *testing.T, doc any) map[string]string {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for name, value := range raw {
		all[name] = string(value)
	}
	return all
}

func TestOnlyACheckContactsRemotesAndFails(t *testing.T) {
	w, out, log := in(t, strings.ReplaceAll(manifest(""), "profile: build, repos: [{path: .}]", "profile: build, repos: [{url: 'file:///no/such/repository'}]"))
	if err := show(t, w, Options{Format: "table"}); err != nil || strings.Contains(out.String(), "fail: ") {
		t.Errorf("without --check: %v\n%s", err, out)
	}
	out.Reset()
	err := show(t, w, Options{Format: "table", Check: true})
	if fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "2 jobs would fail immediately") || strings.Count(out.String(), "fail: fetch the repository") != 2 || !strings.Contains(out.String(), "4 jobs, 2 with a note, maximum cost $2,") {
		t.Errorf("with --check: %v\n%s\n%s", err, out, log)
	}
}

func TestTheTableNamesBranchesVerifyCommandsAndNeeds(t *testing.T) {
	w, out, _ := in(t, `version: 1
name: m
model: openai/gpt-5-mini
limits: {cost: 1}
tasks:
  - {id: look, prompt: Look., profile: readonly, repos: [{path: .}], commit: false}
  - {id: fix, prompt: Fix., profile: build, repos: [{path: .}], verify: [{name: vet, run: go vet ./...}, {name: test, run: go test ./...}], needs: [look], setup: [make deps]}
`)
	if err := show(t, w, Options{Format: "table"}); err != nil {
		t.Fatal(err, fault.ProblemsOf(err))
	}
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	if len(rows) < 4 || !strings.HasPrefix(rows[1], "look ") || !strings.Contains(rows[1], " readonly (not committed) - - $1 -") || !strings.Contains(rows[2], " build millhand/fix vet, test look $1 -") {
		t.Errorf("%s", out)
	}
	if !strings.Contains(out.String(), "setup of fix may reach ") {
		t.Errorf("no setup in\n%s", out)
	}
}

func TestSavedRunsMakeAForecastAndCompleteWaves(t *testing.T) {
	w, out, _ := in(t, manifest(twoWaves))
	w.Forecast = forecast.Estimate
	plan := func(o Options) planDocument {
		t.Helper()
		out.Reset()
		o.Format = "json"
		if err := show(t, w, o); err != nil {
			t.Fatal(err)
		}
		var doc planDocument
		if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	before := plan(Options{})
	first := ""
	for _, j := range before.Jobs {
		if j.Note == nil {
			first = j.ID
		}
	}
	start := event.Run{ID: "r1", PlanHash: before.Hash, Jobs: []event.PlannedJob{{ID: first}}, Rollout: &event.Rollout{Name: "m"}}
	text := reporttest.Lines(t, event.Event{Type: event.RunStarted, Run: &start}, reporttest.Started(first),
		reporttest.JobEnded(first, event.JobEnd{Outcome: event.Passed, CostUSD: reporttest.Costs(0.5)}), reporttest.RunEnded(event.Passed, event.ExitOK))
	dir := filepath.Join(w.Dir, ".millhand", "runs", "r1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	after := plan(Options{})
	notes := map[string]bool{}
	for _, j := range after.Jobs {
		notes[j.ID] = j.Note != nil
	}
	if after.Forecast == nil || !notes[first] || cmp.Equal(before.Rollout, after.Rollout) {
		t.Errorf("forecast %+v, notes %v, rollout %+v", after.Forecast, notes, after.Rollout)
	}
	for _, j := range after.Jobs {
		if j.ID != first && notes[j.ID] {
			t.Errorf("%s of the last wave: %+v", j.ID, j.Note)
		}
	}
	if err := show(t, w, Options{Format: "json", After: []string{"none"}}); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "--after none: ") {
		t.Errorf("a run that is missing: %v", err)
	}
}

func TestSetupThatATaskLacksIsProposedOnce(t *testing.T) {
	w, _, log := in(t, strings.ReplaceAll(manifest(""), "go vet ./...", "npm test"))
	for name, text := range map[string]string{
		"package.json": `{"dependencies": {"left-pad": "1.3.0"}}`, "package-lock.json": `{"lockfileVersion": 3, "packages": {"node_modules/left-pad": {"version": "1.3.0"}}}`,
	} {
		if err := os.WriteFile(filepath.Join(w.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const line = "warning: task fix has verify but no setup, and the dependencies in package-lock.json are not in the cache: add setup: ["
	for _, command := range []func() error{
		func() error { return show(t, w, Options{Format: "json"}) },
		func() error { return Validate(t.Context(), w, load.Options{Manifests: []string{"m.yaml"}}) },
	} {
		log.Reset()
		if err := command(); err != nil || strings.Count(log.String(), line) != 1 {
			t.Errorf("%v, %s", err, log)
		}
	}
	log.Reset()
	o := load.Options{Manifests: []string{"m.yaml"}}
	o.Policies = []string{filepath.Join(w.Dir, "p.yaml")}
	if err := os.WriteFile(o.Policies[0], []byte("version: 1\nsetup: deny\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Validate(t.Context(), w, o); err != nil || strings.Contains(log.String(), "add setup") {
		t.Errorf("a policy that denies setup: %v %v, %s", err, fault.ProblemsOf(err), log)
	}
}

func TestNotesOfAPlanArePrintedByPlanAndValidate(t *testing.T) {
	w, out, log := in(t, strings.ReplaceAll(manifest(""), "model: openai/gpt-5-mini\nlimits: {cost: 1}\n", "model: openai/gpt-5-minni\n"))
	if err := show(t, w, Options{Format: "table"}); err != nil || !strings.Contains(log.String(), "warning: unknown model openai/gpt-5-minni; did you mean ") {
		t.Errorf("plan: %v, %s", err, log)
	}
	log.Reset()
	out.Reset()
	if err := Validate(t.Context(), w, load.Options{Manifests: []string{"m.yaml"}}); err != nil || !strings.Contains(log.String(), "warning: unknown model openai/gpt-5-minni; did you mean ") {
		t.Errorf("validate: %v, %s", err, log)
	}
	log.Reset()
	out.Reset()
	list := "version: 1\nname: m\nmodel: openai/gpt-5-mini\nrepos: [{github: {org: acme}}]\ntasks:\n  - {id: a, prompt: Look., profile: readonly}\n"
	if err := os.WriteFile(filepath.Join(w.Dir, "list.yaml"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Validate(t.Context(), w, load.Options{Manifests: []string{"list.yaml"}}); err != nil || out.String() != "list.yaml: no problems found\n" {
		t.Errorf("without its list: %v %v, %s", err, fault.ProblemsOf(err), out)
	}
}

func TestSetupOfAJobIsInItsDocument(t *testing.T) {
	w, out, _ := in(t, strings.ReplaceAll(manifest(""), "verify: [go vet ./...]", "setup: [make deps]"))
	if err := show(t, w, Options{Format: "json"}); err != nil {
		t.Fatal(err)
	}
	var doc planDocument
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
		t.Fatal(err)
	}
	for _, j := range doc.Jobs {
		if sets := j.Task == "fix"; (j.SetupNet != nil) != sets || len(j.Setup) > 0 != sets {
			t.Errorf("%s: setup %q, network %+v", j.ID, j.Setup, j.SetupNet)
		}
	}
}
