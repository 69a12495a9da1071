package summary_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/summary"
)

// planEnd is a planned job of a run, and how it ended.
type planEnd struct {
	repo, task string
	end        event.JobEnd
}

func runOf(tb testing.TB, jobs ...planEnd) *report.Report {
	tb.Helper()
	run := &event.Run{ID: "r"}
	events := []event.Event{{Type: event.RunStarted, Run: run}}
	for i, j := range jobs {
		id := fmt.Sprint("j", i)
		run.Jobs = append(run.Jobs, event.PlannedJob{ID: id, Task: j.task, Repo: j.repo, Location: "/src/" + j.repo})
		events = append(events, reporttest.JobEnded(id, j.end))
	}
	return reporttest.Fold(tb, append(events, reporttest.RunEnded(event.Passed, 0))...)
}

func ended(outcome event.Outcome, usd float64) event.JobEnd {
	return event.JobEnd{Outcome: outcome, Turns: 1, CostUSD: reporttest.Costs(usd)}
}

// overview is the summary's section between the run's line and the table of jobs.
func overview(tb testing.TB, r *report.Report) string {
	tb.Helper()
	summary := reporttest.Render(tb, summary.Markdown, r)
	inert(tb, summary)
	_, after, _ := strings.Cut(summary, ".\n\n")
	before, _, _ := strings.Cut(after, "| outcome |")
	return before
}

func TestOverviewInMarkdown(t *testing.T) {
	skipped := event.JobEnd{Outcome: event.Skipped}
	eight := []planEnd{{"web", "t0", ended(event.Passed, 1)}}
	for i := range 8 {
		eight = append(eight, planEnd{"shop", fmt.Sprint("t", i), ended(event.Limit, 0.5)})
	}
	for name, c := range map[string]struct {
		jobs []planEnd
		want string
	}{
		"one repository": {[]planEnd{{"shop", "a", ended(event.Passed, 1)}, {"shop", "b", ended(event.Failed, 1)}}, ""},
		"one task": {
			[]planEnd{{"shop", "a", ended(event.Passed, 1)}, {"web", "a", ended(event.Passed, 0.5)}},
			"| repo | `a` | cost |\n|---|---|--:|\n| `shop` | ✅ $1.00 | $1.00 |\n| `web` | ✅ $0.5000 | $0.5000 |\n| all | ✅ 2 passed $1.50 | $1.50 |\n\n",
		},
		"failures first, then what was skipped": {
			[]planEnd{{"shop", "a", ended(event.Passed, 1)}, {"api", "a", skipped}, {"web", "a", ended(event.Passed, 1)}, {"web", "b", ended(event.Budget, 2)}},
			"| repo | `a` | `b` | cost |\n|---|---|---|--:|\n| `web` | ✅ $1.00 | ❌ budget $2.00 | $3.00 |\n| `api` | ➖ skipped |  | $0.00 |\n" +
				"| `shop` | ✅ $1.00 |  | $1.00 |\n| all | ✅ 2 passed, 1 skipped $2.00 | ❌ budget $2.00 | $4.00 |\n\n",
		},
		"a matrix": {
			[]planEnd{{"shop", "a", ended(event.Passed, 1)}, {"shop", "a", ended(event.Error, 1)}, {"shop", "a", skipped}, {"web", "a", ended(event.Passed, 1)}, {"web", "a", ended(event.Passed, 1)}},
			"| repo | `a` | cost |\n|---|---|--:|\n| `shop` | ❌ 1 passed, 1 failed, 1 skipped $2.00 | $2.00 |\n| `web` | ✅ 2 passed $2.00 | $2.00 |\n| all | ❌ 3 passed, 1 failed, 1 skipped $4.00 | $4.00 |\n\n",
		},
		"an unknown cost": {
			[]planEnd{{"shop", "a", event.JobEnd{Outcome: event.Passed, Turns: 1}}, {"web", "a", ended(event.Passed, 1)}},
			"| repo | `a` | cost |\n|---|---|--:|\n| `shop` | ✅ unknown | unknown |\n| `web` | ✅ $1.00 | $1.00 |\n| all | ✅ 2 passed unknown | unknown |\n\n",
		},
		"too many tasks for columns": {
			eight,
			"- `shop`: ❌ 8 failed $4.00; did not pass: `t0`, `t1`, `t2`, `t3`, `t4` and 3 more\n- `web`: ✅ $1.00\n- all: ❌ 1 passed, 8 failed $5.00\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, overview(t, runOf(t, c.jobs...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverviewInATerminal(t *testing.T) {
	var jobs []planEnd
	for i := range 8 {
		jobs = append(jobs, planEnd{"shop", fmt.Sprint("t", i), ended(event.Limit, 0.5)})
	}
	for name, c := range map[string]struct {
		jobs []planEnd
		want string
	}{
		"columns": {
			[]planEnd{{"web\x1b[31m", "a\n::b", ended(event.Passed, 1)}, {"shop", "c", ended(event.Failed, 1)}},
			"REPO  a ::b         c             COST\n" +
				"shop  -             failed $1.00  $1.00\n" +
				"web   passed $1.00  -             $1.00\n" +
				"all   passed $1.00  failed $1.00  $2.00\n",
		},
		"too many tasks for columns": {
			append(jobs, planEnd{"web", "t1", ended(event.Passed, 1)}),
			"REPO  OUTCOME                   COST\nshop  8 failed $4.00            $4.00\nweb   passed $1.00              $1.00\nall   1 passed, 8 failed $5.00  $5.00\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if text := reporttest.Render(t, summary.Text, runOf(t, c.jobs...)); !strings.Contains(text, "\n\n"+c.want+"\nrun r") {
				t.Errorf("want\n%s\ngot\n%s", c.want, text)
			}
		})
	}
}

func TestOverviewIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		failed, passed int
		name           string
		rows           int // 0 for as many as fit
		want           string
	}{
		"few failures":  {3, 997, "repo", 100, "… and 900 more that passed"},
		"many failures": {150, 850, "repo", 100, "… and 900 more, 50 with jobs that did not pass"},
		"hostile names": {1000, 0, strings.Repeat("<@|", 200), 0, "with jobs that did not pass"},
	} {
		t.Run(name, func(t *testing.T) {
			var jobs []planEnd
			for i := range c.failed + c.passed {
				outcome := event.Failed
				if i < c.passed {
					outcome = event.Passed
				}
				jobs = append(jobs, planEnd{fmt.Sprint(i, c.name), "a", ended(outcome, 0.5)})
			}
			r := runOf(t, jobs...)
			got := overview(t, r)
			if !strings.Contains(got, c.want) || len(got) > 140<<10 {
				t.Errorf("%d bytes without %q", len(got), c.want)
			}
			if rows := strings.Count(got, "\n| <code>") + strings.Count(got, "\n| `"); c.rows > 0 && rows != c.rows {
				t.Errorf("%d rows, want %d", rows, c.rows)
			}
			if n := len(reporttest.Render(t, summary.Markdown, r)); n > 900<<10 {
				t.Errorf("the summary has %d bytes", n)
			}
			if text := reporttest.Render(t, summary.Text, r); !strings.Contains(text, "… and 900 more") {
				t.Error("no notice in the terminal that there is more")
			}
		})
	}
}

func TestFailedListsTheRepositoriesOfJobsThatDidNotPass(t *testing.T) {
	const title = "# The repositories of jobs that did not pass: a list for `repos: [{file: ...}]`.\n"
	skipped := func(code event.Code) event.JobEnd { return event.JobEnd{Outcome: event.Skipped, Code: code} }
	for name, c := range map[string]struct {
		jobs []planEnd
		want string
	}{
		"nothing":             {nil, ""},
		"all passed":          {[]planEnd{{"a", "t", ended(event.Passed, 1)}}, ""},
		"each once, in order": {[]planEnd{{"b", "t", ended(event.Failed, 1)}, {"a", "t", ended(event.Limit, 1)}, {"b", "u", ended(event.Error, 1)}}, "/src/b\n/src/a\n"},
		"one of two tasks":    {[]planEnd{{"a", "t", ended(event.Passed, 1)}, {"a", "u", ended(event.Policy, 1)}}, "/src/a\n"},
		"every outcome": {
			[]planEnd{
				{"1", "t", ended(event.Failed, 1)},
				{"2", "t", ended(event.Limit, 1)},
				{"3", "t", ended(event.Budget, 1)},
				{"4", "t", ended(event.Policy, 1)},
				{"5", "t", ended(event.Error, 1)},
				{"6", "t", ended(event.Provider, 1)},
				{"7", "t", ended(event.Publish, 1)},
				{"8", "t", ended(event.Cancelled, 1)},
				{"9", "t", ended("great", 1)},
			},
			"/src/1\n/src/2\n/src/3\n/src/4\n/src/5\n/src/6\n/src/7\n/src/8\n/src/9\n",
		},
		"skipped because of others": {
			[]planEnd{
				{"1", "t", skipped(event.CodeNeed)},
				{"2", "t", skipped(event.CodeMaxFailures)},
				{"3", "t", skipped(event.CodeBudget)},
				{"4", "t", skipped(event.CodeDeadline)},
				{"5", "t", skipped(event.CodeProvider)},
				{"6", "t", skipped(event.CodeNotRun)},
			},
			"/src/1\n/src/2\n/src/3\n/src/4\n/src/5\n/src/6\n",
		},
		"skipped by decision":            {[]planEnd{{"1", "t", skipped(event.CodeCondition)}, {"2", "t", skipped(event.CodeBranchExists)}}, ""},
		"a failure, because of a branch": {[]planEnd{{"1", "t", event.JobEnd{Outcome: event.Error, Code: event.CodeBranchExists}}}, "/src/1\n"},
		"no line of a list":              {[]planEnd{{"1\n/etc", "t", ended(event.Failed, 1)}, {"2\r", "t", ended(event.Failed, 1)}, {"3", "t", ended(event.Failed, 1)}}, "/src/3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(title+c.want, reporttest.Render(t, summary.Failed, runOf(t, c.jobs...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if list := reporttest.Render(t, summary.Failed, reporttest.Fold(t, reporttest.Planned("a"), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Failed}))); list != title {
		t.Errorf("of a run that does not tell locations:\n%s", list)
	}
}
