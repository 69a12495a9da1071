package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
)

const cents = money.Dollar / 100

func TestTiersHaveTheDefaultsOfTheirModel(t *testing.T) {
	m, problems := read(t, oneTask+`prices:
  openai/m: {input: 1, output: 2, tiers: [{above: 300, input: 4, output: 8}, {above: 200, input: 2, output: 4, cache_read: 0.5, cache_write: 3}]}
  anthropic/claude-x: {input: 4, output: 8}
  openai/n: {input: 1, output: 2, cache_read: 0.1, cache_write: 5}
`)
	if problems != nil {
		t.Fatal(problems)
	}
	want := map[string]money.Price{
		"openai/m": {
			Rates: money.Rates{Input: 100 * cents, Output: 200 * cents, CacheRead: 100 * cents, CacheWrite: 100 * cents},
			Tiers: []money.Tier{ // by their start
				{From: 200, Rates: money.Rates{Input: 200 * cents, Output: 400 * cents, CacheRead: 50 * cents, CacheWrite: 300 * cents}},
				{From: 300, Rates: money.Rates{Input: 400 * cents, Output: 800 * cents, CacheRead: 400 * cents, CacheWrite: 400 * cents}},
			},
		},
		"anthropic/claude-x": {Rates: money.Rates{Input: 400 * cents, Output: 800 * cents, CacheRead: 400 * cents, CacheWrite: 500 * cents, CacheWriteLong: 800 * cents}},
		"openai/n":           {Rates: money.Rates{Input: 100 * cents, Output: 200 * cents, CacheRead: 10 * cents, CacheWrite: 500 * cents}},
	}
	got := map[string]money.Price{}
	for _, p := range m.Prices {
		got[p.Model] = p.Price
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("prices (-want +got):\n%s", diff)
	}
}

func TestAPriceIsBelowAnotherAtAnySize(t *testing.T) {
	rates := func(n money.USD) money.Rates { return money.Rates{Input: n, Output: n, CacheRead: n, CacheWrite: n} }
	with := func(base money.USD, tiers ...money.Tier) money.Price {
		return money.Price{Rates: rates(base), Tiers: tiers}
	}
	for _, c := range []struct {
		own, known money.Price
		want       bool
	}{
		{with(5), with(5), false},
		{with(4), with(5), true},
		{with(6), with(5), false},
		{with(5), with(5, money.Tier{From: 100, Rates: rates(9)}), true},
		{with(9), with(5, money.Tier{From: 100, Rates: rates(9)}), false},
		{with(5, money.Tier{From: 100, Rates: rates(2)}), with(5), true},
		{money.Price{Rates: money.Rates{Input: 5, Output: 4, CacheRead: 5, CacheWrite: 5}}, with(5), true},
		{money.Price{Rates: money.Rates{Input: 5, Output: 5, CacheRead: 4, CacheWrite: 5}}, with(5), true},
		{money.Price{Rates: money.Rates{Input: 5, Output: 5, CacheRead: 5, CacheWrite: 4}}, with(5), true},
	} {
		if got := (Price{Price: c.own}).Below(c.known); got != c.want {
			t.Errorf("%+v below %+v: %t", c.own, c.known, got)
		}
	}
}

func TestMistakesInPricesAndFacts(t *testing.T) {
	provider := func(models string) string {
		return oneTask + "providers: {h: {kind: openai, base_url: 'https://h/v1', models: " + models + "}}\n"
	}
	checkMistakes(t, []mistake{
		{"two tiers with one start", oneTask + "prices: {openai/m: {input: 1, output: 2, tiers: [{above: 5, input: 1, output: 1}, {above: 5, input: 2, output: 2}]}}\n", []string{
			`m.yaml:4:83: duplicate tier; write each start once`,
		}},
		{"a tier without a price", oneTask + "prices: {openai/m: {input: 1, output: 2, tiers: [{above: 5, input: 1}]}}\n", []string{
			`m.yaml:4:50: missing key "output" in entry 1 of "tiers"; add output: 2.00`,
		}},
		{"one price of two", provider("{m: {input: 1}}"), []string{`m.yaml:4:66: missing key "output" in "m"; write both prices, or like: PROVIDER/MODEL`}},
		{"the other price of two", provider("{m: {output: 1}}"), []string{`m.yaml:4:66: missing key "input" in "m"; write both prices, or like: PROVIDER/MODEL`}},
		{"a price of the cache alone", provider("{m: {cache_read: 1}}"), []string{`m.yaml:4:66: missing key "input" in "m"; write input and output, or like: PROVIDER/MODEL`}},
		{"like no model", provider("{m: {like: gpt-5}}"), []string{`m.yaml:4:76: "like" is not a model of the price table; write PROVIDER/MODEL as millhand models prints it, such as openai/gpt-5.5`}},
		{"like a file", provider("{m: {like: script/x}}"), []string{`m.yaml:4:76: "like" is not a model of the price table; write PROVIDER/MODEL as millhand models prints it, such as openai/gpt-5.5`}},
		{"like nothing of a provider", provider("{m: {like: openai/}}"), []string{`m.yaml:4:76: "like" is not a model of the price table; write PROVIDER/MODEL as millhand models prints it, such as openai/gpt-5.5`}},
	})
	if _, problems := read(t, provider("{m: {like: openai/gpt-5, cache_read: 1, window: 5, vision: true}}")); problems != nil {
		t.Error(problems)
	}
}
