package action_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/markdown"
	"github.com/millhand/millhand/report"
)

// counting makes delimiters that anybody could guess.
func counting() func() string {
	n := 0
	return func() string {
		n++
		return fmt.Sprint(n)
	}
}

func job(outcome event.Outcome, message string) report.Job {
	return report.Job{Outcome: outcome, FinalMessage: message, Commit: &event.Commit{Hash: "c0ffee", Branch: "millhand/a"}}
}

func TestOutputsHaveTheTotalsAndFilesOfTheReport(t *testing.T) {
	cost := money.Dollar / 4
	rep := &report.Report{
		Run: report.Run{ID: "r1", Outcome: event.Failed, ExitCode: 1, Totals: report.Totals{
			Jobs: 4, Passed: 1, Skipped: 1, DeniedCalls: 3, CostUSD: &cost,
			Usage: money.Usage{Input: 10, Output: 5, CacheRead: 4, CacheWrite: 2},
		}},
		Jobs: []report.Job{job(event.Passed, "one"), {Outcome: event.Failed}, {Outcome: event.Limit}, {Outcome: event.Skipped}},
	}
	all, warnings := action.Outputs(event.ExitFailed, "/w/r", rep)
	got := map[string]string{}
	for _, o := range all {
		got[o.Name] = o.Value
	}
	want := map[string]string{
		"conclusion": "failure", "outcome": "failed", "exit-code": "1", "run-id": "r1", "report-dir": "/w/r", "pull-requests": "[]",
		"report-json": "/w/r/report.json", "report-junit": "/w/r/junit.xml", "events-jsonl": "/w/r/events.jsonl", "patch-dir": "/w/r/patches", "report-html": "/w/r/report.html", "findings-sarif": "",
		"final-message": "", "structured-output": "", "branches": `["millhand/a"]`, "commits": `["c0ffee"]`, "cost-usd": "0.25",
		"input-tokens": "10", "output-tokens": "5", "cache-read-tokens": "4", "cache-write-tokens": "2",
		"jobs-total": "4", "jobs-passed": "1", "jobs-failed": "2", "jobs-skipped": "1", "denied-calls": "3",
	}
	if diff := cmp.Diff(want, got); diff != "" || warnings != nil {
		t.Error(diff, warnings)
	}
}

func TestOutputsCanBePrinted(t *testing.T) {
	rep := &report.Report{Run: report.Run{Outcome: event.Passed}, Jobs: []report.Job{job(event.Passed, "a\n::error::b\x1b[2J\u202ec")}}
	rep.Jobs[0].Output = json.RawMessage("{\"a\": \"::error::\u202e\U000e0041\"}")
	all, _ := action.Outputs(event.ExitOK, "/w/r", rep)
	got := map[string]string{}
	for _, o := range all {
		got[o.Name] = o.Value
	}
	if want := "a\n\\::error::b␛\\[2J\\\\u{202e}c"; got["final-message"] != want {
		t.Errorf("the final message is %q", got["final-message"])
	}
	if want := `{"a":"::error::\u202e\udb40\udc41"}`; got["structured-output"] != want || !json.Valid([]byte(want)) {
		t.Errorf("the structured output is %q", got["structured-output"])
	}
}

// The message is what the step summary shows: no hyperlink hides its target.
func TestTheFinalMessageIsRestricted(t *testing.T) {
	message := "# Done\n\nSee [the report](https://evil.example/a?b) and ![x](https://evil.example/i.png), <b>@ada</b>, closes #12.\n\n/approve\n\n- [x] all"
	got := values(t, event.ExitOK, &report.Report{Run: report.Run{Outcome: event.Passed}, Jobs: []report.Job{job(event.Passed, message)}})["final-message"]
	if want := markdown.Restricted(message); got != want || strings.Contains(got, "](") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutputsOfASingleJob(t *testing.T) {
	rep := &report.Report{Run: report.Run{Outcome: event.Passed}, Jobs: []report.Job{job(event.Passed, "Done.")}}
	rep.Jobs[0].Output = json.RawMessage("{\n \"a\": 1}")
	got := values(t, event.ExitOK, rep)
	if got["final-message"] != "Done." || got["structured-output"] != `{"a":1}` || got["cost-usd"] != "" || got["conclusion"] != "success" {
		t.Errorf("%q", got)
	}
}

func values(t *testing.T, exit event.Exit, rep *report.Report) map[string]string {
	t.Helper()
	all, _ := action.Outputs(exit, "/r", rep)
	_, got, err := readOutputs(string(action.Format(all, counting())))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOutputsWithoutAReport(t *testing.T) {
	want := map[string]string{"conclusion": "failure", "outcome": "error", "exit-code": "2"}
	if diff := cmp.Diff(want, values(t, event.ExitUsage, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestConclusionIsThatOfTheRun(t *testing.T) {
	tests := []struct {
		exit event.Exit
		run  event.Outcome
		want string
	}{
		{event.ExitOK, event.Passed, "success passed"},
		{event.ExitOK, event.Failed, "failure failed"}, // fail-on: never
		{event.ExitLimit, event.Limit, "failure limit"},
		{event.ExitTerminate, event.Cancelled, "cancelled cancelled"},
		{event.ExitInternal, event.Passed, "failure error"}, // the reports could not be written
	}
	for _, test := range tests {
		got := values(t, test.exit, &report.Report{Run: report.Run{Outcome: test.run}})
		if got["conclusion"]+" "+got["outcome"] != test.want {
			t.Errorf("exit code %d of a run that %s: %q, want %q", test.exit, test.run, got, test.want)
		}
	}
}

func TestOutputsAreLimited(t *testing.T) {
	rep := &report.Report{Jobs: []report.Job{job(event.Passed, strings.Repeat("ä", 200_000))}}
	rep.Jobs[0].Output = json.RawMessage(`"` + strings.Repeat("x", 100_000) + `"`)
	_, warnings := action.Outputs(0, "/r", rep)
	got := values(t, 0, rep)
	if m := got["final-message"]; len(m) > action.MaxValue || !strings.HasSuffix(m, "ä\n```\n\n(truncated; the full text is in report.json)") {
		t.Errorf("final-message of %d bytes ends in %q", len(m), m[len(m)-60:])
	}
	if got["structured-output"] != "" || len(warnings) != 1 {
		t.Errorf("structured-output of %d bytes, %q", len(got["structured-output"]), warnings)
	}
}

func TestBranchesAndCommitsHaveTheSameLength(t *testing.T) {
	rep := &report.Report{}
	for range 3000 {
		rep.Jobs = append(rep.Jobs, job(event.Passed, ""))
		rep.Jobs[len(rep.Jobs)-1].Commit.Branch = "millhand/" + strings.Repeat("b", 50)
	}
	all, warnings := action.Outputs(0, "/r", rep)
	var lengths []int
	for _, o := range all {
		if o.Name == "branches" || o.Name == "commits" {
			var list []string
			if err := json.Unmarshal([]byte(o.Value), &list); err != nil || len(o.Value) > action.MaxValue {
				t.Error(len(o.Value), err)
			}
			lengths = append(lengths, len(list))
		}
	}
	if len(lengths) != 2 || lengths[0] != lengths[1] || lengths[0] < 900 || len(warnings) != 1 {
		t.Errorf("%d, %q", lengths, warnings)
	}
}

func TestDelimiterIsNotInTheValue(t *testing.T) {
	text := string(action.Format([]action.Output{{Name: "a", Value: "x\nmillhand-1\nexit-code=0"}}, counting()))
	names, values, err := readOutputs(text)
	if err != nil || !slices.Equal(names, []string{"a"}) || values["a"] != "x\nmillhand-1\nexit-code=0" {
		t.Errorf("%q: %q, %v", text, values, err)
	}
}

func FuzzFormat(f *testing.F) {
	f.Add("x\nEOF\nb=c", "")
	f.Add("millhand-1\nmillhand-2\n", "\r\n\x00\xff")
	f.Add("millhand-12", "millhand-1")
	f.Fuzz(func(t *testing.T, a, b string) {
		text := action.Format([]action.Output{{Name: "a", Value: a}, {Name: "b", Value: b}}, counting())
		names, got, err := readOutputs(string(text))
		want := map[string]string{"a": strings.ToValidUTF8(a, "\uFFFD"), "b": strings.ToValidUTF8(b, "\uFFFD")}
		if err != nil || !slices.Equal(names, []string{"a", "b"}) || !maps.Equal(got, want) {
			t.Fatalf("%q: %q, %v", text, got, err)
		}
	})
}

func TestSummaryIsTruncatedAtALine(t *testing.T) {
	page := []byte(strings.Repeat("0123456789\n", 100))
	if got := action.Summary(page, len(page)); len(got) != len(page) {
		t.Errorf("%d bytes of a page that fits", len(got))
	}
	got := string(action.Summary(page, 500))
	if len(got) > 500 || len(got) < 480 || !strings.HasPrefix(got, "0123456789\n") || !strings.Contains(got, "9\n\n\n**This summary was truncated here") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	for _, room := range []int{-5, 0, 20} {
		if got := action.Summary(page, room); len(got) != 0 {
			t.Errorf("%q in %d bytes", got, room)
		}
	}
}

func TestFailedVerifyIsAnnotated(t *testing.T) {
	here := action.Checkout{Repository: "/repo", Dir: "/repo/sub"}
	rep := &report.Report{Run: report.Run{Manifest: []string{"m.yaml"}}, Jobs: []report.Job{{ID: "a", Attempts: 2, Verify: []report.Verify{
		{Verify: event.Verify{Name: "tests", Attempt: 1, ExitCode: 1, Tail: "first"}},
		{Verify: event.Verify{Name: "vet", Attempt: 2, Passed: true}},
		{Verify: event.Verify{Name: "tests", Attempt: 2, ExitCode: 1, Tail: strings.Repeat("line\n", 100) + "::set-output name=x::y\n"}},
		{Verify: event.Verify{Name: "slow", Attempt: 2, ExitCode: -1}},
	}}}}
	got := action.Failures(rep, here)
	want := []action.Annotation{
		{
			Level: "error", Title: "a: verify tests failed", Location: action.Location{File: "sub/m.yaml"},
			Message: "exit code 1\n" + strings.Repeat("line\n", 100) + "::set-output name=x::y",
		},
		{Level: "error", Title: "a: verify slow failed", Location: action.Location{File: "sub/m.yaml"}, Message: "killed or not started"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for len(rep.Jobs) < 30 {
		rep.Jobs = append(rep.Jobs, rep.Jobs[0])
	}
	if got := action.Failures(rep, here); len(got) != 10 {
		t.Errorf("%d annotations, of which GitHub shows 10", len(got))
	}
}

// Many jobs can end for one reason, and GitHub shows few annotations.
func TestReasonsAreAnnotatedOnce(t *testing.T) {
	lint := []report.Baseline{{Name: "vet", Passed: true, Tail: "ok"}, {Name: "lint", ExitCode: 127, Tail: "lint: command not found\n"}}
	failed := []report.Verify{{Verify: event.Verify{Name: "tests", Attempt: 1, ExitCode: 1, Tail: "FAIL"}}}
	rep := &report.Report{Jobs: []report.Job{
		{ID: "a", Outcome: event.Error, Reason: "install lint", Baseline: lint},
		{ID: "b", Outcome: event.Passed, Attempts: 1, Baseline: lint},
		{ID: "c", Outcome: event.Error, Reason: "install lint", Baseline: lint},
		{ID: "d", Outcome: event.Failed, Reason: "verify tests failed", Attempts: 1, Verify: failed, Baseline: lint},
		{ID: "e", Outcome: event.Limit, Reason: "turn limit exceeded (60)", Attempts: 1, Baseline: lint},
		{ID: "f", Outcome: event.Skipped, Reason: "needs a"},
		{ID: "g", Outcome: event.Cancelled, Reason: "interrupted"},
	}}
	want := []action.Annotation{
		{Level: "error", Title: "a and 1 more: error", Message: "install lint\nlint: command not found"},
		{Level: "error", Title: "d: verify tests failed", Message: "exit code 1\nFAIL"},
		{Level: "error", Title: "e: limit", Message: "turn limit exceeded (60)"},
	}
	if diff := cmp.Diff(want, action.Failures(rep, action.Checkout{})); diff != "" {
		t.Error(diff)
	}
}

func TestLocationsAreRelativeToTheCheckout(t *testing.T) {
	for _, test := range []struct{ repository, file, want string }{
		{"/repo", "m.yaml", "sub/m.yaml"},
		{"/repo", "../m.yaml", "m.yaml"},
		{"/repo", "/repo/x/m.yaml", "x/m.yaml"},
		{"/repo", "../../m.yaml", ""},
		{"/repo", "/tmp/m.yaml", ""},
		{"", "m.yaml", ""},
		{"/repo", "", ""},
	} {
		if got := (action.Checkout{Repository: test.repository, Dir: "/repo/sub"}).Location(test.file, 1, 1).File; got != test.want {
			t.Errorf("%s in %s: %q, want %q", test.file, test.repository, got, test.want)
		}
	}
}

func TestEqualWarningsAreOneAnnotationAndAtMostTenAreMade(t *testing.T) {
	name := "a"
	rep := &report.Report{Warnings: []report.Warning{{Message: "x"}, {Job: &name, Message: "y"}, {Job: &name, Message: "x"}}}
	want := []action.Annotation{{Level: "warning", Title: "millhand", Message: "x"}, {Level: "warning", Title: "a", Message: "y"}}
	if diff := cmp.Diff(want, action.Warnings(rep)); diff != "" {
		t.Error(diff)
	}
	for i := range 20 {
		rep.Warnings = append(rep.Warnings, report.Warning{Message: fmt.Sprint(i)})
	}
	if got := action.Warnings(rep); len(got) != 10 {
		t.Errorf("%d annotations, want 10", len(got))
	}
}
