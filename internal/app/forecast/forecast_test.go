package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/runner/admission"
)

// fleet returns the costs of jobs: lognormal, with a limit of $1.50.
func fleet(random *rand.Rand, jobs int, sigma float64) []money.USD {
	costs := make([]money.USD, jobs)
	for i := range costs {
		costs[i] = money.USD(math.Min(1.5, 0.3*math.Exp(sigma*random.NormFloat64())) * float64(money.Dollar))
	}
	return costs
}

func sum(costs []money.USD) (all money.USD) {
	for _, c := range costs {
		all += c
	}
	return all
}

// TestBoundOfSimulatedFleets checks in 3,600 fleets that the bound is above the true cost as
// often as it states, and that it is useful.
func TestBoundOfSimulatedFleets(t *testing.T) {
	random := nightly.Random(t)
	for _, sigma := range []float64{0.6, 1.0, 1.4} {
		for _, c := range []struct {
			pilot int
			most  float64
		}{{10, 2.5}, {20, 1.8}, {40, 1.4}} {
			pilot, most := c.pilot, c.most
			t.Run(fmt.Sprintf("sigma %.1f, pilot %d", sigma, pilot), func(t *testing.T) {
				fleets := nightly.Count(400, 4000, 20000)
				held, ratios := 0, make([]float64, fleets)
				for i := range ratios {
					costs := fleet(random, 400, sigma)
					f, ok := Of(admission.Sample{Costs: costs[:pilot], Rest: len(costs) - pilot, Spent: sum(costs[:pilot]), Cap: money.Dollar * 3 / 2, Jobs: 1})
					if !ok {
						t.Fatal("no forecast")
					}
					if f.Bound >= sum(costs) {
						held++
					}
					ratios[i] = float64(f.Bound) / float64(sum(costs))
				}
				slices.Sort(ratios)
				t.Logf("the bound held in %.1f%% of %d fleets; its median is %.2f × the true cost", float64(held)*100/float64(fleets), fleets, ratios[fleets/2])
				if held*100 < 90*fleets {
					t.Errorf("the bound held in %d of %d fleets", held, fleets)
				}
				if ratios[fleets/2] > most {
					t.Errorf("the median of the bound is %.2f × the true cost, more than %.1f", ratios[fleets/2], most)
				}
			})
		}
	}
}

// TestBoundOfRareCosts has a few jobs that cost their limit, which most samples don't
// contain: a bound that only looks at the sample is below.
func TestBoundOfRareCosts(t *testing.T) {
	random := nightly.Random(t)
	const fleets = 2000
	held := 0
	for range fleets {
		costs := make([]money.USD, 200)
		for i := range costs {
			costs[i] = money.Dollar / 100
			if i%25 == 0 {
				costs[i] = money.Dollar
			}
		}
		random.Shuffle(len(costs), func(i, j int) { costs[i], costs[j] = costs[j], costs[i] })
		f, _ := Of(admission.Sample{Costs: costs[:15], Rest: 185, Spent: sum(costs[:15]), Cap: money.Dollar, Jobs: 1})
		if f.Bound >= sum(costs) {
			held++
		}
	}
	if held*100 < 90*fleets {
		t.Errorf("the bound held in %d of %d fleets", held, fleets)
	}
}

func TestAForecastNeedsTenJobsAndIsWithinTheirLimits(t *testing.T) {
	costs, times := make([]money.USD, 10), make([]time.Duration, 10)
	for i := range costs {
		costs[i], times[i] = money.Dollar/10, time.Minute
	}
	if _, ok := Of(admission.Sample{Costs: costs[:9], Times: times[:9], Rest: 10}); ok {
		t.Error("9 jobs are enough")
	}
	f, ok := Of(admission.Sample{Costs: costs, Times: times, Rest: 30, Spent: money.Dollar * 2, Cap: money.Dollar, Jobs: 3})
	if !ok || f.Rest != money.Dollar*3 || f.Total != money.Dollar*5 || f.Time != 10*time.Minute {
		t.Errorf("forecast %+v, %v", f, ok)
	}
	if f.Bound <= f.Total || f.Bound > money.Dollar*32 {
		t.Errorf("bound %v", f.Bound)
	}
	if f, _ = Of(admission.Sample{Costs: costs, Times: times, Rest: 30}); f.Bound != 0 {
		t.Errorf("bound %v without a limit", f.Bound)
	}
	if f, _ = Of(admission.Sample{Costs: costs, Times: times, Spent: money.Dollar, Cap: money.Dollar}); f.Bound != money.Dollar {
		t.Errorf("bound %v of jobs that have all finished", f.Bound)
	}
}

// TestTheBoundIsBetweenTheCostAndTheLimits checks that the bound is never below what was spent, and never above what
// the limits allow, for any costs.
func TestTheBoundIsBetweenTheCostAndTheLimits(t *testing.T) {
	random := nightly.Random(t)
	for range 500 {
		n, rest := least+random.IntN(50), random.IntN(50)
		costs := make([]money.USD, n)
		for i := range costs {
			costs[i] = money.USD(random.Int64N(int64(money.Dollar) + 1))
			if random.IntN(3) == 0 {
				costs[i] = money.Dollar * money.USD(random.IntN(2))
			}
		}
		f, _ := Of(admission.Sample{Costs: costs, Rest: rest, Spent: sum(costs), Cap: money.Dollar, Jobs: 1})
		if f.Bound < sum(costs) || f.Bound > sum(costs)+money.Dollar*money.USD(rest)+1000 {
			t.Errorf("%d jobs for $%v, %d remain: bound $%v", n, sum(costs), rest, f.Bound)
		}
	}
}
