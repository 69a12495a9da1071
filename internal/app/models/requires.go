package models

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/tasks"
)

// Requires returns the environment variables that the models of a job require, those of the
// agents that it may start included: of each list one must be set. It is sorted and has
// names only, the same wherever it is called.
func (m *Set) Requires(j tasks.Job) [][]string {
	chain := j.Models()
	for _, a := range m.Plan.Agents {
		if a.Model != nil {
			chain = append(chain, *a.Model)
		}
	}
	all := [][]string{}
	for _, of := range chain {
		all = append(all, m.required(of.ID)...)
	}
	slices.SortFunc(all, slices.Compare)
	return slices.CompactFunc(all, slices.Equal)
}

// required returns the variables without which openWire fails.
func (m *Set) required(id string) [][]string {
	conf, kind, err := endpoint(m.Plan, id)
	if err != nil { // a script, a recording, or a provider that is not supported
		return nil
	}
	prefix, _, _ := strings.Cut(id, "/")
	own := m.Plan.Providers[prefix]
	var all [][]string
	switch {
	case own.Key != nil:
	case own.KeyEnv != "":
		all = append(all, []string{own.KeyEnv})
	case own.Login != nil && own.Login.TokenEnv != "":
		all = append(all, []string{own.Login.TokenEnv})
	case kind.Cloud == kinds.AWS || kind.Cloud == kinds.Google: // a machine may have credentials without a variable
		return nil
	case own.BaseURL != "" || own.Login != nil || kind.Keyless:
	case kind.Cloud == kinds.Azure:
		all = append(all, slices.Concat(kind.KeyEnv, kind.LoginEnv))
	default:
		all = append(all, slices.Clone(kind.KeyEnv))
	}
	if conf.BaseURL == "" && kind.BaseURL == "" && len(kind.BaseEnv) > 0 && kind.Cloud != kinds.AWS && kind.Cloud != kinds.Google {
		all = append(all, slices.Clone(kind.BaseEnv))
	}
	return all
}
