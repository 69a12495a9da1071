//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"
)

// series is the values of one figure, one per round.
type series []float64

// String returns the median, and the minimum and maximum in parentheses.
func (s series) String() string {
	if len(s) == 0 {
		return ""
	}
	least, most := number(slices.Min(s)), number(slices.Max(s))
	if least == most {
		return least
	}
	return fmt.Sprintf("%s (%s to %s)", number(s.median()), least, most)
}

func (s series) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// number formats a value with about three digits.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// row is a figure.
type row struct {
	figure, unit    string
	millhand, floor series
	goal            float64 // at most; 0 for none
	ofRatio         bool    // the goal is of the ratio to the floor
	candidate       string  // figure of the release candidate, with its unit; "" if unknown
}

// ratio returns the ratio to the floor of each round.
func (r row) ratio() series {
	var s series
	for i := range r.millhand {
		s = append(s, r.millhand[i]/r.floor[i])
	}
	return s
}

// rows returns the figures of a work. Its runs in place do the same as the floor.
func (w *work) rows() []row {
	bare, plain, usual := variant{"sandbox off, in place, no commit", w.bare}, variant{"in place, no commit", w.plain}, variant{"worktree and commit", w.usual}
	var rows []row
	if w.turns == 20 {
		first := func(u usage) float64 { return millis(u.first) }
		request := func(u usage) float64 { return float64(u.request) / 1000 }
		rows = append(rows,
			w.row(plain, "start to first request", "ms", first).atMost(30, "100 ms"),
			w.row(usual, "start to first request", "ms", first).atMost(30, "180 ms"),
			w.row(usual, "first request's body", "kB", request).atMost(20, ""))
	}
	wall := func(u usage) float64 { return millis(u.wall) }
	goals := map[int]struct {
		bare, usual         float64 // wall, of the ratio
		bareThen, usualThen string
		peak                float64
		peakThen            string
	}{
		20:  {1.1, 1.5, "1.3 ×", "2.8 ×", 80, "49 MiB"},
		200: {0.8, 0.8, "0.8 ×", "", 90, "54 MiB"},
	}[w.turns]
	rows = append(rows,
		w.row(bare, "wall", "ms", wall).timesFloor(goals.bare, goals.bareThen),
		w.row(bare, "wall without the server's share", "ms", func(u usage) float64 { return millis(u.wall - u.served) }),
		w.row(plain, "wall", "ms", wall),
		w.row(usual, "wall", "ms", wall).timesFloor(goals.usual, goals.usualThen))
	for _, v := range []variant{bare, plain, usual} {
		rows = append(rows,
			w.row(v, "own CPU a turn", "ms", func(u usage) float64 { return millis(u.cpu) / float64(w.turns) }),
			w.row(v, "peak memory", "MiB", func(u usage) float64 { return mebibytes(u.peak) }).atMost(goals.peak, goals.peakThen))
	}
	return append(rows, w.row(plain, "all requests' bodies", "MB", func(u usage) float64 { return float64(u.sent) / 1e6 }))
}

// atMost sets a goal for the value, and the value of the release candidate.
func (r row) atMost(goal float64, candidate string) row {
	r.goal, r.candidate = goal, candidate
	return r
}

// timesFloor sets a goal for the ratio to the floor, and the ratio of the release
// candidate.
func (r row) timesFloor(goal float64, candidate string) row {
	r.goal, r.ofRatio, r.candidate = goal, true, candidate
	return r
}

// variant is a configuration with which millhand runs a work.
type variant struct {
	how  string
	took []usage
}

// row returns a figure of a variant and of the floor.
func (w *work) row(v variant, what, unit string, value func(usage) float64) row {
	return row{
		figure: fmt.Sprintf("%d turns, %s: %s", w.turns, v.how, what), unit: unit,
		millhand: each(v.took, value), floor: each(w.floor, value),
	}
}

func each(took []usage, value func(usage) float64) series {
	var s series
	for _, u := range took {
		s = append(s, value(u))
	}
	return s
}

func mebibytes(n int) float64 { return float64(n) / (1 << 20) }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
