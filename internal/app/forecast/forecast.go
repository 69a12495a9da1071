// Package forecast estimates what a population of jobs costs from those of them that have ended. It is pure, and
// stops nothing: package rollout decides.
package forecast

import (
	"math"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// Least is the number of finished jobs below which nothing is forecast.
const Least = 10

// Confidence is the probability with which the bound holds.
const Confidence = 0.9

// Sample is what is known of a population of jobs.
type Sample struct {
	Costs []money.USD     // of the finished jobs, in a random order
	Times []time.Duration // of the same jobs
	Rest  int             // jobs that have not finished
	Spent money.USD       // by all jobs so far, also by those that are not in Costs
	Cap   money.USD       // that no job exceeds; 0 for none
	Jobs  int             // that run in parallel, at least 1
}

// Forecast is what the rest of a population of jobs is expected to cost.
type Forecast struct {
	Rest  money.USD     // expected cost of the rest
	Time  time.Duration // expected duration of the rest
	Total money.USD     // Rest and what was spent
	// Bound is what all jobs together cost at most, with probability [Confidence]; 0 without
	// a cap. The finished jobs must be a random sample.
	Bound money.USD
}

// Of returns a forecast; false if too few jobs have finished.
func Of(s Sample) (Forecast, bool) {
	n := len(s.Costs)
	if n < Least {
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
		mean := upperMean(scaled, n+s.Rest, 1-Confidence)
		rest := mean*float64(n+s.Rest)*float64(limit) - float64(sum)
		rest = min(rest, float64(s.Rest)*float64(limit))
		f.Bound = max(f.Total, s.Spent.Add(money.USD(math.Ceil(max(rest, 0)))))
	}
	return f, true
}
