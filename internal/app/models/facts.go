package models

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/tasks"
)

// pricing is what a model costs.
type pricing struct {
	money.Schedule
	written bool // by the manifest: it counts whatever the terms of the service are
}

// written is a price of the manifest.
func written(p money.Price) pricing { return pricing{money.Schedule{{Price: p}}, true} }

// cost returns what a request of some usage costs.
func (m *Set) cost(id string, p pricing, u money.Usage) (money.USD, bool) {
	price, ok := p.Price(m.now())
	searches := searchUSD.Percent(100 * min(u.Searches, maxSearches))
	terms := strings.TrimSpace(u.Terms + " " + m.region(id))
	if p.written || terms == "" {
		return price.Cost(u).Add(searches), ok
	}
	percent := prices.Percent(inTable(m.Plan, id), terms)
	m.surcharge(id).Raise(percent)
	return price.Cost(u).Percent(percent).Add(searches), ok
}

// searchUSD is what a web search costs that a provider makes while it responds, as Anthropic and
// OpenAI publish it (2026-11).
const searchUSD = money.Dollar / 100

// maxSearches bounds what a response can report.
const maxSearches = 1000

// region returns the term of requests that a regional host of OpenAI or a region of a cloud
// processes; "" for others.
func (m *Set) region(id string) string {
	conf, kind, err := m.endpoint(id)
	if err != nil { // a script or a recording
		return ""
	}
	if kind.Cloud != "" {
		prefix, _, _ := strings.Cut(id, "/")
		own := m.Plan.Providers[prefix]
		facts, _ := declared(m.Plan, id)
		if regional := prices.InOneRegion(kind.Name, conf.Model, regionOf(m.getenv, own, cmp.Or(own.Kind, prefix) == "vertex")); regional && (facts.Like != "" || m.known(id).Maker) {
			return prices.Regional
		}
		return ""
	}
	if conf.BaseURL == "" {
		_, conf.BaseURL = m.getenv.first(kind.BaseEnv)
	}
	if base, err := url.Parse(conf.BaseURL); err != nil || !strings.HasSuffix(base.Hostname(), ".api.openai.com") {
		return ""
	}
	return prices.Regional
}

// surcharge returns the surcharge of a model, which is that of its region at first.
func (m *Set) surcharge(id string) *money.Surcharge {
	least := prices.Percent(inTable(m.Plan, id), m.region(id))
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.surcharges[id]
	if s == nil {
		s = &money.Surcharge{}
		s.Raise(least)
		m.surcharges[id] = s
	}
	return s
}

// inTable returns the name under which the price table has a model: a provider of the
// manifest serves the models of its kind.
func inTable(plan *tasks.Plan, id string) string {
	prefix, bare, _ := strings.Cut(id, "/")
	kind := cmp.Or(plan.Providers[prefix].Kind, prefix)
	if kind == "responses" {
		kind = "openai"
	}
	return kind + "/" + bare
}

// known returns what the price table has of a model, or of its like in the manifest. It has nothing of
// scripts and recordings.
func (m *Set) known(id string) prices.Model {
	if scripted(id) || recorded(id) {
		return prices.Model{}
	}
	name := inTable(m.Plan, id)
	if facts, ok := declared(m.Plan, id); ok && facts.Like != "" {
		name = facts.Like
	}
	known, _ := m.table.Of(name)
	return known
}

// declared returns the facts that the manifest states for a model of one of its
// providers.
func declared(plan *tasks.Plan, id string) (tasks.ModelFacts, bool) {
	prefix, bare, _ := strings.Cut(id, "/")
	facts, ok := plan.Providers[prefix].Models[bare]
	return facts, ok
}

// Facts returns the properties of a model. If it is unknown which files a model
// sees, it gets images: a provider that does not support them refuses them.
func (m *Set) Facts(id string) opened.Facts {
	known := m.known(id)
	facts, _ := declared(m.Plan, id)
	f := opened.Facts{
		Images: known.Images || !known.Sees, PDFs: known.PDFs,
		Like: facts.Like, Context: cmp.Or(facts.Window, known.Context), MaxOutput: cmp.Or(facts.MaxOutput, known.MaxOutput),
	}
	if facts.Vision != nil {
		f.Images, f.PDFs = *facts.Vision, *facts.Vision && known.PDFs
	}
	return f
}

// price returns the price of a model in the manifest, or else in the price table.
func (m *Set) price(id, name string) (pricing, bool) {
	if p, ok := m.Plan.Prices[name]; ok {
		return written(p), true
	}
	known := m.known(id)
	base, priced := known.Price(m.now())
	switch facts, _ := declared(m.Plan, id); {
	case facts.Priced():
		return written(facts.Price(id, base)), true
	case m.free(id):
		return written(money.Price{}), true
	}
	return pricing{known.Schedule, false}, priced
}

// free reports whether a model costs nothing: a script, or one of the user's own server.
func (m *Set) free(id string) bool { return scripted(id) || m.local(id) }

// local reports whether a model is one of a server that users run themselves. Under an
// operator's budget, the kind that a manifest gives to an endpoint doesn't prove that, and
// a key for Ollama may be one for its cloud.
func (m *Set) local(id string) bool {
	prefix, _, _ := strings.Cut(id, "/")
	own, defined := m.Plan.Providers[prefix]
	kind, _ := kinds.Lookup(cmp.Or(own.Kind, prefix))
	if _, key := m.getenv.first(append(slices.Clone(kind.KeyEnv), own.KeyEnv)); kind.Hosted && key != "" {
		return false
	}
	return kind.Free && (!defined || !m.Plan.Policies.States(policy.Budget))
}

// stated is a model of which the manifest states facts that requests depend on. Models that
// reason refuse a temperature, the others an effort; a server's own limit of the output may
// be much smaller than the model's.
type stated struct {
	model.Model
	reasons   *bool
	maxOutput int
}

func (s stated) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	switch {
	case s.reasons == nil:
	case *s.reasons:
		req.Temperature, req.TopP = nil, nil
	default:
		req.Effort = ""
	}
	if s.maxOutput > 0 && (req.MaxOutput == 0 || req.MaxOutput > s.maxOutput) {
		req.MaxOutput = s.maxOutput
	}
	return s.Model.Stream(ctx, req, emit)
}
