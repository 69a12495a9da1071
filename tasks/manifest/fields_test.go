package manifest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

func TestEachKeySetsItsField(t *testing.T) {
	m, problems := read(t, `version: 1
name: weekly
model: [openai/a, anthropic/b]
profile: edit
jobs: 4
clones: 8
limits: {turns: 7, cost: 1.5, time: 20m, tokens: 9_000, denials: 1, failures: 2, disk: 2GB, memory: 1GiB, processes: 64}
budget: {cost: 10, time: 2h}
vars: {a: 1.10, b: yes, c: "", d: 0x1F}
allow_dirty: true
allow_unknown_price: true
batch: true
tool_output: {lines: 10, bytes: 2000}
follow: {on: [review, checks], attempts: 2, cost: 3, stale: 30d}
evidence: {sign: ssh}
instructions: [o.md, o.md]
prices: {openai/a: {input: 1, output: 2}}
tasks:
- {id: a, prompt: p, needs: [b], attempts: 2, require_changes: true, setup: [make], verify: [make test, {name: lint, run: make lint, time: 1m}]}
- {id: b, prompt: p, commit: false, publish: patch, matrix: {os: [linux, windows], exclude: [{os: windows}]}}
`)
	if problems != nil {
		t.Fatal(problems)
	}
	wantLimits := tasks.Limits{Turns: 7, CostUSD: 3 * money.Dollar / 2, Time: 20 * time.Minute, Tokens: 9000, Denials: 1, Failures: 2, Disk: 2e9, Memory: 1 << 30, Processes: 64}
	if m.Limits != wantLimits || m.Budget != (tasks.Budget{CostUSD: 10 * money.Dollar, Time: 2 * time.Hour}) {
		t.Errorf("limits %+v, budget %+v", m.Limits, m.Budget)
	}
	if m.Name != "weekly" || m.Profile.S != "edit" || m.Parallel != 4 || m.Clones != 8 || !m.AllowDirty || !m.AllowUnknownPrice || !m.Batch || m.Output != (tasks.OutputLimits{Lines: 10, Bytes: 2000}) || !m.Evidence.Signed() {
		t.Errorf("manifest %+v", m)
	}
	if diff := cmp.Diff(map[string]string{"a": "1.10", "b": "yes", "c": "", "d": "0x1F"}, m.Vars); diff != "" {
		t.Errorf("vars (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&tasks.Follow{On: []tasks.FollowCause{tasks.FollowChecks, tasks.FollowReview}, Attempts: 2, CostUSD: 3 * money.Dollar, Stale: 30 * 24 * time.Hour}, m.Follow); diff != "" {
		t.Errorf("follow (-want +got):\n%s", diff)
	}
	if len(m.Instructions) != 1 || m.Instructions[0] != (tasks.Instruction{Path: "o.md", Text: "hi"}) {
		t.Errorf("instructions %+v", m.Instructions)
	}
	if len(m.Models.Names) != 2 || m.Models.Names[1].S != "anthropic/b" || len(m.Prices) != 1 || m.Prices[0].Model != "openai/a" {
		t.Errorf("models %v, prices %v", m.Models.Names, m.Prices)
	}
	a, b := m.Tasks[0], m.Tasks[1]
	if a.ID.S != "a" || a.Needs[0].S != "b" || a.Attempts != 2 || !a.RequireChanges || len(a.Setup) != 1 || a.Commit.Off {
		t.Errorf("task %+v", a)
	}
	if len(a.Verify) != 2 || a.Verify[0].Name != "make test" || a.Verify[1].Name != "lint" || a.Verify[1].Time != time.Minute || a.Verify[1].Line.Segments[0].Text != "make lint" {
		t.Errorf("verify %+v", a.Verify)
	}
	if !b.Commit.Off || b.Publish.Mode != tasks.PublishPatch || !slices.Equal(b.Matrix.Names(), []string{"os"}) || b.Matrix.Size() != 2 || len(b.Matrix.Combinations()) != 1 {
		t.Errorf("task %+v", b)
	}
}

func TestKeysThatAreNotSetHaveDefaults(t *testing.T) {
	m, problems := read(t, oneTask)
	if problems != nil {
		t.Fatal(problems)
	}
	if got := form.WithDefaults(limitKeys); m.Limits != (tasks.Limits{}) || got != tasks.DefaultLimits() {
		t.Errorf("limits %+v; the table of keys has the defaults %+v, and package tasks %+v", m.Limits, got, tasks.DefaultLimits())
	}
	one := m.Tasks[0]
	if m.Name != "" || m.Parallel != 0 || m.Follow != nil || m.Rollout != nil || m.Profile != nil || one.Attempts != 1 || one.Commit.Off || one.Commit.IfExists != tasks.FailIfExists {
		t.Errorf("manifest %+v, task %+v", m, one)
	}
	if got := one.Matrix.Combinations(); len(got) != 1 || len(got[0]) != 0 {
		t.Errorf("combinations %v", got)
	}
	if BaseName("-") != "stdin" || BaseName("a/b.yaml") != "b.yaml" {
		t.Error("a plan without a name is not called like its file")
	}
}

func TestMistakesInSmallForms(t *testing.T) {
	for text, want := range map[string]string{
		"version: 2\nmodel: openai/m\ntasks: [{id: a, prompt: p}]\n":   `m.yaml:1:10: version 2 is not supported; write version: 1`,
		"version: '1'\nmodel: openai/m\ntasks: [{id: a, prompt: p}]\n": `m.yaml:1:10: "version" must be the number 1, not the string "1"; write version: 1`,
		"model: openai/m\ntasks: [{id: a, prompt: p}]\n":               `m.yaml:1:1: missing key "version" in the file; add version: 1`,
		oneTask + "vars: {a: [1]}\n":                                   `m.yaml:4:11: "a" must be a string, number or boolean, not a list; write one value`,
		oneTask + "limits: {processes: 4}\n":                           `m.yaml:4:21: "processes" must be an integer from 16 to 2147483647, not the number 4; write 16 or more`,
		oneTask + "follow: {stale: 3651d}\n":                           `m.yaml:4:17: "stale" must be from 1d to 3650d; write for example 30d`,
		head + "tasks: [{id: a, prompt: p, change: {paths: []}}]\n":    `m.yaml:3:44: "paths" is empty; name at least one glob, remove it, or use the profile readonly`,
		head + "tasks: [{id: a b, prompt: p}]\n":                       `m.yaml:3:14: `,
	} {
		if _, got := read(t, text); len(got) != 1 || got[0] != want && (want[len(want)-1] != ' ' || len(got[0]) <= len(want) || got[0][:len(want)] != want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
