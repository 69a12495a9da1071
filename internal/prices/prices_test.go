package prices

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millhand/millhand/internal/money"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestBuiltInTablesAreReadable(t *testing.T) {
	table, err := Parse(builtInTable)
	if err != nil {
		t.Fatal(err)
	}
	names := table.Names()
	if len(names) < 800 {
		t.Errorf("only %d models", len(names))
	}
	providers := map[string]int{}
	for _, name := range names {
		provider, _, _ := strings.Cut(name, "/")
		providers[provider]++
		m, _ := table.Of(name)
		for _, p := range m.Possible(time.Now()) {
			sane := func(usd money.USD) bool { return usd >= 0 && usd < 1000*money.Dollar }
			for _, r := range append([]money.Tier{{Rates: p.Rates}}, p.Tiers...) {
				if !sane(r.Input) || !sane(r.Output) || !sane(r.CacheRead) || !sane(r.CacheWrite) || r.CacheRead > r.Input || r.CacheWrite > 2*r.Input {
					t.Errorf("%s: %+v", name, r)
				}
			}
		}
		if m.MaxOutput > m.Context && m.Context > 0 {
			t.Errorf("%s: %d tokens of context, %d of output", name, m.Context, m.MaxOutput)
		}
	}
	for _, of := range []string{"openai", "anthropic", "google", "openrouter", "mistral", "groq", "deepseek", "xai", "together", "fireworks", "cerebras", "azure"} {
		if providers[of] == 0 {
			t.Errorf("no models of %s", of)
		}
	}
	for line := range strings.Lines(ownTable) {
		fields := strings.Fields(line)
		if fields[0] == "#" {
			continue
		}
		if len(fields) < 4 {
			t.Errorf("%q", line)
		} else if _, err := parsePrices(line, 4); err != nil {
			t.Errorf("%s: %v", fields[0], err)
		}
	}
}

// Calculated by hand from the providers' published prices.
func TestRequestCost(t *testing.T) {
	const day, peak = "2026-11-20T12:00:00Z", "2026-11-20T03:59:59Z"
	tests := []struct {
		name, model, at string
		usage           money.Usage
		want            string
	}{
		{"nothing", "openai/gpt-5-mini", day, money.Usage{}, "0"},
		{"input and output", "openai/gpt-5-mini", day, money.Usage{Input: 10_000, Output: 1000}, "0.0045"}, // 0.01 M * 0.25 + 0.001 M * 2
		{"cached input", "openai/gpt-5-mini", day, money.Usage{Input: 10_000, Output: 1000, CacheRead: 8000}, "0.0027"},
		{"all of it cached", "openai/gpt-5-mini", day, money.Usage{Input: 10_000, CacheRead: 10_000}, "0.00025"},
		{"written to a cache", "anthropic/claude-haiku-4-5", day, money.Usage{Input: 3000, CacheRead: 1000, CacheWrite: 1000, Output: 100}, "0.00285"}, // 1 + 0.1 + 1.25 + 0.5 thousandths
		{"written for an hour", "anthropic/claude-haiku-4-5", day, money.Usage{Input: 1000, CacheWrite: 1000, CacheWriteLong: 1000}, "0.002"},
		{"no price for the cache", "openai/o1-pro", day, money.Usage{Input: 1000, CacheRead: 500}, "0.15"},
		{"below a tier", "openai/gpt-5.4", day, money.Usage{Input: 271_999, Output: 1000}, "0.6949975"},
		{"in it, all of the request", "openai/gpt-5.4", day, money.Usage{Input: 272_001, Output: 1000}, "1.382505"},
		{"in it, cached", "openai/gpt-5.4", day, money.Usage{Input: 300_000, CacheRead: 200_000}, "0.6"},
		{"in it, without a price for the cache", "openai/gpt-5.4-pro", day, money.Usage{Input: 300_000, CacheRead: 100_000}, "18"},
		{"in it, written to a cache", "openai/gpt-5.6-sol", day, money.Usage{Input: 300_000, CacheWrite: 100_000}, "2.6"}, // 0.2 M * 8 + 0.1 M * 10
		{"of a model that only the own table has", "openai/gpt-6.1-terra", day, money.Usage{Input: 1_000_000 / 4, CacheWrite: 100_000}, "0.275"},
		{"more cached than sent, as a broken server counts", "openai/gpt-5-mini", day, money.Usage{Input: 100, CacheRead: 1000}, "0.000025"},
		{"off-peak", "deepseek/deepseek-v4-pro", day, money.Usage{Input: 1_000_000, Output: 1_000_000}, "2.64"},
		{"at peak", "deepseek/deepseek-v4-pro", peak, money.Usage{Input: 1_000_000, Output: 1_000_000}, "5.28"},
		{"at the other peak", "deepseek/deepseek-v4-pro", "2026-11-20T14:00:00+08:00", money.Usage{Input: 1_000_000, Output: 1_000_000}, "5.28"},
		{"after it", "deepseek/deepseek-v4-pro", "2026-11-20T10:00:00Z", money.Usage{Input: 1_000_000, Output: 1_000_000}, "2.64"},
		{"before a new price", "google/gemini-3.8-flash", "2026-12-31T23:59:59Z", money.Usage{Input: 1_000_000}, "0.75"},
		{"with it", "google/gemini-3.8-flash", "2027-01-01T00:00:00Z", money.Usage{Input: 1_000_000}, "1.5"},
		{"before a new price of the own table", "google/gemini-4-argon", "2026-11-30T23:59:59Z", money.Usage{Input: 2_000_000, CacheRead: 1_000_000, Output: 1_000_000}, "12.1"},
		{"with it", "google/gemini-4-argon", "2026-12-01T00:00:00Z", money.Usage{Input: 2_000_000, CacheRead: 1_000_000, Output: 1_000_000}, "24.2"},
		{"with it, in another zone", "google/gemini-4-argon-preview", "2026-12-01T00:59:59+01:00", money.Usage{Input: 1_000_000}, "2"},
		{"at the end of a tier", "openai/gpt-6.2-sol", day, money.Usage{Input: 272_000, CacheRead: 100_000, CacheWrite: 100_000, Output: 1000}, "0.414"},   // 0.072 M * 2 + 0.1 M * 0.1 + 0.1 M * 2.5 + 0.001 M * 10
		{"above it", "openai/gpt-6.2-sol", day, money.Usage{Input: 272_001, CacheRead: 100_000, CacheWrite: 100_000, Output: 1000}, "0.823004"},            // 0.072001 M * 4 + 0.1 M * 0.2 + 0.1 M * 5 + 0.001 M * 15
		{"at the end of a tier", "openai/gpt-6.2-astra", day, money.Usage{Input: 272_000, CacheRead: 100_000, CacheWrite: 100_000, Output: 1000}, "1.656"}, // 0.072 M * 8 + 0.1 M * 0.4 + 0.1 M * 10 + 0.001 M * 40
		{"above it", "openai/gpt-6.2-astra", day, money.Usage{Input: 272_001, CacheRead: 100_000, CacheWrite: 100_000, Output: 1000}, "3.292016"},
		{"input, output and cache", "google/gemini-4-neon", day, money.Usage{Input: 2_000_000, CacheRead: 1_000_000, Output: 1_000_000}, "18.15"},
		{"input, output and cache", "google/gemini-4-hydrogen", day, money.Usage{Input: 2_000_000, CacheRead: 1_000_000, Output: 1_000_000}, "9.075"},
		{"a dataset that the own table corrects", "mistral/mistral-small-latest", day, money.Usage{Input: 1_000_000}, "0.15"},
	}
	for _, tt := range tests {
		m, _ := BuiltIn().Of(tt.model)
		p, ok := m.Price(at(t, tt.at))
		if got := p.Cost(tt.usage).String(); got != tt.want || !ok {
			t.Errorf("%s: got %v (%v), want %v", tt.name, got, ok, tt.want)
		}
	}
}

// The most expensive price is reserved that may apply until a request ends.
func TestPossiblePrices(t *testing.T) {
	for _, tt := range []struct {
		model, at string
		want      []string // prices of input
	}{
		{"openai/gpt-5-mini", "2026-11-20T12:00:00Z", []string{"0.25"}},
		{"deepseek/deepseek-v4-pro", "2026-11-20T12:00:00Z", []string{"0.66", "1.32", "1.32"}},
		{"google/gemini-3.8-flash", "2026-12-30T12:00:00Z", []string{"0.75"}},
		{"google/gemini-3.8-flash", "2026-12-31T12:00:00Z", []string{"0.75", "1.5"}},
		{"google/gemini-3.8-flash", "2027-01-01T12:00:00Z", []string{"1.5"}},
		{"google/gemini-4-argon", "2026-11-29T23:59:59Z", []string{"2"}},
		{"google/gemini-4-argon", "2026-11-30T00:00:00Z", []string{"2", "4"}},
		{"google/gemini-4-argon", "2026-12-01T00:00:00Z", []string{"4"}},
		{"openrouter/google/gemini-4-argon", "2026-12-01T00:00:00Z", []string{"4"}},
		{"openai/unheard-of", "2027-01-01T12:00:00Z", nil},
	} {
		m, _ := BuiltIn().Of(tt.model)
		var got []string
		for _, p := range m.Possible(at(t, tt.at)) {
			got = append(got, p.Input.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s at %s: %s", tt.model, tt.at, diff)
		}
	}
}

func TestHighestPriceIsKnownOfModelsInTheTable(t *testing.T) {
	if p, ok := BuiltIn().Highest("google/gemini-4-argon", at(t, "2026-11-30T00:00:00Z")); !ok || p.Input.String() != "4" {
		t.Errorf("%+v, %t", p, ok)
	}
	if p, ok := BuiltIn().Highest("openai/nobody-knows-it", at(t, "2026-11-30T00:00:00Z")); ok {
		t.Errorf("an unknown model has a price: %+v", p)
	}
}

// A model only has the price of another name if that is a version of it.
func TestNames(t *testing.T) {
	table, err := Parse("genai-prices 1 2026-12-01\nopenai/a-1*|a-one 100 1,2,,,\nanthropic/claude-5*|claude-5@* 100 3,4,,,\nopenai/x-latest 100 5,6,,,\nopenrouter/openai/gpt-5.4 0 7,8,,,\nopenai/Upper 9 9,9,,,\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"openai/a-1": "1", "openai/A-1": "1", "openai/a-one": "1", "openai/a-1-2026-11-01": "1", "openai/a-1-latest": "1", "openai/a-1-preview-11-01": "1",
		"openai/a-1-0613": "1", "openai/upper": "9", "anthropic/claude-5-20261101": "3", "anthropic/claude-5@20261101": "3", "anthropic/claude-5-v1:0": "3",
		"openai/a-1-mini": "", "openai/a-1-5": "", "openai/a-1.5": "", "openai/a-10": "", "openai/a-one-2026-11-01": "", "openai/a-1-fast": "", "openai/a-1-mini-2026-11-01": "",
		"openai/x-latest": "5", "openai/x": "", "azure/a-1": "1", "azure/claude-5": "3", "groq/a-1": "", "openrouter/openai/gpt-5.4": "7", "openrouter/openai/a-1": "",
		"": "", "a-1": "", "openai/": "", "script:model.yaml": "", "OpenAI/a-1": "",
	} {
		m, _ := table.Of(name)
		got := ""
		if p, ok := m.Price(time.Now()); ok {
			got = p.Input.String()
		}
		if got != want {
			t.Errorf("%s costs %q, want %q", name, got, want)
		}
		if m.Moving != (strings.HasSuffix(name, "-latest") && want != "") {
			t.Errorf("%s is moving: %v", name, m.Moving)
		}
	}
}

// Versions of a model and those who serve it at its price have its price and its facts.
func TestNewModelsHaveTheNamesOfTheirFamily(t *testing.T) {
	for family, names := range map[string][]string{
		"openai/gpt-6.1-sol":       {"openai/gpt-6.1-sol-2026-11-17", "azure/gpt-6.1-sol", "openrouter/openai/gpt-6.1-sol"},
		"openai/gpt-6.2-sol":       {"openai/GPT-6.2-Sol", "openai/gpt-6.2-sol-2026-11-17", "openai/gpt-6.2-sol-preview", "azure/gpt-6.2-sol", "azure/gpt-6.2-sol-2026-11-17", "openrouter/openai/gpt-6.2-sol"},
		"openai/gpt-6.2-astra":     {"openai/gpt-6.2-astra-2026-11-17", "azure/gpt-6.2-astra", "openrouter/openai/gpt-6.2-astra"},
		"google/gemini-4-argon":    {"google/gemini-4-argon-preview", "google/gemini-4-argon-preview-11-2026", "openrouter/google/gemini-4-argon"},
		"google/gemini-4-neon":     {"google/gemini-4-neon-preview", "google/gemini-4-neon-001", "openrouter/google/gemini-4-neon"},
		"google/gemini-4-hydrogen": {"google/gemini-4-hydrogen-preview", "openrouter/google/gemini-4-hydrogen"},
	} {
		want, _ := BuiltIn().Of(family)
		if price, ok := want.Price(time.Now()); !ok || price.CacheRead >= price.Input || want.MaxOutput == 0 {
			t.Errorf("%s: %+v", family, want)
		}
		for _, name := range names {
			got, _ := BuiltIn().Of(name)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	for _, name := range []string{"openai/gpt-6.2", "openai/gpt-6.2-terra", "openai/gpt-6.2-sol-mini", "google/gemini-4", "google/gemini-4-neon-lite"} {
		if m, known := BuiltIn().Of(name); known {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestFacts(t *testing.T) {
	for name, want := range map[string]Model{
		"openai/gpt-5.4":                       {Context: 1_050_000, MaxOutput: 128_000, Images: true, PDFs: true, Sees: true},
		"openai/gpt-5.4-2026-03-05":            {Context: 1_050_000, MaxOutput: 128_000, Images: true, PDFs: true, Sees: true},
		"azure/gpt-5.4":                        {Context: 1_050_000, MaxOutput: 128_000, Images: true, PDFs: true, Sees: true},
		"openrouter/anthropic/claude-opus-4.8": {Context: 1_000_000, MaxOutput: 128_000, Images: true, PDFs: true, Sees: true},
		"groq/openai/gpt-oss-20b":              {Context: 131_072, MaxOutput: 65_536, Sees: true},
		"openai/gpt-6.2-sol":                   {Context: 1_050_000, MaxOutput: 128_000, Images: true, PDFs: true, Sees: true},
		"google/gemini-4-neon":                 {Context: 1_048_576, MaxOutput: 65_536, Images: true, PDFs: true, Sees: true},
		"deepseek/deepseek-chat":               {Context: 1_000_000, MaxOutput: 384_000, Sees: true},
		"openai/unheard-of":                    {},
	} {
		m, _ := BuiltIn().Of(name)
		if diff := cmp.Diff(want, m, cmpopts.IgnoreFields(Model{}, "Schedule")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if m, _ := BuiltIn().Of("deepseek/deepseek-chat"); len(m.Possible(time.Now())) > 0 {
		t.Error("a model that no longer exists has a price")
	}
}

func TestRatesWithoutCache(t *testing.T) {
	const usd = money.Dollar
	for name, want := range map[string]money.Rates{
		"openai/gpt-5.5":                  {Input: 4 * usd, Output: usd, CacheRead: 4 * usd, CacheWrite: 4 * usd},
		"openai/gpt-5.6-sol":              {Input: 4 * usd, Output: usd, CacheRead: 4 * usd, CacheWrite: 5 * usd},
		"house/gpt-6-sol":                 {Input: 4 * usd, Output: usd, CacheRead: 4 * usd, CacheWrite: 5 * usd},
		"openrouter/openai/gpt-10":        {Input: 4 * usd, Output: usd, CacheRead: 4 * usd, CacheWrite: 5 * usd},
		"anthropic/claude-opus-9":         {Input: 4 * usd, Output: usd, CacheRead: 4 * usd, CacheWrite: 5 * usd, CacheWriteLong: 8 * usd},
		"bedrock/us.anthropic.claude-x-1": {Input: 4 * usd, Output: usd, CacheRead: 4 * usd, CacheWrite: 5 * usd, CacheWriteLong: 8 * usd},
	} {
		if diff := cmp.Diff(want, Rates(name, 4*usd, usd)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestNewest(t *testing.T) {
	if got := Newest("genai-prices 9 2099-01-01\nopenai/gpt-5-mini 1 7,8,,,\n"); got.Date != "2099-01-01" || !got.Cached {
		t.Errorf("a newer table: %s, cached: %v", got.Date, got.Cached)
	} else if m, _ := got.Of("openai/gpt-5-mini"); m.MaxOutput != 128_000 || m.Possible(time.Now())[0].Input != 7*money.Dollar {
		t.Errorf("a newer table: %+v", m)
	}
	for _, text := range []string{"", "no table", "genai-prices 9 tomorrow\n", "genai-prices 9 2020-01-01\na/b 1 1,2,,,\n", "genai-prices 9 2099-01-01\na/b 1 1,x,,,\n", "genai-prices 9 2099-01-01\na/b 1 1,2\n", "genai-prices 9 2099-01-01\na/b 1 1,2,,,;x:1,2,,,\n"} {
		if got := Newest(text); got != BuiltIn() {
			t.Errorf("%q became the table of %s", text, got.Date)
		}
	}
	if age := BuiltIn().Age(at(t, BuiltIn().Latest()+"T00:00:00Z").Add(MaxAge)); age != MaxAge {
		t.Errorf("age %v", age)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("genai-prices 1 2026-12-01\nopenai/a-1*|b 100 1,2,,,;5:1,2,3,4,5 2027-01-01@1,2,,, 01:00-04:00@1,2,,,\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Parse(text)
		if err != nil {
			return
		}
		for _, name := range table.Names() {
			m, _ := table.Of(name)
			for _, p := range m.Possible(time.Now()) {
				if p.Input < 0 || p.Output < 0 || p.CacheRead < 0 || p.CacheWrite < 0 {
					t.Fatalf("%s: %+v", name, p)
				}
			}
		}
	})
}
