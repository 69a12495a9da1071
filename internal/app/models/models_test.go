package models

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/tasks"
)

// newSet returns the models of a plan, with an environment.
func newSet(p *tasks.Plan, env map[string]string) *Set {
	return withPrices(p, process{getenv: func(name string) string { return env[name] }, now: time.Now}, prices.BuiltIn())
}

// job returns a job that calls a model, with others to fall back to.
func job(id, model string, limit money.USD, fallback ...string) tasks.Job {
	j := tasks.Job{ID: id, Model: model, ModelName: model, Limits: tasks.Limits{CostUSD: limit}}
	for _, name := range fallback {
		j.Fallback = append(j.Fallback, tasks.Model{ID: name, Name: name})
	}
	return j
}

func TestCheckReportsMissingModels(t *testing.T) {
	const known = "openai/gpt-4.1"
	script := filepath.Join(t.TempDir(), "model.yaml")
	if err := os.WriteFile(script, []byte("version: 1\nturns: [{text: Done.}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := map[string]string{"OPENAI_API_KEY": "sk-1"}
	for _, c := range []struct {
		name string
		plan tasks.Plan
		env  map[string]string
		want string // what the error contains; "" for none
	}{
		{"a key", tasks.Plan{Jobs: []tasks.Job{job("a", known, 0)}}, key, ""},
		{"no key", tasks.Plan{Jobs: []tasks.Job{job("a", known, 0)}}, nil, "OPENAI_API_KEY"},
		{"a key of white space", tasks.Plan{Jobs: []tasks.Job{job("a", known, 0)}}, map[string]string{"OPENAI_API_KEY": " \n"}, "OPENAI_API_KEY"},
		{"no key of a fallback", tasks.Plan{Jobs: []tasks.Job{job("a", known, 0, "anthropic/claude-sonnet-4-5")}}, key, "ANTHROPIC_API_KEY"},
		{"no key of an agent's model", tasks.Plan{
			Jobs:   []tasks.Job{job("a", known, 0)},
			Agents: []tasks.Agent{{Name: "x", Model: &tasks.Model{ID: "anthropic/claude-sonnet-4-5", Name: "anthropic/claude-sonnet-4-5"}}},
		}, key, "ANTHROPIC_API_KEY"},
		{"an unknown provider", tasks.Plan{Jobs: []tasks.Job{job("a", "nobody/x", 0)}}, key, "nobody"},
		{"a script", tasks.Plan{Jobs: []tasks.Job{job("a", "script:"+script, 0)}}, nil, ""},
		{"a missing script", tasks.Plan{Jobs: []tasks.Job{job("a", "script:"+script+"x", 0)}}, nil, "no such file"},
		{"a missing recording", tasks.Plan{Jobs: []tasks.Job{job("a", "replay:"+script+"x", 0)}}, nil, "no such file"},
		{"a limit on an unknown price", tasks.Plan{Jobs: []tasks.Job{job("a", "openai/unheard-of", money.Dollar)}}, key, "price"},
		{"a limit on an unknown price, accepted", tasks.Plan{AllowUnknownPrice: true, Jobs: []tasks.Job{job("a", "openai/unheard-of", money.Dollar)}}, key, ""},
		{"a limit on a price that the manifest gives", tasks.Plan{
			Jobs:   []tasks.Job{job("a", "openai/unheard-of", money.Dollar)},
			Prices: map[string]money.Price{"openai/unheard-of": {Rates: money.Rates{Input: money.Dollar, Output: money.Dollar}}},
		}, key, ""},
		{"the run's limit on a fallback of unknown price", tasks.Plan{
			Budget: tasks.Budget{CostUSD: money.Dollar}, Jobs: []tasks.Job{job("a", known, 0, "openai/unheard-of")},
		}, key, "openai/unheard-of"},
	} {
		err := newSet(&c.plan, c.env).Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestCheckReportsOutputSchemasThatAProviderRefuses(t *testing.T) {
	const claude, gpt = "anthropic/claude-sonnet-4-5", "openai/gpt-4.1"
	own := map[string]tasks.Provider{"mine": {Kind: "anthropic", BaseURL: "http://localhost:1"}}
	names := func(names ...string) map[string]any {
		properties := map[string]any{"good": map[string]any{"enum": []any{map[string]any{"properties": map[string]any{"$x": 1}}}}}
		for _, name := range names {
			properties[name] = map[string]any{"type": "string"}
		}
		return map[string]any{"type": "object", "properties": properties}
	}
	for _, c := range []struct {
		model, fallback string
		schema          map[string]any
		want            string // what the error contains; "" for none
	}{
		{claude, claude, nil, ""},
		{claude, claude, names("a.b", "c-d", "properties"), ""},
		{claude, gpt, names("$filter"), claude + ` refuses the output schema of task a because of the property "$filter"`},
		{gpt, claude, names("a b"), `"a b"`},
		{gpt, gpt, names("$filter", "日本"), ""},
		{"mine/x", gpt, names(""), `mine/x refuses the output schema of task a because of the property ""`},
		{claude, gpt, names(strings.Repeat("x", 65)), "refuses"},
		{claude, gpt, map[string]any{"$defs": map[string]any{"x": names("日本")}}, "日本"},
		{claude, gpt, map[string]any{"properties": map[string]any{"properties": names("@a")}}, "@a"},
		{claude, gpt, map[string]any{"items": map[string]any{"anyOf": []any{names(), names("@b")}}}, "@b"},
	} {
		j := job("a", c.model, 0, c.fallback)
		j.Task, j.Schema = "a", c.schema
		err := newSet(&tasks.Plan{Jobs: []tasks.Job{j, j}, Providers: own}, map[string]string{"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2"}).Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || strings.Count(err.Error(), c.want) != 1) {
			t.Errorf("%s, %v: error %v, want %q", c.model, c.schema, err, c.want)
		}
	}
}

func TestAMissingKeyIsAKeyError(t *testing.T) {
	err := newSet(&tasks.Plan{Jobs: []tasks.Job{job("a", "openai/gpt-4.1", 0)}}, nil).Check()
	if key := (*fault.KeyError)(nil); !errors.As(err, &key) || key.Model != "openai/gpt-4.1" || len(key.Variables) == 0 {
		t.Errorf("error %v", err)
	}
}

func TestProviderKeyIsNotSentToOtherServers(t *testing.T) {
	plan := &tasks.Plan{
		Jobs:      []tasks.Job{job("a", "mine/gpt", 0)},
		Providers: map[string]tasks.Provider{"mine": {Kind: "openai", BaseURL: "http://127.0.0.1:1/v1"}},
	}
	s := newSet(plan, map[string]string{"OPENAI_API_KEY": "sk-of-openai"})
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if of := s.wires["mine/gpt"].account; of != accountID("http://127.0.0.1:1/v1", "") {
		t.Errorf("account %s", of)
	}
}

func TestPoliciesApplyToEndpointsOfTheEnvironment(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "http://elsewhere.test/v1"}
	hosts := policy.Policy{Name: "policy.yaml", Rules: []policy.Rule{{Key: policy.Hosts, Allow: []string{"api.openai.com"}, Source: "policy.yaml:2"}}}
	for _, c := range []struct {
		name string
		set  policy.Set
		want string // what the error contains; "" for none
	}{
		{"a policy file", policy.Set{hosts}, "policy.yaml:2"},
		{"an untrusted manifest", policy.Set{policy.ForUntrusted(nil)}, ""}, // the environment is the operator's
		{"both", policy.Set{policy.ForUntrusted(nil), hosts}, "policy.yaml:2"},
	} {
		plan := &tasks.Plan{Jobs: []tasks.Job{job("a", "openai/gpt-4.1", 0)}, Policies: c.set}
		err := newSet(plan, env).Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestModelsOfOneAccountShareALimiter(t *testing.T) {
	plan := &tasks.Plan{Jobs: []tasks.Job{job("a", "openai/gpt-4.1", 0, "openai/gpt-4.1-mini", "anthropic/claude-sonnet-4-5")}}
	s := newSet(plan, map[string]string{"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2"})
	if _, err := s.Open(plan.Jobs[0], "", opened.Notices{}); err != nil {
		t.Fatal(err)
	}
	one, gate := s.limits("openai/gpt-4.1")
	two, sameGate := s.limits("openai/gpt-4.1-mini")
	other, otherGate := s.limits("anthropic/claude-sonnet-4-5")
	if one == nil || one != two || one == other || other == nil {
		t.Errorf("limiters %p, %p and %p", one, two, other)
	}
	if gate == nil || gate != sameGate || gate == otherGate || otherGate == nil {
		t.Errorf("gates %p, %p and %p", gate, sameGate, otherGate)
	}
}

func TestMaxCost(t *testing.T) {
	const known = "openai/gpt-4.1"
	for _, c := range []struct {
		name   string
		budget money.USD
		jobs   []tasks.Job
		want   []string // of each job, then of all; "" is unknown
	}{
		{"no limits", 0, []tasks.Job{job("a", known, 0)}, []string{"", ""}},
		{"a job's limit", 0, []tasks.Job{job("a", known, 2*money.Dollar)}, []string{"2", "2"}},
		{"the run's limit", 3 * money.Dollar, []tasks.Job{job("a", known, 0)}, []string{"3", "3"}},
		{"the lower one", 3 * money.Dollar, []tasks.Job{job("a", known, 2*money.Dollar), job("b", known, 5*money.Dollar)}, []string{"2", "3", "3"}},
		{"jobs below the run's limit", 9 * money.Dollar, []tasks.Job{job("a", known, 2*money.Dollar), job("b", known, 5*money.Dollar)}, []string{"2", "5", "7"}},
		{"a job without a limit", 0, []tasks.Job{job("a", known, 2*money.Dollar), job("b", known, 0)}, []string{"2", "", ""}},
		{"an unknown price", 3 * money.Dollar, []tasks.Job{job("a", "openai/unheard-of", money.Dollar)}, []string{"", ""}},
		{"an unknown price of a fallback", 3 * money.Dollar, []tasks.Job{job("a", known, money.Dollar, "openai/unheard-of")}, []string{"", ""}},
	} {
		s := newSet(&tasks.Plan{Budget: tasks.Budget{CostUSD: c.budget}, Jobs: c.jobs}, nil)
		var got []string
		for _, j := range c.jobs {
			got = append(got, dollars(s.MaxCost(j)))
		}
		got = append(got, dollars(s.MaxRunCost(func(tasks.Job) bool { return true })))
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func dollars(usd *money.USD) string {
	if usd == nil {
		return ""
	}
	return usd.String()
}

func TestMaxRunCostExcludesSkippedJobs(t *testing.T) {
	jobs := []tasks.Job{job("a", "openai/gpt-4.1", 2*money.Dollar), job("b", "openai/gpt-4.1", 5*money.Dollar)}
	s := newSet(&tasks.Plan{Jobs: jobs}, nil)
	if got := dollars(s.MaxRunCost(func(j tasks.Job) bool { return j.ID == "b" })); got != "5" {
		t.Errorf("%q, want 5", got)
	}
}

func TestCatalogHasOnlyTheGivenProviders(t *testing.T) {
	doc, unknown, err := NewCatalog(prices.BuiltIn(), []string{"gemini", "ollama"}, func(name string) string {
		return map[string]string{"GEMINI_API_KEY": "k"}[name]
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Models) == 0 || len(unknown) != 1 || unknown[0] != "ollama" {
		t.Errorf("%d models, unknown prices of %q", len(doc.Models), unknown)
	}
	for _, m := range doc.Models {
		if m.Provider != "google" || m.KeySet == nil || *m.KeySet != "GEMINI_API_KEY" || m.Prices.Output == 0 {
			t.Errorf("%+v", m)
		}
	}
	if _, _, err := NewCatalog(prices.BuiltIn(), []string{"nobody"}, os.Getenv, time.Now()); err == nil || !strings.Contains(err.Error(), "openai") {
		t.Errorf("error %v, want one that lists the providers", err)
	}
}
