package tasks

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/tasks/problem"
)

// modelFacts are the facts of a model of a provider in a manifest.
type modelFacts struct {
	value
	ModelFacts
	name  string
	tiers []tier
}

// tier is a tier of a price before its defaults are filled in.
type tier struct {
	value
	money.Tier
	cacheRead, cacheWrite *money.USD
}

const maxTiers = 10

var (
	factsForm = mapOf("MODEL", typeOf((*modelFacts).keys), readFacts)
	tiersForm = upTo(maxTiers, listOf(form[tier]{typeOf((*tier).keys), readTier}))
	likeForm  = form[string]{Type{Name: "string"}, readLike}
)

func readFacts(v value) ([]modelFacts, bool) {
	var all []modelFacts
	entries, ok := v.definitions()
	for _, e := range entries {
		m := modelFacts{value: e, name: e.key.Value}
		got := m.keys().read(e)
		for _, pair := range [][2]string{{"input", "output"}, {"output", "input"}} {
			_, has := got[pair[0]]
			_, other := got[pair[1]]
			if has && !other && m.Like == "" {
				e.lacks(pair[1], "write both prices, or like: PROVIDER/MODEL")
			}
		}
		if _, ok := got["input"]; !ok && m.Like == "" && (m.CacheRead != nil || m.CacheWrite != nil || len(m.tiers) > 0) {
			e.lacks("input", "write input and output, or like: PROVIDER/MODEL")
		}
		m.Tiers = filledTiers(m.name, m.tiers)
		all = append(all, m)
	}
	return all, ok
}

func readTier(v value) (tier, bool) {
	t := tier{value: v}
	t.keys().read(v)
	return t, true
}

// filledTiers returns tiers with their defaults, by rising start.
func filledTiers(model string, tiers []tier) []money.Tier {
	var all []money.Tier
	for _, t := range tiers {
		if slices.ContainsFunc(all, func(other money.Tier) bool { return other.From == t.From }) {
			t.keyProblem("duplicate tier", "write each start once")
		}
		t.Rates = prices.Rates(model, t.Input, t.Output).WithCache(t.cacheRead, t.cacheWrite)
		all = append(all, t.Tier)
	}
	slices.SortFunc(all, func(a, b money.Tier) int { return int(min(max(a.From-b.From, -1), 1)) })
	return all
}

// readLike reads the name of a model in the price table.
func readLike(v value) (string, bool) {
	t, ok := v.filled()
	if prefix, id, cut := strings.Cut(t.s, "/"); ok && (!cut || id == "" || !slices.Contains(supportedProviders(), prefix) || fileKind(prefix) != "") {
		v.problem(v.name+" is not a model of the price table", "write PROVIDER/MODEL as millhand models prints it, such as openai/gpt-5.5")
		return "", false
	}
	return t.s, ok
}

// checkFacts records what an operator's budget, or the price table, refuses.
func (b *builder) checkFacts(provider string, m modelFacts) {
	if m.Like != "" && b.options.Known != nil {
		if _, ok := b.options.Known(m.Like); !ok {
			m.keyProblem("like: "+problem.Quote(m.Like)+" is not in the price table", "see millhand models, or state the prices")
		}
	}
	name := provider + "/" + m.name
	if _, stated := b.options.Policies.Price(name); !stated && (m.Like != "" || m.Priced()) {
		m.refused(policy.Budget, "a price for "+problem.Quote(name), "")
	}
}

// Priced reports whether the facts contain prices.
func (f ModelFacts) Priced() bool {
	return f.Input != nil || f.Output != nil || f.CacheRead != nil || f.CacheWrite != nil || len(f.Tiers) > 0
}

// Price returns the price of a model with these facts: what they lack is as in base. A new
// price of input replaces those of the cache and all tiers.
func (f ModelFacts) Price(name string, base money.Price) money.Price {
	if f.Input != nil {
		base = money.Price{Rates: prices.Rates(name, *f.Input, base.Output)}
	}
	if f.Output != nil {
		base.Output, base.Tiers = *f.Output, nil
	}
	base.Rates = base.WithCache(f.CacheRead, f.CacheWrite)
	if len(f.Tiers) > 0 {
		base.Tiers = f.Tiers
	}
	return base
}

const (
	cacheReadDoc  = "Price of cached input tokens (input's if absent)"
	cacheWriteDoc = "Price of input tokens that are written to the cache (if absent, 1.25 times input's for Claude and gpt-5.6 and later, else input's)"
	tiersDoc      = "Prices of requests with a longer input, which replace the others"
)

func (t *tier) keys() keys {
	return keys{
		{"above", required("above: 200000", into(&t.From, tokensForm)), "", "Tokens of input above which it applies"},
		{"input", required("input: 0.25", into(&t.Input, priceForm)), "", "Price of input tokens"},
		{"output", required("output: 2.00", into(&t.Output, priceForm)), "", "Price of output tokens"},
		{"cache_read", into(&t.cacheRead, optional(priceForm)), "", cacheReadDoc},
		{"cache_write", into(&t.cacheWrite, optional(priceForm)), "", cacheWriteDoc},
	}
}

func (m *modelFacts) keys() keys {
	return keys{
		{"like", into(&m.Like, likeForm), "", "Model of the price table that it equals in everything else, such as openai/gpt-5.5"},
		{"input", into(&m.Input, optional(priceForm)), "", "Price of input tokens, in USD per million"},
		{"output", into(&m.Output, optional(priceForm)), "", "Price of output tokens"},
		{"cache_read", into(&m.CacheRead, optional(priceForm)), "", cacheReadDoc},
		{"cache_write", into(&m.CacheWrite, optional(priceForm)), "", cacheWriteDoc},
		{"tiers", into(&m.tiers, tiersForm), "", tiersDoc},
		{"window", into(&m.Window, positive()), "", "Context window in tokens"},
		{"max_output", into(&m.MaxOutput, positive()), "", "Maximum output tokens of a response"},
		{"vision", into(&m.Vision, optional(boolForm)), "", "Whether it sees images (they are sent if that is unknown)"},
		{"reasoning", into(&m.Reasoning, optional(boolForm)), "", "Whether it reasons: if so it gets no temperature, if not no effort"},
	}
}
