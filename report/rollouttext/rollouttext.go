// Package rollouttext describes a rollout for people, for all formats that have it. It decides nothing about waves.
package rollouttext

import (
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
)

// Lines describes a rollout for people, a line each: the wave, the conditions of the
// next one, the limits that were exceeded, and the forecast. nil has none.
func Lines(r *event.Rollout) []string {
	if r == nil {
		return nil
	}
	head := fmt.Sprintf("rollout %s: all %s complete", r.Name, figures.Count(r.Waves, "wave"))
	if r.Wave > 0 {
		head = fmt.Sprintf("rollout %s: wave %d of %d: %d of %s finished, %d passed, %d failed", r.Name, r.Wave, r.Waves, r.Finished, figures.Count(r.Jobs, "job"), r.Passed, r.Failed)
	}
	if r.BaseRed > 0 {
		head += fmt.Sprintf(", %d with a red base", r.BaseRed)
	}
	lines := []string{head}
	for _, c := range r.Exceeded {
		lines = append(lines, fmt.Sprintf("limit reached: %s %s: %s", c.Key, c.Limit, c.Value))
	}
	for _, c := range r.Conditions {
		met := "met"
		if !c.Met {
			met = "not met"
		}
		lines = append(lines, fmt.Sprintf("condition of the next wave: %s %s: %s, %s", c.Key, c.Limit, c.Value, met))
	}
	if r.Forecast != nil {
		lines = append(lines, Forecast(r.Forecast))
	}
	return lines
}

// Forecast describes a forecast.
func Forecast(f *event.Forecast) string {
	rest := figures.Count(f.Rest, "job")
	if f.CostUSD == nil || f.ElapsedMS == nil {
		return fmt.Sprintf("forecast: too few finished jobs (%d) for a forecast of %s that remain", f.Sample, rest)
	}
	text := fmt.Sprintf("forecast from %s: %s that remain cost about %s in %s", figures.Count(f.Sample, "finished job"), rest, money.Rounded(f.CostUSD), figures.Duration(*f.ElapsedMS))
	if f.BoundUSD == nil {
		return text + "; no bound without limits.cost of each job"
	}
	return text + fmt.Sprintf("; all jobs together at most %s with %.0f%% confidence", money.Rounded(f.BoundUSD), f.Confidence*100)
}
