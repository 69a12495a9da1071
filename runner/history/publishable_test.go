package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
)

func TestPublishableIsOfTheLastStart(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first, start := &event.JobStart{Base: "old"}, &event.JobStart{Base: "new"}
	full, bare := &event.Commit{Hash: "c", Message: "m"}, &event.Commit{Hash: "c"}
	push, end := &event.Published{Hash: "c"}, &event.JobEnd{Outcome: event.Passed}
	var got Publishable
	for _, step := range []struct {
		event event.Event
		want  Publishable
	}{
		{event.Event{Type: event.JobStarted, JobStart: first}, Publishable{Start: first}},
		{event.Event{Type: event.Committed, Commit: &event.Commit{Hash: "b"}}, Publishable{Start: first, Commit: &event.Commit{Hash: "b"}}},
		{event.Event{Type: event.JobStarted, JobStart: start}, Publishable{Start: start}},
		{event.Event{Type: event.CommitStarted, Commit: full}, Publishable{Start: start}},
		{event.Event{Type: event.Committed, Commit: full}, Publishable{Start: start, Commit: full}},
		{event.Event{Type: event.Committed, Commit: bare}, Publishable{Start: start, Commit: full}},
		{event.Event{Type: event.PullRequestStarted, Published: push}, Publishable{Start: start, Commit: full, Announced: true}},
		{event.Event{Type: event.CommitPublished, Published: push}, Publishable{Start: start, Commit: full, Announced: true, Published: push}},
		{event.Event{Type: event.JobEnded, JobEnd: end, Time: at}, Publishable{Start: start, Commit: full, Announced: true, Published: push, End: end, Ended: at}},
		{event.Event{Type: event.Reverted, Revert: &event.Revert{}}, Publishable{Start: start, Commit: full, Announced: true, Published: push, End: end, Ended: at}},
		{event.Event{Type: event.Reverted, Revert: &event.Revert{Commit: "r"}}, Publishable{Start: start, Commit: full, Announced: true, Published: push, End: end, Ended: at, Reverted: "r"}},
	} {
		got.Add(step.event)
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.event.Type, diff)
		}
	}
}
