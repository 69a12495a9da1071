package findings

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/text/figures"
)

// maxRows is the maximum number of findings in a table.
const maxRows = 100

// Markdown returns the summary of the review and a table of its findings. harmless makes a
// text of a model one line of a table that has no effect.
func (r *Review) Markdown(harmless func(string) string) string {
	var b strings.Builder
	if r.Summary != "" {
		fmt.Fprintf(&b, "%s\n\n", harmless(r.Summary))
	}
	if len(r.Findings) == 0 {
		return b.String() + "No findings.\n"
	}
	b.WriteString("| severity | location | rule | finding |\n|---|---|---|---|\n")
	for _, f := range r.Findings[:min(len(r.Findings), maxRows)] {
		message := harmless(f.Message)
		if f.Suggestion != "" {
			message += " Suggestion: " + harmless(f.Suggestion)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.Severity, harmless(f.Location()), f.Rule, message)
	}
	if more := len(r.Findings) - maxRows; more > 0 {
		fmt.Fprintf(&b, "\n%s more in report.json.\n", figures.Count(more, "finding"))
	}
	return b.String()
}
