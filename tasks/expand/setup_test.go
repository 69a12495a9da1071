package expand

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

// TestSetupNetwork: the value in a profile, and what it extends.
func TestSetupNetwork(t *testing.T) {
	for text, want := range map[string]*permission.Network{
		"":                            nil,
		"setup_network: registries":   nil,
		"setup_network: deny":         {},
		"setup_network: allow":        {Allow: true},
		"setup_network: [go, x.corp]": {Hosts: []string{"go", "x.corp"}},
		"setup_network: [registries]": {Hosts: []string{"registries"}},
		"extends: base":               {Hosts: []string{"b.corp"}},
		"extends: base, setup_network: registries": nil,
	} {
		plan := mustLoad(t, oneTask+"profiles: {base: {setup_network: [b.corp]}, p: {"+text+"}}\nprofile: p\n", tasks.Overrides{})
		if diff := cmp.Diff(want, plan.Jobs[0].Profile.Setup); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestMistakesInSetup(t *testing.T) {
	for text, want := range map[string]string{
		"profiles: {p: {setup_network: sometimes}}":   `m.yaml:4:31: "setup_network" must be registries, deny, allow or a list of hosts, not the string "sometimes"; write one of them`,
		"profiles: {p: {setup_network: [https://x]}}": `m.yaml:4:32: invalid host "https://x"; write its name alone, such as proxy.golang.org`,
	} {
		_, err := loadText(t, oneTask+text, nil, tasks.Overrides{})
		if diff := cmp.Diff([]string{want}, lines(t, err)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	_, err := loadText(t, "version: 1\nmodel: openai/m\ntasks: [{id: a, prompt: p, setup_env: [NPM_TOKEN, BUILD, MY_API_KEY, a b]}]\n", nil, tasks.Overrides{})
	want := []string{
		`m.yaml:3:40: the environment variable NPM_TOKEN of setup_env is not set; set it, or remove it`,
		`m.yaml:3:58: "MY_API_KEY" is an API key or named like one, which commands must not see; remove it: millhand reads API keys itself`,
		`m.yaml:3:70: invalid environment variable name "a b"; write the name alone, such as CI`,
	}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Error(diff)
	}
}

// TestPoliciesBoundSetup: a policy names what setup commands may reach and get.
func TestPoliciesBoundSetup(t *testing.T) {
	load := func(keys string, rules ...policy.Rule) error {
		dir := dirWith(t, map[string]string{"m.yaml": oneTask + keys})
		opts := options(dir)
		opts.Policies = policy.Set{{Name: "p.yaml", Rules: rules}}
		_, err := Load(t.Context(), []string{"m.yaml"}, opts)
		return err
	}
	profile := func(hosts string) string { return "profiles: {p: {setup_network: " + hosts + "}}\n" }
	registries := policy.Rule{Key: policy.SetupNetwork, Allow: []string{permission.Registries, "npm", "rubygems"}, Source: "p.yaml:2"}
	hosts := policy.Rule{Key: policy.Hosts, Allow: []string{"x.corp"}, Source: "p.yaml:3"}
	for _, tt := range []struct {
		keys  string
		rules []policy.Rule
		want  []string
	}{
		{profile("[registries, npm, rubygems]"), []policy.Rule{registries}, nil},
		{profile("[x.corp]"), []policy.Rule{hosts}, nil},
		{profile("[y.corp]"), []policy.Rule{hosts}, []string{`m.yaml:4:32: the host "y.corp" not allowed by hosts (p.yaml:3); remove it, or change the policy`}},
		{profile("[x.corp]"), []policy.Rule{hosts, registries}, []string{`m.yaml:4:32: the host "x.corp" not allowed by setup_network (p.yaml:2); remove it, or change the policy`}},
	} {
		var got []string
		if err := load(tt.keys, tt.rules...); err != nil {
			got = lines(t, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.keys, diff)
		}
	}
}
