package expand

import (
	"maps"
	"slices"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// providerSet are the endpoints of all manifests.
type providerSet struct {
	endpoints []form.Definition[manifest.Provider]
	byName    map[string]tasks.Provider
	prefixes  []string // their names, sorted
}

// newProviders resolves the endpoints of all manifests.
func newProviders(l *loaded, x *planTexts) *providerSet {
	p := &providerSet{byName: map[string]tasks.Provider{}}
	p.endpoints = manifest.Gather(l.manifests, func(m *manifest.Manifest) []form.Definition[manifest.Provider] { return m.Providers })
	for _, d := range p.endpoints {
		defined := d.Is.Provider
		defined.Headers, defined.Query = x.filledIn(d.Is.HeaderTexts), x.filledIn(d.Is.QueryTexts)
		for _, m := range d.Is.Facts {
			checkFacts(l, d.Value.Key.Value, m)
		}
		p.byName[d.Value.Key.Value] = defined
	}
	p.prefixes = slices.Sorted(maps.Keys(p.byName))
	return p
}

// checkFacts records what an operator's budget, or the price table, refuses.
func checkFacts(l *loaded, provider string, m manifest.ModelFacts) {
	if m.Like != "" && l.Options.Prices != nil {
		if _, ok := l.Options.Prices.Highest(m.Like, l.Options.At); !ok {
			m.Value.KeyProblem("like: "+problem.Quote(m.Like)+" is not in the price table", "see millhand models, or state the prices")
		}
	}
	name := provider + "/" + m.Name
	if _, stated := l.Options.Policies.Price(name); !stated && (m.Like != "" || m.Priced()) {
		m.Value.Refused(policy.Budget, "a price for "+problem.Quote(name), "")
	}
}
