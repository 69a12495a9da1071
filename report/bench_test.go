package report_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
)

// shards are the stored shards of a plan of so many jobs, each with so many
// turns of one call.
func shards(tb testing.TB, total, jobs, turns int) []saved {
	tb.Helper()
	plan := make([]event.PlannedJob, jobs)
	for i := range plan {
		plan[i] = event.PlannedJob{ID: fmt.Sprint("task-repository-", i), Task: "task", Repo: fmt.Sprint("repository-", i/2), Index: i + 1, Shard: i%total + 1}
	}
	var out []saved
	for index := 1; index <= total; index++ {
		run := &event.Run{ID: fmt.Sprint("run", index), PlanHash: "h", Shard: &event.Shard{Index: index, Total: total}}
		events := []event.Event{{Type: event.RunStarted, Run: run}}
		for _, j := range plan {
			if j.Shard != index {
				run.Elsewhere = append(run.Elsewhere, j)
				continue
			}
			run.Jobs = append(run.Jobs, j)
			events = append(events, reporttest.Started(j.ID))
			for n := range turns {
				call, turn := reporttest.Called(j.ID, n+1, "c", event.CallCompleted), reporttest.TurnEnded(j.ID, n+1, reporttest.Costs(0.001))
				call.Job, turn.Job = j.ID, j.ID
				call.Call.Input = []byte(`{"filePath":"some/directory/file.go","oldString":"what was there before","newString":"what is there now"}`)
				events = append(events, call, turn)
			}
			events = append(events, reporttest.JobEnded(j.ID, event.JobEnd{Outcome: event.Passed, Turns: turns, CostUSD: reporttest.Costs(0.001)}))
		}
		out = append(out, saved{run.ID, store(tb, index, append(events, reporttest.RunEnded(event.Passed, 0))...)})
	}
	return out
}

// distributed are the parts of a run whose jobs were distributed, one in each.
func distributed(tb testing.TB, jobs int) []saved {
	tb.Helper()
	run := &event.Run{ID: "run", PlanHash: "h"}
	for i := range jobs {
		run.Elsewhere = append(run.Elsewhere, event.PlannedJob{ID: fmt.Sprint("job-", i), Task: "task", Repo: "repository", Index: i + 1, Shard: i + 1})
	}
	out := []saved{{"plan", store(tb, 0, event.Event{Type: event.RunStarted, Run: run})}}
	for i, j := range run.Elsewhere {
		own := &event.Run{ID: "run", PlanHash: "h", Shard: &event.Shard{Index: i + 1, Total: jobs}, Jobs: []event.PlannedJob{j}}
		out = append(out, saved{j.ID, store(tb, 1, event.Event{Type: event.RunStarted, Run: own}, reporttest.Started(j.ID),
			reporttest.JobEnded(j.ID, event.JobEnd{Outcome: event.Passed, CostUSD: reporttest.Costs(0.001)}), reporttest.RunEnded(event.Passed, 0))})
	}
	return out
}

func BenchmarkMergeDistributed(b *testing.B) {
	for _, jobs := range []int{1_000, 10_000} {
		runs := inputsOf(distributed(b, jobs)...)
		b.Run(fmt.Sprint(jobs), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := report.Merge(io.Discard, runs, event.FailOnAny); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkJSON(b *testing.B) {
	r := reporttest.Load(b, shards(b, 1, 10_000, 20)[0].stream)
	b.ReportAllocs()
	for b.Loop() {
		if err := report.JSON(io.Discard, r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	runs := inputsOf(shards(b, 4, 10_000, 20)...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := report.Merge(io.Discard, runs, event.FailOnAny); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFold reads the events of 100 jobs of 20 turns.
func BenchmarkFold(b *testing.B) {
	stream := shards(b, 1, 100, 20)[0].stream
	b.ReportAllocs()
	for b.Loop() {
		if r, err := report.Load(bytes.NewReader(stream)); err != nil || len(r.Jobs) != 100 {
			b.Fatal(err)
		}
	}
}
