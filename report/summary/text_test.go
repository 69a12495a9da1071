package summary_test

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/summary"
)

func TestReasonsAndWarningsInATerminal(t *testing.T) {
	r := reporttest.Fold(t, reporttest.Planned("a", "b"), reporttest.Started("a"),
		event.Event{Type: event.WarningIssued, Job: "a", Warning: &event.Warning{Message: "two\nlines"}},
		reporttest.JobEnded("a", event.JobEnd{Outcome: event.Failed, Reason: "::error::x\nsecond \x1b[31mline"}),
		reporttest.JobEnded("b", event.JobEnd{Outcome: event.Passed}), reporttest.RunEnded(event.Failed, event.ExitFailed))
	const want = "\nfailed a\n  | : :error::x\n  | second line\n\nwarning: a: two lines\n"
	if got := reporttest.Render(t, summary.Reasons, r); got[:min(len(got), len(want))] != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := reporttest.Render(t, summary.Text, r); !strings.Contains(got, want) {
		t.Errorf("%q not found in %q", want, got)
	}
	if got, want := reporttest.Render(t, summary.Brief, r), "run r: failed (exit code 1): 2 jobs: 1 passed, 1 failed, 0 skipped; "; !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Reasons of many jobs are printed once.
func TestReasonsInATerminalAreGrouped(t *testing.T) {
	r := &report.Report{}
	for range 30 {
		r.Jobs = append(r.Jobs, report.Job{ID: "j", Outcome: event.Limit, Reason: "turn limit exceeded (60)"})
	}
	if got, want := reporttest.Render(t, summary.Reasons, r), "\nlimit "+strings.Repeat("j, ", 19)+"j and 10 more\n  | turn limit exceeded (60)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A verify command that failed before and passes after the work is shown as such, and jobs that ended before it are apart.
func TestVerifyBeforeAndAfterInMarkdown(t *testing.T) {
	baseline := func(job string, passed bool) event.Event {
		return event.Event{Type: event.BaselineEnded, Job: job, Baseline: &event.Baseline{Name: "tests", Passed: passed, ExitCode: 1, Tail: "x\n"}}
	}
	verify := func(job string, passed bool) event.Event {
		return event.Event{Type: event.VerifyEnded, Job: job, Verify: &event.Verify{Name: "tests", Attempt: 1, Passed: passed, ExitCode: 2}}
	}
	got := reporttest.Render(t, summary.Markdown, reporttest.Fold(t, reporttest.Planned("fixed", "same", "broken", "red"),
		baseline("fixed", false), verify("fixed", true), baseline("same", true), verify("same", true), baseline("broken", true), verify("broken", false),
		baseline("red", false), reporttest.JobEnded("red", event.JobEnd{Outcome: event.Failed, Code: event.CodeBaseline, Reason: "verify fails at the base"})))
	for _, want := range []string{
		"### Verify before and after\n\n| job | verify | before | after |\n|---|---|---|---|\n| `fixed` | `tests` | failed, exit code 1 | passed |\n| `broken` | `tests` | passed | failed, exit code 2 |\n\n1 other verify command passed before and after.\n",
		"### Baseline\n\n1 job ended before the first model request.\n\n`red`: verify fails at the base\n\nVerify `tests`: failed, exit code 1\n\n```text\nx\n```\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q not found in\n%s", want, got)
		}
	}
}
