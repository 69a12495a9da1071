package models

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

// Models of endpoints that a manifest defines have the facts of their kind, of the model
// that they are like, or those that it states.
func TestModelsOfOwnProviders(t *testing.T) {
	usd := func(f float64) *money.USD { return new(money.USD(f * float64(money.Dollar))) }
	plan := &tasks.Plan{Providers: map[string]tasks.Provider{
		"oa":   {Kind: "responses", BaseURL: "https://oa.test/v1"},
		"gpu":  {Kind: "vllm", BaseURL: "http://gpu.test/v1", KeyEnv: "GPU_KEY"},
		"olla": {Kind: "ollama", KeyEnv: "GPU_KEY"},
		"house": {Kind: "openai", BaseURL: "https://house.test/v1", Models: map[string]tasks.ModelFacts{
			"coder":    {Input: usd(4), Output: usd(8), Window: 1000, MaxOutput: 100, Vision: new(false)},
			"claude-x": {Input: usd(4), Output: usd(8)},
			"fast":     {Like: "openai/gpt-5.4", Window: 2000},
			"cheap":    {Like: "openai/gpt-5.4", Output: usd(1), Vision: new(true)},
			"long":     {Input: usd(1), Output: usd(2), Tiers: []money.Tier{{From: 10, Rates: money.Rates{Input: 2 * money.Dollar, Output: 3 * money.Dollar, CacheRead: 2 * money.Dollar, CacheWrite: 2 * money.Dollar}}}},
		}},
	}}
	env := map[string]string{"GPU_KEY": "x"}
	million := money.Usage{Input: 1e6, Output: 1e6}
	for _, tt := range []struct {
		model string
		usage money.Usage
		cost  string // "" if unknown
		facts opened.Facts
	}{
		{"openai/gpt-5.4", million, "27.5", opened.Facts{Images: true, PDFs: true, Context: 1_050_000, MaxOutput: 128_000}},
		{"oa/gpt-5.4", million, "27.5", opened.Facts{Images: true, PDFs: true, Context: 1_050_000, MaxOutput: 128_000}},
		{"oa/unheard-of", million, "", opened.Facts{Images: true}},
		{"house/unheard-of", million, "", opened.Facts{Images: true}},
		{"house/coder", million, "12", opened.Facts{Context: 1000, MaxOutput: 100}},
		{"house/claude-x", money.Usage{Input: 1e6, CacheWrite: 1e6}, "5", opened.Facts{Images: true}},
		{"house/fast", million, "27.5", opened.Facts{Images: true, PDFs: true, Context: 2000, MaxOutput: 128_000, Like: "openai/gpt-5.4"}},
		{"house/cheap", million, "3.5", opened.Facts{Images: true, PDFs: true, Context: 1_050_000, MaxOutput: 128_000, Like: "openai/gpt-5.4"}},
		{"house/long", money.Usage{Input: 10}, "0.00001", opened.Facts{Images: true}},
		{"house/long", money.Usage{Input: 11, CacheWrite: 11}, "0.000022", opened.Facts{Images: true}},
		{"ollama/llama3", million, "0", opened.Facts{Images: true}},
		{"gpu/llama3", million, "0", opened.Facts{Images: true}},
		{"olla/llama3", million, "", opened.Facts{Images: true}}, // a key of Ollama's cloud
		{"groq/openai/gpt-oss-20b", million, "0.375", opened.Facts{Context: 131_072, MaxOutput: 65_536}},
	} {
		s := newSet(plan, env)
		got := ""
		if p, ok := s.costs().price(tt.model, tt.model); ok {
			usd, _ := s.costs().cost(tt.model, p, tt.usage)
			got = usd.String()
		}
		if got != tt.cost {
			t.Errorf("%s costs %q, want %q", tt.model, got, tt.cost)
		}
		if diff := cmp.Diff(tt.facts, s.Facts(tt.model)); diff != "" {
			t.Errorf("%s: %s", tt.model, diff)
		}
	}
	// An operator's budget does not believe the kind of an endpoint.
	plan.Policies = policy.Set{{Name: "policy.yaml", Rules: []policy.Rule{{Key: policy.Budget, Source: "policy.yaml:1"}}}}
	if _, ok := newSet(plan, env).costs().price("gpu/llama3", "gpu/llama3"); ok {
		t.Error("a manifest has made an endpoint free")
	}
}

// The most expensive price of the day is reserved.
func TestPricesThatDependOnTheHour(t *testing.T) {
	s := newSet(&tasks.Plan{}, nil)
	s.now = func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }
	quotes := s.quotes([]tasks.Model{{ID: "deepseek/deepseek-v4-pro", Name: "deepseek/deepseek-v4-pro"}})
	if got := quotes.Most(money.Usage{Input: 1e6}, s.now()).String(); got != "1.32" {
		t.Errorf("%s is reserved", got)
	}
}

// A tier of service has its own price, which is also reserved once it has occurred. Prices
// of the manifest are those of all tiers.
func TestPricesOfTerms(t *testing.T) {
	const id = "openai/gpt-5.5"
	usage := money.Usage{Input: 1e5}
	for _, tt := range []struct {
		terms, cost, next string
		written           map[string]money.Price
	}{
		{"", "0.5", "0.5", nil},
		{"priority", "1.25", "1.25", nil},
		{"flex", "0.25", "0.5", nil},
		{"priority", "0.3", "0.3", map[string]money.Price{id: {Rates: money.Rates{Input: 3 * money.Dollar}}}},
	} {
		s := newSet(&tasks.Plan{Prices: tt.written}, nil)
		price, _ := s.costs().price(id, id)
		usage := usage
		usage.Terms = tt.terms
		usd, ok := s.costs().cost(id, price, usage)
		if next := s.quotes([]tasks.Model{{ID: id, Name: id}}).Most(money.Usage{Input: 1e5}, s.now()); !ok || usd.String() != tt.cost || next.String() != tt.next {
			t.Errorf("%q costs %s, and then %s is reserved", tt.terms, usd, next)
		}
	}
}

// A regional host of OpenAI costs more from the first request on. Web searches cost beside the tokens.
func TestPricesOfRegionsAndSearches(t *testing.T) {
	const id = "openai/gpt-5.5"
	for _, tt := range []struct {
		base, terms string
		searches    int64
		cost, next  string
	}{
		{"", "", 3, "0.53", "0.5"},
		{"https://us.api.openai.com/v1", "", 0, "0.55", "0.55"},
		{"https://eu.api.openai.com/v1", "priority", 1, "1.385", "1.375"},
		{"https://api.openai.com/v1", "", 0, "0.5", "0.5"},
		{"https://us.api.openai.com.example", "", 0, "0.5", "0.5"},
	} {
		s := newSet(&tasks.Plan{}, map[string]string{"OPENAI_BASE_URL": tt.base})
		price, _ := s.costs().price(id, id)
		quotes := s.quotes([]tasks.Model{{ID: id, Name: id}})
		usd, ok := s.costs().cost(id, price, money.Usage{Input: 1e5, Terms: tt.terms, Searches: tt.searches})
		if most := quotes.Most(money.Usage{Input: 1e5}, s.now()); !ok || usd.String() != tt.cost || most.String() != tt.next {
			t.Errorf("%+v: costs %s, and then %s is reserved", tt, usd, most)
		}
	}
}

// sampling is a model that keeps the parameters of its request.
type sampling struct{ got *model.Sampling }

func (s sampling) Stream(_ context.Context, req model.Request, _ func(model.Delta)) (model.Response, error) {
	*s.got = req.Sampling
	return model.Response{}, errors.New("no response")
}

func TestReasoningDecidesAboutParameters(t *testing.T) {
	for reasons, want := range map[bool]model.Sampling{true: {Effort: "high"}, false: {Temperature: new(0.5)}} {
		var got model.Sampling
		_, err := stated{sampling{&got}, &reasons, 0}.Stream(t.Context(), model.Request{Sampling: model.Sampling{Effort: "high", Temperature: new(0.5)}}, nil)
		if diff := cmp.Diff(want, got); diff != "" || err == nil {
			t.Errorf("reasoning: %v: %s, %v", reasons, diff, err)
		}
	}
}

// What an entry states as the limit of the output is asked for, unless less is.
func TestStatedLimitOfTheOutputIsSent(t *testing.T) {
	for asked, want := range map[int]int{0: 100, 50: 50, 200: 100} {
		var got model.Sampling
		_, err := stated{sampling{&got}, nil, 100}.Stream(t.Context(), model.Request{Sampling: model.Sampling{MaxOutput: asked}}, nil)
		if got.MaxOutput != want || err == nil {
			t.Errorf("%d: %d is sent, %v", asked, got.MaxOutput, err)
		}
	}
}
