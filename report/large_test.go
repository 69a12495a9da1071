package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
)

// The stored stream of a run of many jobs has the reports of its live events, also where events of jobs follow their end.
func TestLargeRuns(t *testing.T) {
	plan := func(model string) event.Event {
		run := &event.Run{ID: "r"}
		for i := range report.ManyJobs {
			run.Jobs = append(run.Jobs, event.PlannedJob{ID: fmt.Sprint("j", i), Task: "t", Repo: "shop", Model: model, Matrix: map[string]string{"n": fmt.Sprint(i)}})
		}
		run.Jobs[0].ID = "a"
		return event.Event{Type: event.RunStarted, Run: run}
	}
	work := lived("text", json.RawMessage(`{"a": "<b>"}`), costs(0))[1:]
	work = work[:len(work)-1] // without run.ended
	other := []event.Event{started("j1"), jobEnded("j1", event.JobEnd{Outcome: event.Passed})}
	odd := []event.Event{started("j2"), jobEnded("j2", event.JobEnd{Outcome: "odd"})}
	end := runEnded(event.Passed, 0)
	streams := map[string][]event.Event{
		"ended":           {end},
		"killed":          {},
		"resumed":         {end, plan("m"), started("a"), turnEnded("s", 2, costs(2)), jobEnded("a", event.JobEnd{Outcome: event.Passed, CostUSD: costs(2)}), end},
		"killed again":    {plan("m"), started("a"), turnEnded("s", 2, nil)},
		"published":       {end, {Type: event.CommitPublished, Job: "j1", Published: &event.Published{Remote: "origin"}}},
		"another plan":    {end, plan("other"), end},
		"not in the plan": {started("x"), jobEnded("x", event.JobEnd{Outcome: event.Passed}), end, started("x")},
	}
	for name, rest := range streams {
		t.Run(name, func(t *testing.T) {
			var live report.Fold
			var stored bytes.Buffer
			s := event.NewStream(clock(), &live, event.JSONL(&stored))
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
					if diff := cmp.Diff(render(t, write, live.Report()), render(t, write, loaded)); diff != "" {
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
