package report

import (
	"io"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

// A job whose calls can't be read again is an error of formats that have them.
func TestAJobWhoseCallsCannotBeReadAgainIsAnErrorOfFormats(t *testing.T) {
	f := Fold{Compact: true}
	for _, e := range []event.Event{
		{Type: event.RunStarted, Run: &event.Run{ID: "r", Jobs: []event.PlannedJob{{ID: "a"}}}},
		{Type: event.CallUpdated, Job: "a", Session: "s", Call: &event.Call{ID: "c", Turn: 1, Tool: "read", Status: event.CallCompleted}},
		{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Failed}},
		{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Failed}},
	} {
		if err := f.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	r := f.Final()
	full := r.Jobs[0].packed.data
	for name, data := range map[string][]byte{"truncated": full[:len(full)/2], "empty": nil, "other bytes": []byte(strings.Repeat("\xff", 40))} {
		r.Jobs[0].packed.data = data
		if err := JSON(io.Discard, r); err == nil || !strings.Contains(err.Error(), "internal error: read the calls of job a again") {
			t.Errorf("%s: %v", name, err)
		}
		if j, ok := f.Job("a"); !ok || len(j.Warnings) != 1 {
			t.Errorf("%s: %v, warnings %q", name, ok, j.Warnings)
		}
	}
	r.Jobs[0].packed.data = full
	if j, err := r.Jobs[0].Complete(); err != nil || len(j.Calls) != 1 {
		t.Errorf("%v, %+v", err, j)
	}
}

// Events of a job that can't be read again are its result.
func TestAJobWhoseEventsCannotBeReadAgainIsAnError(t *testing.T) {
	f := Fold{Compact: true}
	for _, e := range []event.Event{
		{Type: event.RunStarted, Run: &event.Run{ID: "r", Jobs: []event.PlannedJob{{ID: "a"}}}},
		{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Passed}},
	} {
		if err := f.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	f.byID["a"].packed = f.byID["a"].packed[:4]
	if j := f.Report().Jobs[0]; j.Outcome != event.Error || !strings.Contains(j.Reason, "read the events of the job again") {
		t.Errorf("%s: %s", j.Outcome, j.Reason)
	}
}
