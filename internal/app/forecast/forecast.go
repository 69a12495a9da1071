// Package forecast estimates what a population of jobs costs from those of them that have ended. It is pure, and
// stops nothing: package rollout decides. Its caller gets it as [world.World]'s field Forecast, which only the table of commands
// sets: the program can be built without it.
package forecast

import (
	"fmt"
	"math"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/runner/admission"
)

// least is the number of finished jobs below which nothing is forecast.
const least = 10

// confidence is the probability with which the bound holds.
const confidence = 0.9

// Forecast is what the rest of a population of jobs is expected to cost.
type Forecast struct {
	Rest  money.USD     // expected cost of the rest
	Time  time.Duration // expected duration of the rest
	Total money.USD     // Rest and what was spent
	// Bound is what all jobs together cost at most, with probability [confidence]; 0 without
	// a cap. The finished jobs must be a random sample.
	Bound money.USD
}

// Estimate returns a forecast for reports, and what it lacks if too few jobs have finished. It is an
// [admission.Forecast].
func Estimate(s admission.Sample) (f *event.Forecast, lacks string) {
	f = &event.Forecast{Sample: len(s.Costs), Rest: s.Rest, Confidence: confidence}
	of, ok := Of(s)
	if !ok {
		return f, fmt.Sprintf("%d of at least %d jobs have finished", len(s.Costs), least)
	}
	ms := of.Time.Milliseconds()
	f.CostUSD, f.ElapsedMS = &of.Rest, &ms
	if s.Cap > 0 {
		f.BoundUSD = &of.Bound
	}
	return f, ""
}

// Of returns a forecast; false if too few jobs have finished.
func Of(s admission.Sample) (Forecast, bool) {
	n := len(s.Costs)
	if n < least {
		return Forecast{}, false
	}
	var f Forecast
	var sum, most money.USD
	for _, c := range s.Costs {
		sum, most = sum.Add(c), max(most, c)
	}
	var busy time.Duration
	for _, t := range s.Times {
		busy += t
	}
	share := float64(s.Rest) / float64(n)
	f.Rest = money.USD(math.Round(float64(sum) * share))
	f.Time = time.Duration(float64(busy) * share / float64(max(s.Jobs, 1)))
	f.Total = s.Spent.Add(f.Rest)
	if s.Cap > 0 {
		limit := max(s.Cap, most)
		scaled := make([]float64, n)
		for i, c := range s.Costs {
			scaled[i] = float64(c) / float64(limit)
		}
		mean := upperMean(scaled, n+s.Rest, 1-confidence)
		rest := mean*float64(n+s.Rest)*float64(limit) - float64(sum)
		rest = min(rest, float64(s.Rest)*float64(limit))
		f.Bound = max(f.Total, s.Spent.Add(money.USD(math.Ceil(max(rest, 0)))))
	}
	return f, true
}
