// Package dataset converts the prices that the npm package @pydantic/genai-prices publishes into the table of
// package prices, and downloads that package. What it reads comes from a server: it is checked, and never
// evaluated. It decides neither when prices are downloaded nor which ones apply.
package dataset

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/model/kinds"
)

// provider is a provider in the dataset.
type provider struct {
	ID     string  `json:"id"`
	Models []entry `json:"models"`
}

// entry is a model in the dataset, or several with the same prices.
type entry struct {
	ID     string          `json:"id"`
	Match  match           `json:"match"`
	Window int64           `json:"context_window"`
	Prices json.RawMessage `json:"prices"` // rates, or a list of conditional
}

// match is a rule on the names of the models of an entry.
type match struct {
	Or         []match `json:"or"`
	And        []match `json:"and"`
	Equals     string  `json:"equals"`
	StartsWith string  `json:"starts_with"`
	EndsWith   string  `json:"ends_with"`
	Contains   string  `json:"contains"`
	Regex      string  `json:"regex"`
}

// conditional are rates that hold from a date on, or at some hours of each day.
type conditional struct {
	Constraint *struct {
		StartDate string `json:"start_date"`
		StartTime string `json:"start_time"`
		EndTime   string `json:"end_time"`
	} `json:"constraint"`
	Rates rates `json:"prices"`
}

// rates are prices by their kind.
type rates map[string]rate

// rate is a price in USD per million tokens. Each tier replaces it for requests with
// an input of more than Start tokens.
type rate struct {
	Base  json.Number `json:"base"`
	Tiers []struct {
		Start int64       `json:"start"`
		Price json.Number `json:"price"`
	} `json:"tiers"`
}

// UnmarshalJSON reads a rate, which is a number unless it has tiers.
func (r *rate) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		type tiered rate
		return json.Unmarshal(data, (*tiered)(r))
	}
	return json.Unmarshal(data, &r.Base)
}

// providers returns those of the dataset whose models can be called, with their names in
// millhand. Azure charges what the makers of its models do, which package prices knows.
func providers() map[string]string {
	return named(func(k kinds.Kind) string { return k.GenaiPrices })
}

// named returns the names of kinds by those that others have for them.
func named(by func(kinds.Kind) string) map[string]string {
	names := map[string]string{}
	for _, name := range kinds.Names() {
		if k, _ := kinds.Lookup(name); by(k) != "" {
			names[by(k)] = name
		}
	}
	return names
}

// columns are the rates that a row of the table has, in their order.
var columns = []string{"input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok"}

// Table converts the package's JavaScript to a table of package prices, which starts
// with its version and date (2006-01-02). Models whose requests are charged by anything
// other than tokens of text are left out, and so are prices that had ended by then.
func Table(source []byte, version, date string) ([]byte, error) {
	data, err := literal(source)
	if err != nil {
		return nil, fmt.Errorf("read the prices of genai-prices %s: %w", version, err)
	}
	var all []provider
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("read the prices of genai-prices %s: %w", version, err)
	}
	rows, of := map[string]string{}, providers() // by their first name
	for _, p := range all {
		name, ok := of[p.ID]
		if !ok {
			continue
		}
		for _, e := range p.Models {
			row, err := e.row(name, date)
			if err != nil {
				return nil, fmt.Errorf("read the price of %s/%s: %w", name, e.ID, err)
			}
			if first, _, _ := strings.Cut(row, " "); first != "" {
				rows[first] = row
			}
		}
	}
	text := fmt.Appendf(nil, "genai-prices %s %s\n", version, date)
	for _, first := range slices.Sorted(maps.Keys(rows)) {
		text = append(text, rows[first]+"\n"...)
	}
	return text, nil
}

// row returns the row of an entry; "" for none.
func (e entry) row(provider, date string) (string, error) {
	names := e.names(provider)
	if len(names) == 0 {
		return "", nil
	}
	var list []conditional
	if err := json.Unmarshal(e.Prices, &list); err != nil {
		list = make([]conditional, 1)
		if err := json.Unmarshal(e.Prices, &list[0].Rates); err != nil {
			return "", err
		}
	}
	fields := []string{provider + "/" + strings.Join(names, "|"), strconv.FormatInt(e.Window, 10)}
	for _, c := range current(list, date) {
		text, ok := c.Rates.text(strings.HasSuffix(names[0], ":free"))
		if !ok {
			return "", nil
		}
		switch of := c.Constraint; {
		case of == nil || of.StartDate != "" && of.StartDate <= date:
		case of.StartDate != "":
			text = of.StartDate + "@" + text
		default:
			from, to, ok := hours(of.StartTime, of.EndTime)
			if !ok {
				return "", fmt.Errorf("unknown constraint %+v", *of)
			}
			text = from + "-" + to + "@" + text
		}
		fields = append(fields, text)
	}
	return strings.Join(fields, " "), nil
}

// current drops the prices that others have replaced until a date. Of those that
// hold, the last one counts.
func current(list []conditional, date string) []conditional {
	from := 0
	for i, c := range list {
		if c.Constraint != nil && c.Constraint.StartDate != "" && c.Constraint.StartDate <= date {
			from = i
		}
	}
	return list[from:]
}

var hourForm = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d:00Z$`)

// hours returns hours of the day in UTC, as 15:04.
func hours(start, end string) (from, to string, ok bool) {
	if !hourForm.MatchString(start) || !hourForm.MatchString(end) {
		return "", "", false
	}
	return start[:5], end[:5], true
}

// text returns rates as INPUT,OUTPUT,CACHE_READ,CACHE_WRITE,CACHE_WRITE_1H, followed by
// those of each tier as ;START:.... ok is false if that does not say all: requests have
// other costs, or none are known.
func (r rates) text(free bool) (text string, ok bool) {
	if free && len(r) == 0 {
		return "0,0,0,0,0", true
	}
	for kind := range r { // output of images, audio and so on is charged in addition
		if strings.HasPrefix(kind, "output_") && kind != "output_mtok" || kind == "requests_kcount" {
			return "", false
		}
	}
	if r["input_mtok"].Base == "" || r["output_mtok"].Base == "" {
		return "", false
	}
	starts := map[int64]bool{}
	base := make([]string, len(columns))
	for i, kind := range columns {
		base[i] = r[kind].Base.String()
		for _, t := range r[kind].Tiers {
			starts[t.Start] = true
		}
	}
	text = strings.Join(base, ",")
	for _, start := range slices.Sorted(maps.Keys(starts)) {
		at := make([]string, len(columns))
		for i, kind := range columns {
			at[i] = r[kind].above(start)
		}
		text += fmt.Sprintf(";%d:%s", start, strings.Join(at, ","))
	}
	return text, true
}

// above returns the rate of requests with an input of more than start tokens.
func (r rate) above(start int64) string {
	price, from := r.Base, int64(-1)
	for _, t := range r.Tiers {
		if t.Start <= start && t.Start > from {
			price, from = t.Price, t.Start
		}
	}
	return price.String()
}

// nameOf is what names of models consist of.
var nameOf = regexp.MustCompile(`^~?[\w.:/@+-]+$`)

// names returns the names of an entry's models without their provider, its id first if
// it is one of them. One that ends in * also stands for its versions (see package
// prices): rules on the start of a name fit future models, too, whose price is another.
func (e entry) names(provider string) []string {
	seen := map[string]bool{}
	e.Match.collect(seen)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		bare := strings.TrimSuffix(name, "*")
		for _, prefix := range []string{"cerebras:", "cerebras/", "x-ai/"} {
			bare = strings.TrimPrefix(bare, prefix)
		}
		switch {
		case bare != strings.TrimSuffix(name, "*"): // has the name of the provider, and is another of the list
		case !nameOf.MatchString(bare), name == bare && seen[name+"*"]:
		case provider == "openrouter" && !strings.Contains(bare, "/"): // it knows none without their maker
		case provider == "openai" && strings.HasPrefix(bare, "gpt-oss"): // which others serve
		case provider == "google" && !strings.HasPrefix(bare, "gem"): // those of Vertex
		default:
			names = append(names, name)
		}
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.TrimSuffix(name, "*") == e.ID }); i > 0 {
		names[0], names[i] = names[i], names[0]
		slices.Sort(names[1:])
	}
	return names
}

// collect adds the names that a rule fits.
func (m match) collect(to map[string]bool) {
	for _, of := range slices.Concat(m.Or, m.And) {
		of.collect(to)
	}
	for _, exact := range []string{m.Equals, m.EndsWith} {
		to[strings.ToLower(exact)] = exact != ""
	}
	for _, start := range []string{m.StartsWith, m.Contains, leading(m.Regex)} {
		if start = versionStart.ReplaceAllString(strings.ToLower(start), ""); start != "" {
			to[start+"*"] = true
		}
	}
	delete(to, "")
}

// versionStart matches the start of a version at the end of a name's start.
var versionStart = regexp.MustCompile(`[-@]+$|-20\d\d-?$`)

var leadingForm = regexp.MustCompile(`^\^((?:[\w/:@-]|\\\.)+?)-?(?:\\d|$)`)

// leading returns the literal start of a regular expression; "" for none.
func leading(expression string) string {
	found := leadingForm.FindStringSubmatch(expression)
	if found == nil {
		return ""
	}
	return strings.ReplaceAll(found[1], `\.`, ".")
}
