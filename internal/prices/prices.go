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

	"github.com/millhand/millhand/internal/money"
)

//go:embed table.csv
var table string

// Date is when the built-in prices were written down.
const Date = "2026-07"

// Model is what is known of a model: what it costs, and what it accepts.
type Model struct {
	money.Price
	Context, MaxOutput int  // tokens; 0 if unknown
	Images, PDFs       bool // whether the model sees such files
}

// Names returns the models whose prices are built in, sorted.
func Names() []string { return slices.Sorted(maps.Keys(builtIn())) }

// Of returns the built-in price of a model named provider/model; false if it
// has none.
func Of(model string) (Model, bool) {
	p, ok := builtIn()[model]
	return p, ok
}

// builtIn reads the table, once and only when it is needed.
var builtIn = sync.OnceValue(func() map[string]Model {
	m, err := parse(table)
	if err != nil {
		return nil // a test holds the table to being readable
	}
	return m
})

// parse reads a table of prices.
func parse(text string) (map[string]Model, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comment = '#'
	r.FieldsPerRecord = 9
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the price table: %w", err)
	}
	prices := make(map[string]Model, len(rows))
	for _, row := range rows {
		p, err := parseRow(row)
		if err != nil {
			return nil, fmt.Errorf("read the price of %s: %w", row[0], err)
		}
		prices[row[0]] = p
	}
	return prices, nil
}

func parseRow(row []string) (Model, error) {
	rates, err := amounts(row[1:5])
	if err != nil {
		return Model{}, err
	}
	sizes, err := numbers(row[5:7])
	if err != nil {
		return Model{}, err
	}
	p := Model{
		Price:   money.Price{Input: rates[0], Output: rates[1], CacheRead: rates[2], CacheWrite: rates[3]},
		Context: int(sizes[0]), MaxOutput: int(sizes[1]),
	}
	for kind := range strings.FieldsSeq(row[8]) {
		p.Images, p.PDFs = p.Images || kind == "image", p.PDFs || kind == "pdf"
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
		from, rest, _ := strings.Cut(tier, ":")
		fields := strings.Split(rest, ":")
		above, err := numbers([]string{from})
		rates, err2 := amounts(fields)
		if err != nil || err2 != nil || len(rates) != 3 {
			return Model{}, fmt.Errorf("tier %q: want FROM:INPUT:OUTPUT:CACHE_READ", tier)
		}
		if fields[2] == "" {
			rates[2] = rates[0]
		}
		p.Tiers = append(p.Tiers, money.Tier{From: above[0], Input: rates[0], Output: rates[1], CacheRead: rates[2]})
	}
	return p, nil
}

// amounts reads amounts of USD; an empty field is 0.
func amounts(fields []string) ([]money.USD, error) { return each(fields, money.Parse) }

// numbers reads integers; an empty field is 0.
func numbers(fields []string) ([]int64, error) {
	return each(fields, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
}

func each[T any](fields []string, parse func(string) (T, error)) ([]T, error) {
	out := make([]T, len(fields))
	for i, f := range fields {
		if f == "" {
			continue
		}
		var err error
		if out[i], err = parse(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}
