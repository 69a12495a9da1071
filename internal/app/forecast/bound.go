package forecast

import "math"

// maxBet is the largest fraction of the capital that a bet may lose: a single job that
// costs as much as its limit must not end the game.
const maxBet = 0.95

// upperMean returns an upper confidence bound of the mean of a finite population of numbers
// from 0 to 1, of which x is a random sample without replacement. The probability that the
// mean is above is at most alpha, whatever the distribution.
//
// It is the betting bound of Waudby-Smith and Ramdas (2024) with their predictable plug-in
// bets. If the mean were m, a gambler who bets on smaller numbers could not expect to gain:
// the probability that their capital ever exceeds 1/alpha is at most alpha (Ville's
// inequality). The bound is the smallest mean that the capital excludes.
func upperMean(x []float64, population int, alpha float64) float64 {
	low, high := 0.0, 1.0
	for range 40 {
		m := (low + high) / 2
		if capital(x, population, m, alpha) >= 1/alpha {
			high = m
		} else {
			low = m
		}
	}
	return high
}

// capital returns the largest capital of bets against the mean m, which starts at 1. It does
// not fall as m grows.
func capital(x []float64, population int, m, alpha float64) float64 {
	now, most := 1.0, 1.0
	seen, squares, sum := 0.5, 0.25, 0.0 // sums of the numbers and of their deviations, with one of no knowledge
	for i, v := range x {
		// The mean of what has not been seen, if m is that of all.
		left := (float64(population)*m - sum) / float64(population-i)
		if left < 0 {
			return 0 // m is too small for what has been seen
		}
		if left >= 1 {
			return math.Inf(1) // no number is that large
		}
		// A bet may depend on the numbers before only.
		variance := squares / float64(i+1)
		bet := min(math.Sqrt(2*math.Log(1/alpha)/(float64(len(x))*variance)), maxBet/(1-left))
		now *= 1 - bet*(v-left)
		most = max(most, now)
		sum, seen = sum+v, seen+v
		mean := seen / float64(i+2)
		squares += (v - mean) * (v - mean)
	}
	return most
}
