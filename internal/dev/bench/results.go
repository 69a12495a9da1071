//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// results are the figures of one execution. The table and the JSON file are made from
// them.
type results struct {
	Machine    string   `json:"machine"`
	Date       string   `json:"date"` // of the end
	Rounds     int      `json:"rounds"`
	LoadBefore string   `json:"load_before"` // average of one minute
	LoadAfter  string   `json:"load_after"`
	Figures    []figure `json:"figures"`
}

// figure is a row with everything that follows from its values.
type figure struct {
	Group     string  `json:"group"` // as in -only
	Figure    string  `json:"figure"`
	Unit      string  `json:"unit"`
	Millhand  series  `json:"millhand"`        // one value per round
	Floor     series  `json:"floor,omitempty"` // that of the same round
	Ratio     series  `json:"ratio,omitempty"` // of each round
	Goal      float64 `json:"goal,omitempty"`  // at most; 0 for none
	GoalOf    string  `json:"goal_of,omitempty"`
	Met       *bool   `json:"met,omitempty"`               // by the median
	Candidate string  `json:"release_candidate,omitempty"` // figure of the release candidate, with its unit
	Measured  string  `json:"measured"`                    // date
}

// The values of figure.GoalOf.
const (
	ofValue = "value"
	ofRatio = "ratio"
)

// result returns the figure of a row.
func (r row) result(group, date string) figure {
	f := figure{
		Group: group, Figure: r.figure, Unit: r.unit, Millhand: r.millhand, Floor: r.floor,
		Goal: r.goal, Candidate: r.candidate, Measured: date,
	}
	if r.floor != nil && r.millhand != nil {
		f.Ratio = r.ratio()
	}
	if r.goal > 0 {
		value := r.millhand
		if f.GoalOf = ofValue; r.ofRatio {
			f.GoalOf, value = ofRatio, f.Ratio
		}
		met := value.median() <= r.goal
		f.Met = &met
	}
	return f
}

// verdict returns the goal and whether it is met, as cells.
func (f figure) verdict() (goal, met string) {
	if f.Met == nil {
		return "", ""
	}
	unit := f.Unit
	if f.GoalOf == ofRatio {
		unit = "×"
	}
	met = "**no**"
	if *f.Met {
		met = "yes"
	}
	return fmt.Sprintf("≤ %g %s", f.Goal, unit), met
}

// markdown returns a table of figures.
func markdown(figures []figure) string {
	var out strings.Builder
	out.WriteString("| figure | unit | millhand | floor | ratio | goal | met | release candidate | measured |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, f := range figures {
		goal, met := f.verdict()
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
			f.Figure, f.Unit, f.Millhand, f.Floor, f.Ratio, goal, met, f.Candidate, f.Measured)
	}
	return out.String()
}

// print writes the table to standard output, and everything as JSON to a file unless its
// path is "".
func (r results) print(file string) error {
	fmt.Printf("%s\nMedian (min to max) of %d rounds after one to warm up; load average %s before, %s after.\n\n%s",
		r.Machine, r.Rounds, r.LoadBefore, r.LoadAfter, markdown(r.Figures))
	if file == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
