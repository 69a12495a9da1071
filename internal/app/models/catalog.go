package models

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
)

// The JSON form of `millhand models`. Scripts of users depend on it.
type (
	// Catalog lists the models whose prices are built in.
	Catalog struct {
		Date   string  `json:"date"` // of the prices, for example 2026-07
		Models []Model `json:"models"`
	}
	// Model describes a model.
	Model struct {
		ID        string `json:"id"` // as in a manifest: provider/model
		Provider  string `json:"provider"`
		Window    *int   `json:"window"`     // tokens of a request and its response; null if unknown
		MaxOutput *int   `json:"max_output"` // tokens; null if unknown
		Prices    Price  `json:"prices"`
		// Tiers replace Prices for requests with a longer input.
		Tiers  []Tier   `json:"tiers"`
		Images bool     `json:"images"`  // whether it supports images
		PDFs   bool     `json:"pdfs"`    // whether it supports PDF files
		KeyEnv []string `json:"key_env"` // variables that may hold the key
		KeySet *string  `json:"key_set"` // the one of them that is set; null for none
	}
	// Price is in USD per million tokens.
	Price struct {
		Input      money.USD `json:"input"`
		Output     money.USD `json:"output"`
		CacheRead  money.USD `json:"cache_read"`
		CacheWrite money.USD `json:"cache_write"`
	}
	// Tier is the price of requests with a longer input.
	Tier struct {
		From int64 `json:"from"` // tokens of input above which it applies
		Price
	}
)

// NewCatalog lists the models of the given providers (of all if none are given), and
// the providers without built-in prices. getenv reports which keys are set.
func NewCatalog(table *prices.Table, providers []string, getenv func(string) string, now time.Time) (doc Catalog, unknown []string, err error) {
	names := slices.Clone(providers)
	for i, name := range names {
		kind, ok := provider.Lookup(name)
		if !ok {
			known := slices.DeleteFunc(kinds.Names(), func(name string) bool { return strings.HasPrefix(name, "openai-") })
			return Catalog{}, nil, fmt.Errorf("unknown provider %q: use one of %s", name, strings.Join(known, ", "))
		}
		names[i] = kind.Name // resolves aliases such as gemini
	}
	doc = Catalog{Date: table.Date, Models: []Model{}}
	for _, id := range table.Names() {
		if of, _, _ := strings.Cut(id, "/"); len(names) == 0 || slices.Contains(names, of) {
			doc.Models = append(doc.Models, modelOf(table, id, of, getenv, now))
		}
	}
	for _, of := range names {
		if !slices.ContainsFunc(doc.Models, func(m Model) bool { return m.Provider == of }) {
			unknown = append(unknown, of)
		}
	}
	return doc, unknown, nil
}

func modelOf(table *prices.Table, id, of string, getenv func(string) string, now time.Time) Model {
	m, _ := table.Of(id)
	p, _ := m.Price(now)
	kind, _ := provider.Lookup(of)
	doc := Model{
		ID: id, Provider: of, Window: some(m.Context), MaxOutput: some(m.MaxOutput),
		Prices: Price{p.Input, p.Output, p.CacheRead, p.CacheWrite}, Tiers: []Tier{},
		Images: m.Images, PDFs: m.PDFs, KeyEnv: append([]string{}, kind.KeyEnv...),
	}
	for _, t := range p.Tiers {
		doc.Tiers = append(doc.Tiers, Tier{t.From, Price{t.Input, t.Output, t.CacheRead, t.CacheWrite}})
	}
	for _, name := range kind.KeyEnv {
		if strings.TrimSpace(getenv(name)) != "" {
			doc.KeySet = &name
			break
		}
	}
	return doc
}
