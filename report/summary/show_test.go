package summary_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/summary"
)

func TestColumnsOfCallsDoNotDependOnColours(t *testing.T) {
	j := &report.Job{ID: "fix", Calls: []report.Call{{Tool: "read", Turn: 1, Status: event.CallCompleted}, {Tool: "bash", Turn: 1, Status: event.CallDenied}}}
	show := func(paint func(printable.Style, string) string) string {
		var b bytes.Buffer
		if err := summary.JobText(&b, j, "", paint); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	bare := show(func(_ printable.Style, text string) string { return text })
	coloured := show(func(_ printable.Style, text string) string { return "\x1b[31m" + text + "\x1b[0m" })
	if got := printable.Unstyled(coloured); got != bare {
		t.Errorf("got:\n%s\nwant:\n%s", got, bare)
	}
}

func TestLinesOfShownJobsAreShort(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	j := &report.Job{
		ID: "fix", Changes: []event.Change{{Path: "min.js", Kind: "modified"}},
		Review: &report.Review{Review: findings.Review{Findings: []findings.Finding{{Rule: "other", Message: long, Suggestion: long}}}},
	}
	var b bytes.Buffer
	err := summary.JobText(&b, j, "diff --git a/min.js b/min.js\n+"+long+"\n", func(_ printable.Style, text string) string { return text })
	if err != nil || b.Len() > 10_000 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}
