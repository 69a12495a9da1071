package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
)

// The stored stream of a run of many jobs has the reports of its live events, also where events of jobs follow their end.
func TestAStoredLargeRunHasTheReportsOfItsLiveEvents(t *testing.T) {
	plan := func(model string) event.Event {
		run := &event.Run{ID: "r"}
		for i := range report.ManyJobs {
			run.Jobs = append(run.Jobs, event.PlannedJob{ID: fmt.Sprint("j", i), Task: "t", Repo: "shop", Model: model, Matrix: map[string]string{"n": fmt.Sprint(i)}})
		}
		run.Jobs[0].ID = "a"
		return event.Event{Type: event.RunStarted, Run: run}
	}
	work := reporttest.Lived("text", json.RawMessage(`{"a": "<b>"}`), reporttest.Costs(0))[1:]
	work = work[:len(work)-1] // without run.ended
	other := []event.Event{reporttest.Started("j1"), reporttest.JobEnded("j1", event.JobEnd{Outcome: event.Passed})}
	odd := []event.Event{reporttest.Started("j2"), reporttest.JobEnded("j2", event.JobEnd{Outcome: "odd"})}
	end := reporttest.RunEnded(event.Passed, 0)
	streams := map[string][]event.Event{
		"ended":           {end},
		"killed":          {},
		"resumed":         {end, plan("m"), reporttest.Started("a"), reporttest.TurnEnded("s", 2, reporttest.Costs(2)), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed, CostUSD: reporttest.Costs(2)}), end},
		"killed again":    {plan("m"), reporttest.Started("a"), reporttest.TurnEnded("s", 2, nil)},
		"published":       {end, {Type: event.CommitPublished, Job: "j1", Published: &event.Published{Remote: "origin"}}},
		"another plan":    {end, plan("other"), end},
		"not in the plan": {reporttest.Started("x"), reporttest.JobEnded("x", event.JobEnd{Outcome: event.Passed}), end, reporttest.Started("x")},
	}
	for name, rest := range streams {
		t.Run(name, func(t *testing.T) {
			var live report.Fold
			var stored bytes.Buffer
			s := event.NewStream(reporttest.Clock(), &live, event.JSONL(&stored))
			for _, list := range [][]event.Event{{plan("m")}, work, other, odd, rest} {
				for _, e := range list {
					s.Emit(e)
				}
			}
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
			for kind, in := range map[string]io.Reader{"file": bytes.NewReader(stored.Bytes()), "pipe": io.MultiReader(bytes.NewReader(stored.Bytes()))} {
				loaded, err := report.Load(in)
				if err != nil {
					t.Fatal(err)
				}
				for ending, write := range writers() {
					if diff := cmp.Diff(reporttest.Render(t, write, live.Report()), reporttest.Render(t, write, loaded)); diff != "" {
						t.Errorf("%s, %s (-live +loaded):\n%s", kind, ending, diff)
					}
				}
				if name != "killed again" && len(loaded.Jobs[0].Calls) != 0 {
					t.Error("the calls of a job that has ended stay in memory")
				}
			}
		})
	}
}
