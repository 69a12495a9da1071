package prices

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed table.csv
var table string

// Date is when the built-in prices were written down.
const Date = "2026-07"

// Price is what a model costs, in USD per million tokens.
type Price struct {
	Input, Output         float64
	CacheRead, CacheWrite float64 // charged instead of Input for that part of the input
	Context, MaxOutput    int     // tokens; 0 if unknown
	Tiers                 []Tier  // in rising order
	Images, PDFs          bool    // whether the model sees such files
}

// Tier replaces the prices of a request whose input is longer than From tokens.
type Tier struct {
	From                     int64
	Input, Output, CacheRead float64
}

// Usage counts the tokens of one request. Input includes the cached ones,
// Output the reasoning.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int64
}

// Cost returns what one request costs, in USD.
func (p Price) Cost(u Usage) float64 {
	for _, t := range p.Tiers {
		if u.Input > t.From {
			p = p.Above(t)
		}
	}
	plain := max(u.Input-u.CacheRead-u.CacheWrite, 0)
	return (float64(plain)*p.Input + float64(u.CacheRead)*p.CacheRead +
		float64(u.CacheWrite)*p.CacheWrite + float64(u.Output)*p.Output) / 1e6
}

// Above returns the price that holds in one of its tiers.
func (p Price) Above(t Tier) Price {
	if p.CacheWrite == p.Input { // charged as input, so it stays that
		p.CacheWrite = t.Input
	}
	p.Input, p.Output, p.CacheRead = t.Input, t.Output, t.CacheRead
	return p
}

// Names returns the models whose prices are built in, sorted.
func Names() []string { return slices.Sorted(maps.Keys(builtIn())) }

// Of returns the built-in price of a model named provider/model; false if it
// has none.
func Of(model string) (Price, bool) {
	p, ok := builtIn()[model]
	return p, ok
}

// builtIn reads the table, once and only when it is needed.
var builtIn = sync.OnceValue(func() map[string]Price {
	m, err := parse(table)
	if err != nil {
		return nil // a test holds the table to being readable
	}
	return m
})

// parse reads a table of prices.
func parse(text string) (map[string]Price, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comment = '#'
	r.FieldsPerRecord = 9
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the price table: %w", err)
	}
	prices := make(map[string]Price, len(rows))
	for _, row := range rows {
		p, err := parseRow(row)
		if err != nil {
			return nil, fmt.Errorf("read the price of %s: %w", row[0], err)
		}
		prices[row[0]] = p
	}
	return prices, nil
}

func parseRow(row []string) (Price, error) {
	n, err := numbers(row[1:7])
	if err != nil {
		return Price{}, err
	}
	p := Price{Input: n[0], Output: n[1], CacheRead: n[2], CacheWrite: n[3], Context: int(n[4]), MaxOutput: int(n[5])}
	for takes := range strings.FieldsSeq(row[8]) {
		p.Images, p.PDFs = p.Images || takes == "image", p.PDFs || takes == "pdf"
	}
	if row[3] == "" {
		p.CacheRead = p.Input
	}
	if row[4] == "" {
		p.CacheWrite = p.Input
	}
	for tier := range strings.SplitSeq(row[7], ";") {
		if tier == "" {
			continue
		}
		fields := strings.Split(tier, ":")
		t, err := numbers(fields)
		if err != nil || len(t) != 4 {
			return Price{}, fmt.Errorf("tier %q: want FROM:INPUT:OUTPUT:CACHE_READ", tier)
		}
		if fields[3] == "" {
			t[3] = t[1]
		}
		p.Tiers = append(p.Tiers, Tier{From: int64(t[0]), Input: t[1], Output: t[2], CacheRead: t[3]})
	}
	return p, nil
}

// numbers reads numbers; an empty field is 0.
func numbers(fields []string) ([]float64, error) {
	out := make([]float64, len(fields))
	for i, f := range fields {
		if f == "" {
			continue
		}
		var err error
		if out[i], err = strconv.ParseFloat(f, 64); err != nil {
			return nil, err
		}
	}
	return out, nil
}
