package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/viewtest"
)

func liveLog(t *testing.T, cols, rows int) (*Log, *viewtest.Terminal) {
	t.Helper()
	v := &viewtest.Terminal{TB: t, Cols: cols, Rows: rows}
	return &Log{out: v, level: zerolog.InfoLevel, screen: &screen{out: v, size: v.Size}}, v
}

// busy are the events of running jobs: the first with a model request, the others with a
// command.
func busy(jobs int) []event.Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	limit, spent := 2*money.Dollar, money.Dollar/8
	run := &event.Run{ID: "r1", MaxCostUSD: &limit}
	events := []event.Event{{Time: at, Type: event.RunStarted, Run: run}}
	for i := range jobs {
		id := fmt.Sprintf("job-%d", i)
		run.Jobs = append(run.Jobs, event.PlannedJob{ID: id})
		for _, e := range []event.Event{
			{Type: event.PhaseStarted, Phase: &event.Phase{Name: "session"}},
			{Type: event.TurnStarted, Turn: &event.Turn{Number: 1}},
			{Type: event.CallUpdated, Call: &event.Call{Tool: "bash", Title: "sleep 60 # \x1b[2J" + strings.Repeat(" and wait", 20), Status: event.CallRunning}},
			{Type: event.TurnEnded, Turn: &event.Turn{Number: 1, CostUSD: &spent}},
		} {
			if e.Time, e.Job = at, id; i > 0 || e.Call == nil && e.Type != event.TurnEnded {
				events = append(events, e)
			}
		}
	}
	return events
}

func TestWidthsAreThoseOfTerminals(t *testing.T) {
	for text, want := range map[string]int{"": 0, "job": 3, "→…✓": 3, "日本": 4, "e\u0301": 1, "👩‍👩‍👧": 2, "é": 1} {
		if got := columns(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	for n, want := range map[int]string{4: "日…", 5: "日本…", 6: "日本語"} {
		if got := cut("日本語", n); got != want {
			t.Errorf("%d columns: got %q, want %q", n, got, want)
		}
	}
}

func TestLiveLinesFitTheTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		cols, rows, jobs int
		want             string
	}{
		"wide": {80, 24, 2, `
job-0   1m05s  turn 1             model request
job-1   1m05s  turn 1    $0.1250  bash sleep 60 # �[2J and wait and wait and w…
[0/2]  1m05s  2 running  $0.1250 of $2.00
`},
		"narrow": {40, 24, 2, `
job-0   1m05s  model request
job-1   1m05s  bash sleep 60 # �[2J an…
[0/2]  1m05s  2 running  $0.1250 of …
`},
		"more jobs than lines": {80, 8, 9, `
job-7   1m05s  turn 1    $0.1250  bash sleep 60 # �[2J and wait and wait and w…
job-8   1m05s  turn 1    $0.1250  bash sleep 60 # �[2J and wait and wait and w…
+7 more
[0/9]  1m05s  9 running  $1.00 of $2.00
`},
		"tiny": {10, 2, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, v := liveLog(t, c.cols, c.rows)
			events := busy(c.jobs)
			show(t, l, events...)
			l.tick(events[0].Time.Add(65 * time.Second))
			head := fmt.Sprintf("   0ms  run r1: %d jobs, at most $2.00\n", c.jobs)
			if name == "tiny" {
				for line := range strings.Lines(v.String()) {
					if columns(strings.TrimSpace(line)) > c.cols {
						t.Errorf("the line %q is too wide", line)
					}
				}
				return
			}
			if diff := cmp.Diff(head+c.want[1:], v.String()); diff != "" {
				t.Errorf("%s\n%s", diff, v)
			}
			writes := v.Writes
			if l.tick(events[0].Time.Add(65*time.Second + time.Millisecond)); v.Writes != writes {
				t.Error("unchanged lines are written again")
			}
		})
	}
}

// Whatever the size of the terminal, and although it changes, the lines that remain are
// those of the log.
func TestNothingIsLeftOnTheTerminal(t *testing.T) {
	for _, cols := range []int{20, 37, 80, 200} {
		l, v := liveLog(t, cols, 10)
		stop := l.Follow("/w", "/w/r", nil)
		events := append(busy(6), sample()[1:]...)
		for i, e := range events {
			show(t, l, e)
			if i%5 == 0 {
				l.tick(e.Time.Add(time.Duration(i) * time.Second))
			}
		}
		stop()
		if l.screen != nil {
			t.Error("the live lines go on")
		}
		show(t, l, event.Event{Time: events[0].Time, Type: event.WarningIssued, Warning: &event.Warning{Message: "after the end"}})
		if got := strings.ReplaceAll(v.String(), "\n", ""); strings.Contains(got, "running") || strings.Contains(got, "more") || !strings.HasSuffix(got, "after the end") {
			t.Errorf("%d columns: the terminal has\n%s", cols, v)
		}
	}
	for _, cols := range []int{30, 79, 120} {
		l, v := liveLog(t, 80, 24)
		stop := l.Follow("/w", "/w/r", nil)
		events := busy(3)
		show(t, l, events...)
		v.Resize(cols)
		l.tick(events[0].Time.Add(time.Second))
		if got := v.String(); strings.Count(got, "[0/3]") != 1 || strings.Count(got, "job-1") != 1 {
			t.Errorf("%d columns after a change: the terminal has\n%s", cols, got)
		}
		if stop(); strings.TrimSpace(strings.ReplaceAll(v.String(), "\n", "")) != "0ms  run r1: 3 jobs, at most $2.00" {
			t.Errorf("%d columns after a change: what is left is\n%s", cols, v)
		}
	}
}

// A call that waits for the checkout reports that, until it continues.
func TestWaitForTheCheckoutIsShown(t *testing.T) {
	phase := &event.Phase{Name: event.CheckoutPhase}
	if got := describe(event.Event{Type: event.PhaseStarted, Phase: phase}, &state{}, directories{}); got.text != "waiting for the checkout" || got.level != zerolog.InfoLevel {
		t.Errorf("%+v", got)
	}
	j := &job{phase: "session"}
	j.begin(event.Event{}, "call", "grep x")
	j.apply(event.Event{Type: event.PhaseStarted, Phase: phase})
	if got := j.current().text; got != "waiting for the checkout" {
		t.Errorf("during the wait: %s", got)
	}
	j.apply(event.Event{Type: event.PhaseEnded, Phase: phase})
	if got := j.current().text; got != "grep x" || j.phase != "session" {
		t.Errorf("after the wait: %s in %s", got, j.phase)
	}
}
