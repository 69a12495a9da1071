package report_test

import (
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/reporttest"
)

// A reviewer is not among the models of a job, also if its review did not end: events of a killed run have no review.ended.
func TestAReviewIsNoCostOfTheModelsOfAJob(t *testing.T) {
	turn := func(session string, number int, dollars money.USD) []event.Event {
		return []event.Event{
			{Type: event.TurnStarted, Job: "a", Session: session, Turn: &event.Turn{Number: number}},
			{Type: event.TurnEnded, Job: "a", Session: session, Turn: &event.Turn{Number: number, Usage: &money.Usage{Input: 1}, CostUSD: new(dollars * money.Dollar)}},
		}
	}
	events := []event.Event{reporttest.Planned("a"), reporttest.Started("a")}
	events = append(events, turn("r/a", 1, 1)...)
	events = append(events, event.Event{Type: event.ModelEscalated, Job: "a", Escalation: &event.Escalation{From: "x", To: "y", Attempt: 1, Outcome: event.Failed}})
	events = append(events, turn("r/a", 2, 2)...)
	events = append(events, turn("r/a.task-1", 1, 4)...)
	events = append(events, turn(event.ReviewSession("r/a"), 1, 8)...)
	r := reporttest.Fold(t, append(events, reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed, Attempts: 2}))...)
	rows := r.Jobs[0].Escalation
	if len(rows) != 2 || rows[0].CostUSD == nil || *rows[0].CostUSD != money.Dollar || rows[1].CostUSD == nil || *rows[1].CostUSD != 6*money.Dollar {
		t.Errorf("%+v", rows)
	}
}
