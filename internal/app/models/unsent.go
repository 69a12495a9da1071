package models

import (
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/tasks"
)

// unsent lists the efforts that are sent as another one, or dropped, and the temperatures
// that are dropped.
func (m *Set) unsent() []string {
	var list []string
	add := func(of tasks.Model, s tasks.Sampling) {
		for _, text := range m.unsentOf(of, s) {
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	for _, j := range m.Plan.Jobs {
		for _, of := range j.Models() {
			add(of, j.Sampling)
		}
	}
	for _, a := range m.Plan.Agents {
		if a.Model != nil {
			add(*a.Model, a.Sampling)
		}
	}
	return list
}

func (m *Set) unsentOf(of tasks.Model, s tasks.Sampling) (list []string) {
	conf, kind, err := endpoint(m.Plan, of.ID)
	if err != nil { // a script or a recording
		return nil
	}
	if conf.BaseURL == "" {
		_, conf.BaseURL = m.getenv.first(kind.BaseEnv)
	}
	facts, _ := declared(m.Plan, of.ID)
	sent := provider.SentEffort(conf, s.Effort)
	if facts.Reasoning != nil && !*facts.Reasoning {
		sent = ""
	}
	switch {
	case s.Effort == "" || sent == s.Effort:
	case sent == "":
		list = append(list, fmt.Sprintf("%s does not support the effort %s: it is not sent", of.Name, s.Effort))
	default:
		list = append(list, fmt.Sprintf("%s does not support the effort %s: %s is sent", of.Name, s.Effort, sent))
	}
	if s.Temperature != nil && (!provider.SendsTemperature(conf) || facts.Reasoning != nil && *facts.Reasoning) {
		list = append(list, of.Name+" does not support a temperature: it is not sent")
	}
	return list
}
