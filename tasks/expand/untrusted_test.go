package expand

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

func TestRightsAfterUntrustedContent(t *testing.T) {
	p := mustLoad(t, head+`tasks:
  - {id: a, prompt: p, untrusted: ["vendor/**"], after_untrusted: {network: deny, publish: patch, mcp: none, bash: readonly}}
  - {id: b, prompt: p, after_untrusted: {bash: none, publish: push}}
  - {id: c, prompt: p}
`, tasks.Overrides{})
	want := []*tasks.AfterUntrusted{
		{Network: true, MCP: true, Bash: tasks.BashReadonly, Publish: tasks.PublishPatch, Source: "m.yaml:4"},
		{Bash: tasks.BashNone, Publish: tasks.PublishPush, Source: "m.yaml:5"},
		nil,
	}
	for i, j := range p.Jobs {
		if diff := cmp.Diff(want[i], j.AfterUntrusted); diff != "" {
			t.Errorf("%s (-want +got):\n%s", j.ID, diff)
		}
	}
	if diff := cmp.Diff([]string{"vendor/**"}, p.Jobs[0].Untrusted); diff != "" {
		t.Error(diff)
	}
}

func TestMistakesInRightsAfterUntrustedContent(t *testing.T) {
	_, err := loadText(t, head+`tasks:
- {id: a, prompt: p, after_untrusted: {network: allow}}
- {id: b, prompt: p, after_untrusted: {publish: pr}}
- {id: c, prompt: p, after_untrusted: {bash: deny, mcp: deny}}
- {id: d, prompt: p, untrusted: [vendor]}
- {id: e, prompt: p, after_untrusted: {networks: deny}}
- {id: f, prompt: p, after_untrusted: deny}
- {id: g, prompt: p, after_untrusted: {}, untrusted: ["["]}
`, nil, tasks.Overrides{})
	want := []string{
		`m.yaml:4:49: "network" must be one of deny, not "allow"; write deny, or remove it`,
		`m.yaml:5:49: "publish" must be one of push, branch, patch, not "pr"; write push, branch, patch, or remove it`,
		`m.yaml:6:46: "bash" must be one of readonly, none, not "deny"; write readonly, none, or remove it`,
		`m.yaml:6:57: "mcp" must be one of none, not "deny"; write none, or remove it`,
		"m.yaml:7:22: untrusted without after_untrusted; add after_untrusted: {network: deny, publish: patch, mcp: none, bash: readonly}",
		`m.yaml:8:40: unknown key "networks"; did you mean "network"?`,
		`m.yaml:9:39: "after_untrusted" must be a mapping, not the string "deny"; write KEY: VALUE`,
		`m.yaml:10:55: invalid glob "["; close its brackets`,
	}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestAPolicyRevokesRightsOfEachJob(t *testing.T) {
	dir := dirWith(t, map[string]string{
		"m.yaml": head + "tasks:\n  - {id: a, prompt: p, untrusted: [own], after_untrusted: {publish: patch}}\n  - {id: b, prompt: p}\n",
		"p.yaml": "version: 1\nafter_untrusted: {network: deny, publish: push}\nuntrusted: [\"vendor/**\"]\n",
	})
	opts := options(dir)
	without, err := Load(t.Context(), []string{"m.yaml"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	p, err := manifest.LoadPolicy(t.Context(), "p.yaml", opts)
	if err != nil {
		t.Fatal(err)
	}
	opts.Policies = policy.Set{p}
	plan, err := Load(t.Context(), []string{"m.yaml"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	want := []*tasks.AfterUntrusted{
		{Network: true, Publish: tasks.PublishPatch, Source: "m.yaml:4, p.yaml:2"},
		{Network: true, Publish: tasks.PublishPush, Source: "p.yaml:2"},
	}
	files := [][]string{{"own", "vendor/**"}, {"vendor/**"}}
	for i, j := range plan.Jobs {
		if diff := cmp.Diff(want[i], j.AfterUntrusted) + cmp.Diff(files[i], j.Untrusted); diff != "" {
			t.Errorf("%s (-want +got):\n%s", j.ID, diff)
		}
		if j.Hash != without.Jobs[i].Hash || plan.Hash != without.Hash {
			t.Errorf("%s: the hash depends on the policies of this machine", j.ID)
		}
	}
}
