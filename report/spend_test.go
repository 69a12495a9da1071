package report_test

import (
	"os"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/internal/testing/reporttest"
)

// What testdata/fallback.jsonl costs, worked out by hand from the table of
// prices (USD for a million tokens):
//
//	openai/gpt-5-mini            input 0.25, cache read 0.025, output 2
//	anthropic/claude-haiku-4-5   input 1, cache read 0.1, cache write 1.25, output 5
//
// The first turn, whose reasoning is part of its output and not charged twice:
//
//	broke off   1000 input                    1000*0.25           =   250
//	              40 output (estimated)         40*2              =    80   -> 0.000330
//	answered    1000 input, 800 of it cached   200*0.25 + 800*0.025 =  70
//	             100 output, 50 reasoning      100*2              =   200   -> 0.000270
//	                                                                  sum     0.000600
//	its two calls have an equal share                                         0.000300
//
// The second turn, by the other model:
//
//	1200 input: 200 read, 600 written   400*1 + 200*0.1 + 600*1.25 = 1170
//	  20 output                          20*5                      =  100   -> 0.001270
//
// Together 0.001870.
func TestCostComputedByHand(t *testing.T) {
	usd := func(model string, u money.Usage) money.USD {
		m, _ := prices.BuiltIn().Of(model)
		p, ok := m.Price(time.Now())
		if !ok {
			t.Fatalf("%s has no price", model)
		}
		return p.Cost(u)
	}
	broke := usd("openai/gpt-5-mini", money.Usage{Input: 1000, Output: 40})
	answered := usd("openai/gpt-5-mini", money.Usage{Input: 1000, CacheRead: 800, Output: 100})
	other := usd("anthropic/claude-haiku-4-5", money.Usage{Input: 1200, CacheRead: 200, CacheWrite: 600, Output: 20})
	stream, err := os.ReadFile("testdata/fallback.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	r := reporttest.Load(t, stream)
	j := r.Jobs[0]
	turns := j.Sessions[0].TurnCosts
	for _, c := range []struct {
		what           string
		hand           string
		table, reports money.USD
	}{
		{"what broke off", "0.00033", broke, *j.Lost.CostUSD},
		{"the first turn", "0.0006", broke + answered, *turns[0].CostUSD},
		{"the second turn", "0.00127", other, *turns[1].CostUSD},
		{"a call's share", "0.0003", (broke + answered) / 2, *j.Calls[1].CostShareUSD},
		{"the session", "0.00187", broke + answered + other, *j.Sessions[0].CostUSD},
		{"the job", "0.00187", broke + answered + other, *j.CostUSD},
		{"the run", "0.00187", broke + answered + other, *r.Run.Totals.CostUSD},
	} {
		if c.table.String() != c.hand || c.reports.String() != c.hand {
			t.Errorf("%s: by hand %s, by the table %s, reported %s", c.what, c.hand, c.table, c.reports)
		}
	}
	if j.Retries != 1 || len(j.Fallbacks) != 1 || turns[1].Model != "anthropic/claude-haiku-4-5" || len(r.Warnings) != 2 {
		t.Errorf("%d retries, fallbacks %+v, turns %+v, warnings %+v", j.Retries, j.Fallbacks, turns, r.Warnings)
	}
}
