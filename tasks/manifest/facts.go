package manifest

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// ModelFacts are the facts of a model of a provider in a manifest.
type ModelFacts struct {
	Value form.Value
	tasks.ModelFacts
	Name  string
	tiers []tier
}

// tier is a tier of a price before its defaults are filled in.
type tier struct {
	Value form.Value
	money.Tier
	cacheRead, cacheWrite *money.USD
}

const maxTiers = 10

var (
	factsForm = form.MapOf("MODEL", form.TypeOf((*ModelFacts).keys), readFacts)
	tiersForm = form.UpTo(maxTiers, form.ListOf(form.Of[tier]{Type: form.TypeOf((*tier).keys), Read: readTier}))
	likeForm  = form.Of[string]{Type: form.Type{Name: "string"}, Read: readLike}
)

func readFacts(v form.Value) ([]ModelFacts, bool) {
	var all []ModelFacts
	entries, ok := v.Definitions()
	for _, e := range entries {
		m := ModelFacts{Value: e, Name: e.Key.Value}
		got := m.keys().Read(e)
		for _, pair := range [][2]string{{"input", "output"}, {"output", "input"}} {
			_, has := got[pair[0]]
			_, other := got[pair[1]]
			if has && !other && m.Like == "" {
				e.Lacks(pair[1], "write both prices, or like: PROVIDER/MODEL")
			}
		}
		if _, ok := got["input"]; !ok && m.Like == "" && (m.CacheRead != nil || m.CacheWrite != nil || len(m.tiers) > 0) {
			e.Lacks("input", "write input and output, or like: PROVIDER/MODEL")
		}
		m.Tiers = filledTiers(m.Name, m.tiers)
		all = append(all, m)
	}
	return all, ok
}

func readTier(v form.Value) (tier, bool) {
	t := tier{Value: v}
	t.keys().Read(v)
	return t, true
}

// filledTiers returns tiers with their defaults, by rising start.
func filledTiers(model string, tiers []tier) []money.Tier {
	var all []money.Tier
	for _, t := range tiers {
		if slices.ContainsFunc(all, func(other money.Tier) bool { return other.From == t.From }) {
			t.Value.KeyProblem("duplicate tier", "write each start once")
		}
		t.Rates = prices.Rates(model, t.Input, t.Output).WithCache(t.cacheRead, t.cacheWrite)
		all = append(all, t.Tier)
	}
	slices.SortFunc(all, func(a, b money.Tier) int { return int(min(max(a.From-b.From, -1), 1)) })
	return all
}

// readLike reads the name of a model in the price table.
func readLike(v form.Value) (string, bool) {
	t, ok := v.Filled()
	if prefix, id, cut := strings.Cut(t.S, "/"); ok && (!cut || id == "" || !slices.Contains(SupportedProviders(), prefix) || FileKind(prefix) != "") {
		v.Problem(v.Label+" is not a model of the price table", "write PROVIDER/MODEL as millhand models prints it, such as openai/gpt-5.5")
		return "", false
	}
	return t.S, ok
}

const (
	cacheReadDoc  = "Price of cached input tokens (input's if absent)"
	cacheWriteDoc = "Price of input tokens that are written to the cache (if absent, 1.25 times input's for Claude and gpt-5.6 and later, else input's)"
	tiersDoc      = "Prices of requests with a longer input, which replace the others"
)

func (t *tier) keys() form.Table {
	return form.Table{
		{Name: "above", Field: form.Required("above: 200000", form.Into(&t.From, form.Tokens)), Doc: "Tokens of input above which it applies"},
		{Name: "input", Field: form.Required("input: 0.25", form.Into(&t.Input, form.Price)), Doc: "Price of input tokens"},
		{Name: "output", Field: form.Required("output: 2.00", form.Into(&t.Output, form.Price)), Doc: "Price of output tokens"},
		{Name: "cache_read", Field: form.Into(&t.cacheRead, form.Optional(form.Price)), Doc: cacheReadDoc},
		{Name: "cache_write", Field: form.Into(&t.cacheWrite, form.Optional(form.Price)), Doc: cacheWriteDoc},
	}
}

func (m *ModelFacts) keys() form.Table {
	return form.Table{
		{Name: "like", Field: form.Into(&m.Like, likeForm), Doc: "Model of the price table that it equals in everything else, such as openai/gpt-5.5"},
		{Name: "input", Field: form.Into(&m.Input, form.Optional(form.Price)), Doc: "Price of input tokens, in USD per million"},
		{Name: "output", Field: form.Into(&m.Output, form.Optional(form.Price)), Doc: "Price of output tokens"},
		{Name: "cache_read", Field: form.Into(&m.CacheRead, form.Optional(form.Price)), Doc: cacheReadDoc},
		{Name: "cache_write", Field: form.Into(&m.CacheWrite, form.Optional(form.Price)), Doc: cacheWriteDoc},
		{Name: "tiers", Field: form.Into(&m.tiers, tiersForm), Doc: tiersDoc},
		{Name: "window", Field: form.Into(&m.Window, form.Positive()), Doc: "Context window in tokens"},
		{Name: "max_output", Field: form.Into(&m.MaxOutput, form.Positive()), Doc: "Maximum output tokens of a response"},
		{Name: "vision", Field: form.Into(&m.Vision, form.Optional(form.Bool)), Doc: "Whether it sees images (they are sent if that is unknown)"},
		{Name: "reasoning", Field: form.Into(&m.Reasoning, form.Optional(form.Bool)), Doc: "Whether it reasons: if so it gets no temperature, if not no effort"},
	}
}
