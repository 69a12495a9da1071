package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/summary"
)

// reviewed returns the report of a job with these reviews, each a turn that cost $1.
func reviewed(t *testing.T, reviews ...event.Review) *report.Report {
	t.Helper()
	events := []event.Event{
		{Type: event.RunStarted, Run: &event.Run{ID: "r", Version: "1.0.0", Jobs: []event.PlannedJob{{ID: "a"}}}},
		{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Base: "0c9d"}},
	}
	for i, r := range reviews {
		turn := &event.Turn{Number: i + 1, Usage: &money.Usage{Input: 1}, CostUSD: new(money.Dollar)}
		events = append(events,
			event.Event{Type: event.AttemptStarted, Job: "a", Session: "r/a", Attempt: &event.Attempt{Number: r.Attempt}},
			event.Event{Type: event.TurnStarted, Job: "a", Session: "r/a@review", Turn: &event.Turn{Number: i + 1}},
			event.Event{Type: event.TurnEnded, Job: "a", Session: "r/a@review", Turn: turn},
			event.Event{Type: event.ReviewEnded, Job: "a", Session: "r/a@review", Review: &r})
	}
	return reporttest.Fold(t, append(events, reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed}))...)
}

func TestReviewOfChanges(t *testing.T) {
	rejects := event.Review{Attempt: 1, Model: "m", Verdict: event.ReviewRejected, Objections: []string{"a.go:1 | <b>"}}
	accepts := event.Review{Attempt: 2, Model: "m", Verdict: event.ReviewAccepted}
	none := event.Review{Attempt: 2, Model: "m", Verdict: event.NotReviewed, Reason: "timed out"}
	for name, c := range map[string]struct {
		reviews    []event.Review
		verdict    event.Verdict
		objections []string
		rounds     int
		line       string
	}{
		"accepted":                     {[]event.Review{accepts}, event.ReviewAccepted, []string{}, 1, "accepted by m"},
		"rejected":                     {[]event.Review{rejects}, event.ReviewRejected, rejects.Objections, 1, "rejected by m"},
		"rejected, then accepted":      {[]event.Review{rejects, accepts}, event.ReviewAccepted, []string{}, 2, "accepted by m after 2 reviews"},
		"rejected, then not reviewed":  {[]event.Review{rejects, none}, event.NotReviewed, rejects.Objections, 2, "not reviewed: timed out"},
		"of an attempt that is redone": {[]event.Review{accepts, rejects}, event.ReviewRejected, rejects.Objections, 1, "rejected by m"},
	} {
		t.Run(name, func(t *testing.T) {
			r := reviewed(t, c.reviews...)
			j := &r.Jobs[0]
			got := j.Review
			if got.Verdict != c.verdict || len(got.Rounds) != c.rounds || j.Verdict() != c.line || j.Contested() != (c.verdict != event.ReviewAccepted) {
				t.Errorf("%+v, %q", got, j.Verdict())
			}
			if diff := cmp.Diff(c.objections, got.Objections); diff != "" {
				t.Errorf("objections (-want +got):\n%s", diff)
			}
			if want := money.Dollar * money.USD(len(c.reviews)); got.CostUSD == nil || *got.CostUSD != want {
				t.Errorf("cost %v", got.CostUSD)
			}
			if j.Findings() != nil || r.HasFindings() {
				t.Error("it has findings")
			}
			validJSON(t, compileSchema(t), reporttest.Render(t, report.JSON, r))
			var doc struct{ Jobs []map[string]json.RawMessage }
			if err := json.Unmarshal([]byte(reporttest.Render(t, report.JSON, r)), &doc); err != nil || !strings.Contains(string(doc.Jobs[0]["review"]), `"findings":[]`) && !strings.Contains(string(doc.Jobs[0]["review"]), `"findings": []`) {
				t.Errorf("%v: %s", err, doc.Jobs[0]["review"])
			}
			shown := reporttest.Render(t, summary.Markdown, r)
			if c.verdict == event.ReviewRejected && (strings.Contains(shown, "a.go:1 | <b>") || !strings.Contains(shown, "a.go:1")) {
				t.Errorf("the objection is missing, or not escaped:\n%s", shown)
			}
		})
	}
	if r := reviewed(t); r.Jobs[0].Review != nil || r.Jobs[0].Verdict() != "" || r.Jobs[0].Contested() {
		t.Errorf("a job without reviews: %+v", r.Jobs[0].Review)
	}
}
