package models

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/tasks"
)

// costs are what the models of a plan cost.
type costs struct {
	plan       *tasks.Plan
	getenv     variables
	now        func() time.Time
	table      *prices.Table
	surcharges *surcharges
}

// surcharges are those of providers so far, by model.
type surcharges struct {
	mu sync.Mutex
	of map[string]*money.Surcharge
}

// raised returns the surcharge of a model, which has been at least of a percentage.
func (s *surcharges) raised(id string, percent int64) *money.Surcharge {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]*money.Surcharge{}
	}
	if s.of[id] == nil {
		s.of[id] = &money.Surcharge{}
	}
	s.of[id].Raise(percent)
	return s.of[id]
}

// pricing is what a model costs.
type pricing struct {
	money.Schedule
	written bool // by the manifest: it counts whatever the terms of the service are
}

// written is a price of the manifest.
func written(p money.Price) pricing { return pricing{money.Schedule{{Price: p}}, true} }

// cost returns what a request of some usage costs.
func (c costs) cost(id string, p pricing, u money.Usage) (money.USD, bool) {
	price, ok := p.Price(c.now())
	searches := searchUSD.Percent(100 * min(u.Searches, maxSearches))
	terms := strings.TrimSpace(u.Terms + " " + c.region(id))
	if p.written || terms == "" {
		return price.Cost(u).Add(searches), ok
	}
	percent := prices.Percent(inTable(c.plan, id), terms)
	c.surcharges.raised(id, percent)
	return price.Cost(u).Percent(percent).Add(searches), ok
}

// searchUSD is what a web search costs that a provider makes while it responds, as Anthropic and
// OpenAI publish it (2026-11).
const searchUSD = money.Dollar / 100

// maxSearches bounds what a response can report.
const maxSearches = 1000

// region returns the term of requests that a regional host of OpenAI or a region of a cloud
// processes; "" for others.
func (c costs) region(id string) string {
	conf, kind, err := endpoint(c.plan, id)
	if err != nil { // a script or a recording
		return ""
	}
	if kind.Cloud != "" {
		prefix, _, _ := strings.Cut(id, "/")
		own := c.plan.Providers[prefix]
		facts, _ := declared(c.plan, id)
		if regional := prices.InOneRegion(kind.Name, conf.Model, regionOf(c.getenv, own, cmp.Or(own.Kind, prefix) == "vertex")); regional && (facts.Like != "" || c.known(id).Maker) {
			return prices.Regional
		}
		return ""
	}
	if conf.BaseURL == "" {
		_, conf.BaseURL = c.getenv.first(kind.BaseEnv)
	}
	if base, err := url.Parse(conf.BaseURL); err != nil || !strings.HasSuffix(base.Hostname(), ".api.openai.com") {
		return ""
	}
	return prices.Regional
}

// surcharge returns the surcharge of a model, which is that of its region at least.
func (c costs) surcharge(id string) *money.Surcharge {
	return c.surcharges.raised(id, prices.Percent(inTable(c.plan, id), c.region(id)))
}

// known returns what the price table has of a model, or of its like in the manifest. It has nothing of
// scripts and recordings.
func (c costs) known(id string) prices.Model {
	if scripted(id) || recorded(id) {
		return prices.Model{}
	}
	name := inTable(c.plan, id)
	if facts, ok := declared(c.plan, id); ok && facts.Like != "" {
		name = facts.Like
	}
	known, _ := c.table.Of(name)
	return known
}

// price returns the price of a model in the manifest, or else in the price table.
func (c costs) price(id, name string) (pricing, bool) {
	if p, ok := c.plan.Prices[name]; ok {
		return written(p), true
	}
	known := c.known(id)
	base, priced := known.Price(c.now())
	switch facts, _ := declared(c.plan, id); {
	case facts.Priced():
		return written(facts.Price(id, base)), true
	case c.free(id):
		return written(money.Price{}), true
	}
	return pricing{known.Schedule, false}, priced
}

// free reports whether a model costs nothing: a script, or one of the user's own server.
func (c costs) free(id string) bool { return scripted(id) || c.local(id) }

// local reports whether a model is one of a server that users run themselves. Under an
// operator's budget, the kind that a manifest gives to an endpoint doesn't prove that, and
// a key for Ollama may be one for its cloud.
func (c costs) local(id string) bool {
	prefix, _, _ := strings.Cut(id, "/")
	own, defined := c.plan.Providers[prefix]
	kind, _ := kinds.Lookup(cmp.Or(own.Kind, prefix))
	if _, key := c.getenv.first(append(slices.Clone(kind.KeyEnv), own.KeyEnv)); kind.Hosted && key != "" {
		return false
	}
	return kind.Free && (!defined || !c.plan.Policies.States(policy.Budget))
}
