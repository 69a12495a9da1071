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

// rows returns the figures of a work: of runs that do the same as the floor, and of runs
// with a worktree and a commit.
func (w *work) rows() []row {
	plain, usual := variant{"in place, no commit", w.plain}, variant{"worktree and commit", w.usual}
	peak := map[int]float64{20: 40, 200: 60}[w.turns]
	var rows []row
	if w.turns == 20 {
		first := func(u usage) float64 { return millis(u.first) }
		request := func(u usage) float64 { return float64(u.request) / 1000 }
		rows = append(rows,
			w.row(plain, "start to first request", "ms", 50, first),
			w.row(usual, "start to first request", "ms", 50, first),
			w.row(usual, "first request's body", "kB", 20, request))
	}
	wall := w.row(plain, "wall", "ms", 2, func(u usage) float64 { return millis(u.wall) })
	wall.ofRatio = true
	rows = append(rows, wall,
		w.row(plain, "wall without the server's part", "ms", 0, func(u usage) float64 { return millis(u.wall - u.served) }),
		w.row(usual, "wall", "ms", 0, func(u usage) float64 { return millis(u.wall) }))
	for _, s := range []variant{plain, usual} {
		rows = append(rows,
			w.row(s, "own CPU a turn", "ms", 8, func(u usage) float64 { return millis(u.cpu) / float64(w.turns) }),
			w.row(s, "peak memory", "MiB", peak, func(u usage) float64 { return float64(u.peak) / (1 << 20) }))
	}
	return append(rows, w.row(plain, "all requests' bodies", "MB", 0, func(u usage) float64 { return float64(u.sent) / 1e6 }))
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

// row returns a figure of a variant and of the floor. goal is 0 for none.
func (w *work) row(s variant, what, unit string, goal float64, value func(usage) float64) row {
	return row{
		figure: fmt.Sprintf("%d turns, %s: %s", w.turns, s.how, what), unit: unit, goal: goal,
		millhand: each(s.took, value), floor: each(w.floor, value),
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
