package action

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/report"
)

// Limits of annotations. GitHub shows ten errors and ten warnings of a step.
const (
	maxAnnotations = 10
	maxTailBytes   = 4 << 10
)

// Checkout has the directories that paths are relative to. They are absolute.
type Checkout struct {
	Repository string // root of the checkout, "" if unknown
	Dir        string // the working directory
}

// Location returns the location of a file relative to the repository; the zero value for
// files outside of it, which GitHub can't annotate.
func (w Checkout) Location(file string, line, column int) Location {
	if w.Repository == "" || file == "" {
		return Location{}
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(w.Dir, file)
	}
	rel, err := filepath.Rel(w.Repository, file)
	if err != nil || !filepath.IsLocal(rel) {
		return Location{}
	}
	return Location{filepath.ToSlash(rel), line, column}
}

// Failures returns an annotation for each verify command whose last run failed, and for the
// reason of other jobs that did not pass, once for all jobs with the same. They point to
// the manifest, if there is only one.
func Failures(rep *report.Report, w Checkout) []Annotation {
	var location Location
	if len(rep.Run.Manifest) == 1 {
		location = w.Location(rep.Run.Manifest[0], 0, 0)
	}
	var all []Annotation
	add := func(title, message string) {
		all = append(all, Annotation{Level: "error", Title: title, Location: location, Message: strings.TrimSpace(message)})
	}
	jobs := map[string]int{} // by reason
	for i := range rep.Jobs {
		if unsuccessful(rep.Jobs[i].Outcome) {
			jobs[rep.Jobs[i].Reason]++
		}
	}
	for i := range rep.Jobs {
		j := &rep.Jobs[i]
		verified := true
		for _, v := range j.Verify {
			if !v.Passed && v.Attempt == j.Attempts {
				verified = false
				add(fmt.Sprintf("%s: verify %s failed", j.ID, v.Name), v.Exit()+"\n"+ending(v.Output()))
			}
		}
		if n := jobs[j.Reason]; verified && n > 0 && unsuccessful(j.Outcome) {
			title := j.ID
			if n > 1 {
				title += fmt.Sprintf(" and %d more", n-1)
			}
			add(fmt.Sprintf("%s: %s", title, j.Outcome), j.Reason+"\n"+failedBaseline(j))
			jobs[j.Reason] = 0
		}
		if len(all) >= maxAnnotations {
			return all[:maxAnnotations]
		}
	}
	return all
}

// Findings returns an annotation for each finding of reviews of the checked out repository, as
// many as GitHub shows.
func Findings(rep *report.Report, w Checkout) []Annotation {
	levels := map[findings.Severity]string{findings.Error: "error", findings.Warning: "warning", findings.Note: "notice"}
	count := map[string]int{}
	var all []Annotation
	for i := range rep.Jobs {
		if dir := rep.Jobs[i].Directory(); rep.Jobs[i].Findings() == nil || dir == "" || w.Location(dir, 0, 0) == (Location{}) {
			continue
		}
		for _, f := range rep.Jobs[i].Findings().Findings {
			level := levels[f.Severity]
			if f.Path == "" || count[level] == maxAnnotations {
				continue
			}
			count[level]++
			message := f.Message
			if f.Suggestion != "" {
				message += "\nSuggestion: " + f.Suggestion
			}
			all = append(all, Annotation{Level: level, Title: f.Rule, Location: Location{f.Path, f.Line, 0}, Message: message})
		}
	}
	return all
}

// Warnings returns an annotation for each warning, once for all jobs with the same.
func Warnings(rep *report.Report) []Annotation {
	var all []Annotation
	seen := map[string]bool{}
	for _, w := range rep.Warnings {
		if seen[w.Message] {
			continue
		}
		seen[w.Message] = true
		title := "millhand"
		if w.Job != nil {
			title = *w.Job
		}
		if all = append(all, Annotation{Level: "warning", Title: title, Message: w.Message}); len(all) == maxAnnotations {
			break
		}
	}
	return all
}

// unsuccessful reports whether a job ended for a reason of its own: GitHub itself reports
// a cancelled step.
func unsuccessful(o event.Outcome) bool {
	return !slices.Contains([]event.Outcome{event.Passed, event.Skipped, event.Cancelled}, o)
}

// failedBaseline returns the output of the first verify command that failed before the
// agent of a job that had no attempt would have started.
func failedBaseline(j *report.Job) string {
	for _, b := range j.Baseline {
		if !b.Passed && j.Attempts == 0 {
			return ending(b.Output())
		}
	}
	return ""
}

// ending returns the end of an output, which is complete for an excerpt.
func ending(s string) string {
	return textcut.Ends(strings.TrimRight(s, "\r\n"), 0, maxTailBytes, "")
}
