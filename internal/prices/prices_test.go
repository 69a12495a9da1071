package prices

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
)

func TestTheTableIsReadable(t *testing.T) {
	all, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Errorf("only %d models", len(all))
	}
	var names []string
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "#") {
			name, _, _ := strings.Cut(line, ",")
			names = append(names, name)
		}
	}
	if len(names) != len(all) || !slices.IsSorted(names) {
		t.Errorf("%d lines for %d models, sorted: %v", len(names), len(all), slices.IsSorted(names))
	}
	for name, p := range all {
		provider, model, ok := strings.Cut(name, "/")
		if !ok || provider == "" || model == "" || strings.TrimSpace(name) != name {
			t.Errorf("%q is not provider/model", name)
		}
		sane := func(usd money.USD) bool { return usd >= 0 && usd < 1000*money.Dollar }
		if !sane(p.Input) || !sane(p.Output) || !sane(p.CacheRead) || !sane(p.CacheWrite) || p.Input == 0 || p.Output < p.Input || p.CacheRead > p.Input {
			t.Errorf("%s: %+v", name, p)
		}
		if p.Context < 1000 || p.MaxOutput < 1000 || p.MaxOutput > p.Context {
			t.Errorf("%s: %d tokens of context, %d of output", name, p.Context, p.MaxOutput)
		}
		from := int64(0)
		for _, tier := range p.Tiers {
			if tier.From <= from || tier.From >= int64(p.Context) || !sane(tier.Input) || tier.Input < p.Input || tier.Output < p.Output || tier.CacheRead < p.CacheRead {
				t.Errorf("%s: tier %+v above %+v", name, tier, p)
			}
			from = tier.From
		}
	}
	if strings.Count(table, Date[:4]) == 0 {
		t.Errorf("the table does not say that it is of %s", Date)
	}
}

// Worked out by hand from the providers' published prices.
func TestRequestCost(t *testing.T) {
	tests := []struct {
		name, model string
		usage       money.Usage
		want        string
	}{
		{"nothing", "openai/gpt-5-mini", money.Usage{}, "0"},
		{"input and output", "openai/gpt-5-mini", money.Usage{Input: 10_000, Output: 1000}, "0.0045"}, // 0.01 M * 0.25 + 0.001 M * 2
		{"cached input", "openai/gpt-5-mini", money.Usage{Input: 10_000, Output: 1000, CacheRead: 8000}, "0.0027"},
		{"all of it cached", "openai/gpt-5-mini", money.Usage{Input: 10_000, CacheRead: 10_000}, "0.00025"},
		{"written to a cache", "anthropic/claude-haiku-4-5", money.Usage{Input: 3000, CacheRead: 1000, CacheWrite: 1000, Output: 100}, "0.00285"}, // 1 + 0.1 + 1.25 + 0.5 thousandths
		{"no price for the cache", "openai/o1-pro", money.Usage{Input: 1000, CacheRead: 500}, "0.15"},
		{"at the border of a tier", "openai/gpt-5.4", money.Usage{Input: 272_000, Output: 1000}, "0.695"},
		{"above it, all of the request", "openai/gpt-5.4", money.Usage{Input: 272_001, Output: 1000}, "1.382505"},
		{"above it, cached", "openai/gpt-5.4", money.Usage{Input: 300_000, CacheRead: 200_000}, "0.6"},
		{"above it, written to a cache that is charged as input", "openai/gpt-5.4", money.Usage{Input: 300_000, CacheWrite: 100_000}, "1.5"},
		{"above it, without a price for the cache", "openai/gpt-5.4-pro", money.Usage{Input: 300_000, CacheRead: 100_000}, "18"},
		{"more cached than sent, as a broken server counts", "openai/gpt-5-mini", money.Usage{Input: 100, CacheRead: 1000}, "0.000025"},
	}
	for _, tt := range tests {
		p, ok := Of(tt.model)
		if !ok {
			t.Errorf("%s: %s has no price", tt.name, tt.model)
			continue
		}
		if got := p.Cost(tt.usage).String(); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestUnknownModelHasNoPrice(t *testing.T) {
	for _, name := range []string{"", "gpt-5-mini", "openai/", "openai/gpt-5-min", "OpenAI/gpt-5-mini", "script:model.yaml"} {
		if p, ok := Of(name); ok {
			t.Errorf("%q costs %+v", name, p)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := parse("# a comment\na/b,1,2,,,100,50,,image pdf\nc/d,1,2,0.5,1.5,,,10:2:3:;20:4:5:1,\n")
	if err != nil {
		t.Fatal(err)
	}
	const usd = money.Dollar
	want := map[string]Model{
		"a/b": {Price: money.Price{Input: usd, Output: 2 * usd, CacheRead: usd, CacheWrite: usd}, Context: 100, MaxOutput: 50, Images: true, PDFs: true},
		"c/d": {Price: money.Price{
			Input: usd, Output: 2 * usd, CacheRead: usd / 2, CacheWrite: usd * 3 / 2,
			Tiers: []money.Tier{{From: 10, Input: 2 * usd, Output: 3 * usd, CacheRead: 2 * usd}, {From: 20, Input: 4 * usd, Output: 5 * usd, CacheRead: usd}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"a/b,1,2\n", "a/b,one,2,,,,,,\n", "a/b,1,2,,,,,10:2:3,\n", "a/b,1,2,,,,,10:2:x:1,\n", "a/b,1,2,,,,,,\"\n"} {
		if p, err := parse(bad); err == nil || !strings.Contains(err.Error(), "price") {
			t.Errorf("%q: %v, %v", bad, p, err)
		}
	}
}
