//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// series is the values of one figure, a round each.
type series []float64

// String gives the median, and the least and the greatest value in brackets.
func (s series) String() string {
	if len(s) == 0 {
		return ""
	}
	if slices.Min(s) == slices.Max(s) {
		return number(s[0])
	}
	return fmt.Sprintf("%s (%s to %s)", number(s.median()), number(slices.Min(s)), number(slices.Max(s)))
}

func (s series) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// number writes about three digits.
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
}

// ratio compares the two sides of each round.
func (r row) ratio() series {
	var s series
	for i := range r.millhand {
		s = append(s, r.millhand[i]/r.floor[i])
	}
	return s
}

// verdict says the goal and whether the median meets it.
func (r row) verdict() (goal, met string) {
	if r.goal == 0 {
		return "", ""
	}
	value, goal := r.millhand, fmt.Sprintf("≤ %g %s", r.goal, r.unit)
	if r.ofRatio {
		value, goal = r.ratio(), fmt.Sprintf("≤ %g ×", r.goal)
	}
	if value.median() <= r.goal {
		return goal, "yes"
	}
	return goal, "**no**"
}

// rows gives a work's figures.
func (w *work) rows() []row {
	var rows []row
	for _, side := range []struct {
		how  string
		took []usage
	}{{"in place, without a commit", w.plain}, {"in a worktree, with a commit", w.usual}} {
		name := fmt.Sprintf("%d turns %s: ", w.turns, side.how)
		add := func(what, unit string, goal float64, ofRatio bool, value func(usage) float64) {
			rows = append(rows, row{name + what, unit, each(side.took, value), each(w.floor, value), goal, ofRatio})
		}
		first := w.turns == 20
		if first {
			add("start to first request", "ms", 50, false, func(u usage) float64 { return millis(u.first) })
		}
		wallGoal, peakGoal := 2.0, 60.0
		if len(rows) > 0 && strings.Contains(side.how, "with a commit") {
			wallGoal = 0 // the goal is for the work alone
		}
		if first {
			peakGoal = 40
		}
		add("wall", "ms", wallGoal, true, func(u usage) float64 { return millis(u.wall) })
		add("own CPU a turn", "ms", 8, false, func(u usage) float64 { return millis(u.cpu) / float64(w.turns) })
		add("peak memory", "MiB", peakGoal, false, func(u usage) float64 { return float64(u.peak) / (1 << 20) })
	}
	if w.turns == 20 {
		rows = append(rows, row{"first request's body", "kB", each(w.usual, func(u usage) float64 { return float64(u.request) / 1000 }), nil, 20, false})
	}
	return rows
}

func each(took []usage, value func(usage) float64) series {
	var s series
	for _, u := range took {
		s = append(s, value(u))
	}
	return s
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func markdown(rows []row) string {
	var out strings.Builder
	out.WriteString("| figure | unit | millhand | floor | ratio | goal | met |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		goal, met := r.verdict()
		ratio := ""
		if r.floor != nil {
			ratio = r.ratio().String()
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s | %s |\n", r.figure, r.unit, r.millhand, r.floor, ratio, goal, met)
	}
	return out.String()
}
