// Package result prints the result of a run from its report: for people, as JSON, as the final message of its only job, or as annotations of
// a CI system. It decides nothing about the run.
package result

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/summary"
)

// Printer prints the result of a run whose report directory is dir.
type Printer func(w world.World, rep *report.Report, dir string)

// Text prints the result of a run for people: the report and its directory.
func Text(w world.World, rep *report.Report, dir string) {
	if action.IsLog(w.Err) {
		rep = withoutReasons(rep)
	}
	summary.PaintedText(w.Out, rep, view.Outcomes(w.Out, w.Getenv)) //nolint:errcheck // see output
	fmt.Fprintf(w.Out, "\nreports: %s\n", printable.Text(dir))
	if rel, err := filepath.Rel(w.Dir, dir); err == nil && filepath.IsLocal(rel) {
		dir = rel
	}
	fmt.Fprintf(w.Out, "show them: millhand report show %s, or open %[1]s/report.html\n", printable.Text(view.Quote(dir)))
}

// Brief prints the result of a run in one line; the log has the reasons of failures.
func Brief(w world.World, rep *report.Report, _ string) {
	summary.Brief(w.Out, rep) //nolint:errcheck // as above
}

// JSON returns what prints the result of a run as one JSON document.
func JSON(quiet bool) Printer {
	return func(w world.World, rep *report.Report, dir string) {
		report.JSON(w.Out, rep) //nolint:errcheck // as above
		if !quiet {
			fmt.Fprintf(w.Err, "reports: %s\n", printable.Text(dir))
		}
	}
}

// AdviseProfiles prints what to write for the tasks whose profile was probably forgotten, as the last lines of a run.
func AdviseProfiles(w world.World, rep *report.Report) {
	var seen []string
	for _, j := range rep.Jobs {
		texts := j.Warnings
		if j.ReasonCode == event.CodeProfile {
			texts = []string{j.Reason}
		}
		for _, text := range texts {
			line := j.Task + ": " + text
			if strings.Contains(text, permission.SetProfile) && !slices.Contains(seen, line) {
				seen = append(seen, line)
				fmt.Fprintln(w.Err, "millhand: "+printable.Text(line))
			}
		}
	}
}
