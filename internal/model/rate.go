package model

import (
	"math"
	"time"
)

// memory is how long a rejection, and what was sent, shows the provider's limit.
const memory = time.Minute

// plenty is how many requests accepted between two rejections make these cheap
// enough not to lower the rate.
const plenty = 6

// Pauses that are longer than what the provider requests, if that is little. They
// double with every consecutive rejection.
const (
	shortestPause = 125 * time.Millisecond
	longestPause  = 5 * time.Second // if it requests none
	maxRetryAfter = time.Second     // if it requests less
)

// rate is how many requests may be sent per minute. It doubles in
// [LimitPolicy].Doubling until it reaches knee, and in Probing above that.
type rate struct {
	least    float64   // per minute
	limit    float64   // per minute, at the time at; 0 while it is unknown
	knee     float64   // per minute: what the provider was observed to accept; 0 while it is unknown
	assigned float64   // how many positions were assigned so far
	passed   float64   // how many of these could be sent at the time at
	at       time.Time // may be in the future: then nothing is sent before
}

// lower lowers the rate at a rejection. Since the last one n requests were accepted,
// at the rate seen.
//
// The first rejection, and one after plenty of accepted requests, may be a single
// event: the rate doubles without a limit after it. Others show the limit.
func (r *rate) lower(n, seen float64) {
	switch {
	case r.limit == 0:
		r.limit = max(seen, r.least)
	case n == 0:
		r.limit = max(r.limit/2, r.least)
	case n < plenty:
		r.settle(seen * (n + 1) / n) // few: the rejected one counts, it was almost accepted
	case r.knee == 0:
		r.limit = max(seen, r.least)
	default:
		r.settle(seen)
	}
}

// settle begins a slow start to what the provider was observed to accept, which may
// be below the lowest rate that is assumed otherwise.
func (r *rate) settle(seen float64) {
	r.knee = max(seen, r.least/100)
	r.limit = r.knee / 2
}

func (r *rate) forget() { r.limit, r.knee = 0, 0 }

// assign assigns a position. No gap is longer than the policy allows.
func (r *rate) assign(p LimitPolicy) {
	n := 1.0
	if r.limit > 0 {
		n = min(n, r.limit*p.Widest.Minutes())
	}
	r.assigned += n
}

// advance adds the requests that could be sent until now. Unused time does not
// accumulate.
func (r *rate) advance(now time.Time, p LimitPolicy) {
	d := now.Sub(r.at)
	switch {
	case r.limit == 0:
		r.passed, r.at = r.assigned, now
		return
	case d <= 0:
		return
	}
	fast := r.fast(p)
	n, limit := grow(r.limit, min(d, fast), p.Doubling)
	if d > fast {
		var more float64
		more, limit = grow(limit, d-fast, p.Probing)
		n += more
	}
	r.passed, r.limit, r.at = min(r.passed+n, r.assigned), limit, now
}

// fast is the time until the rate reaches the knee.
func (r *rate) fast(p LimitPolicy) time.Duration {
	switch {
	case r.knee == 0:
		return memory
	case r.limit >= r.knee:
		return 0
	}
	return time.Duration(math.Log2(r.knee/r.limit) * float64(p.Doubling))
}

// reach is the time after at until the position n may be sent.
func (r *rate) reach(n float64, p LimitPolicy) time.Duration {
	n -= r.passed
	if r.limit == 0 || n <= 0 {
		return 0
	}
	fast := r.fast(p)
	if within, limit := grow(r.limit, fast, p.Doubling); n > within {
		return fast + until(limit, n-within, p.Probing)
	}
	return until(r.limit, n, p.Doubling)
}

// grow returns how many requests may be sent in the time d at a rate that doubles in
// every span double, and the rate at its end.
func grow(limit float64, d, double time.Duration) (n, grown float64) {
	if d <= 0 {
		return 0, limit
	}
	grown = limit * math.Exp2(float64(d)/float64(double))
	return (grown - limit) * double.Minutes() / math.Ln2, grown
}

// until is the inverse of grow: the time until n requests may be sent.
func until(limit, n float64, double time.Duration) time.Duration {
	return time.Duration(math.Ceil(math.Log2(1+n*math.Ln2/(limit*double.Minutes())) * float64(double)))
}
