package queued

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/queuetest"
)

// Records that somebody else has written don't hide the state of the jobs.
func TestStatusOfARunWithForgedRecords(t *testing.T) {
	s := queuetest.Start(t)
	q := open(t, s)
	r := &queue.Run{ID: "r", Lease: time.Minute, MaxDeliveries: 3, Start: event.Run{ID: "r"}, Submitted: time.Now()}
	for _, id := range []string{"a", "b"} {
		r.Jobs = append(r.Jobs, queue.Job{ID: id, Key: "k-" + id})
	}
	if _, err := q.Submit(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if err := q.Show(t.Context(), queue.Worker{ID: "w", Jobs: []queue.Running{{Run: "r", Job: "b"}}}); err != nil {
		t.Fatal(err)
	}
	js, _ := stored(t, s)
	for subject, text := range map[string]string{
		"$KV.millhand-state.budget.r": `{"spent_usd":-1}`,
		"millhand.result.r.k-a":       `{"job":"b","end":{"outcome":"passed"}}`,
		"millhand.result.r.k-x":       `{"job":"x","end":{"outcome":"passed"}}`,
	} {
		if _, err := js.Publish(t.Context(), subject, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	state, err := StateOf(t.Context(), time.Now(), q, r)
	if err != nil {
		t.Fatal(err)
	}
	if state.Jobs != (Counts{Total: 2, Running: 1, Ended: 1}) || state.Spent != nil || state.State != "running" {
		t.Errorf("state %+v", state)
	}
	var text bytes.Buffer
	if err := state.Print(&text, time.Now()); err != nil || !strings.Contains(text.String(), "cost unknown: read the budget of run r: invalid record in the queue: negative amount\n") {
		t.Errorf("%s, %v", text.String(), err)
	}
}

func TestARunIsWaitedForUntilItsJobsHaveEnded(t *testing.T) {
	q := open(t, queuetest.Start(t))
	r := &queue.Run{ID: "r", Lease: time.Minute, MaxDeliveries: 3, Start: event.Run{ID: "r"}, Submitted: time.Now(), Jobs: []queue.Job{{ID: "a", Key: "k-a"}}}
	if _, err := q.Submit(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	w := world.World{Now: time.Now, Err: io.Discard}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := Wait(stopped, w, q, r); err == nil {
		t.Error("a stopped process does not wait")
	}
	states := 0
	for s, err := range States(t.Context(), w, q, r, false) {
		if states++; err != nil || s.State != "running" || s.Jobs != (Counts{Total: 1, Waiting: 1}) {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if states != 1 {
		t.Errorf("%d states without watching", states)
	}
	if _, err := q.Cancel(t.Context(), r, "test"); err != nil {
		t.Fatal(err)
	}
	for s, err := range States(t.Context(), w, q, r, true) {
		if err != nil || s.State != "cancelled" {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if err := Wait(t.Context(), w, q, r); err != nil {
		t.Errorf("a cancelled run: %v", err)
	}
}

func TestTheTimeLeftFollowsFromTheJobsThatHaveEnded(t *testing.T) {
	if got := remaining(time.Minute, Counts{Total: 4, Ended: 1}, 2); got == nil || *got != 180000 {
		t.Errorf("%v", got)
	}
	for _, none := range []*int64{remaining(time.Minute, Counts{Total: 4}, 2), remaining(time.Minute, Counts{Total: 4, Ended: 1}, 0)} {
		if none != nil {
			t.Errorf("%d ms, from nothing", *none)
		}
	}
}
