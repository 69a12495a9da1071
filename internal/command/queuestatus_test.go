package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/queuetest"
)

// Records that somebody else has written don't hide the state of the jobs.
func TestStatusOfARunWithForgedRecords(t *testing.T) {
	s := queuetest.Start(t)
	k := testWorker(t, s)
	r := &queue.Run{ID: "r", Lease: time.Minute, MaxDeliveries: 3, Start: event.Run{ID: "r"}, Submitted: time.Now()}
	for _, id := range []string{"a", "b"} {
		r.Jobs = append(r.Jobs, queue.Job{ID: id, Key: "k-" + id})
	}
	if _, err := k.queue.Submit(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if err := k.queue.Show(t.Context(), queue.Worker{ID: "w", Jobs: []queue.Running{{Run: "r", Job: "b"}}}); err != nil {
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
	state, err := stateOf(t.Context(), k.world, k.queue, r)
	if err != nil {
		t.Fatal(err)
	}
	if state.Jobs != (jobCounts{Total: 2, Running: 1, Ended: 1}) || state.Spent != nil || state.State != "running" {
		t.Errorf("state %+v", state)
	}
	var text bytes.Buffer
	if err := writeState(&text, time.Now(), state); err != nil || !strings.Contains(text.String(), "cost unknown: read the budget of run r: invalid record in the queue: negative amount\n") {
		t.Errorf("%s, %v", text.String(), err)
	}
}
