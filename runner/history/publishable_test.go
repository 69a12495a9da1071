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

// What was made counts for all messages of a job, and what was not made only for the last one.
func TestAPublishableHasTheRequestsOfTheJob(t *testing.T) {
	request := func(id string, outcome event.RequestOutcome) event.Event {
		return event.Event{Type: event.ForgeRequestEnded, ForgeRequest: &event.ForgeRequest{ID: id, Outcome: outcome}}
	}
	start := event.Event{Type: event.JobStarted, JobStart: &event.JobStart{}}
	var got Publishable
	for _, e := range []event.Event{start, request("a", event.RequestFailed), request("b", event.RequestSkipped), request("a", event.RequestDone), start, request("c", event.RequestRefused)} {
		got.Add(e)
	}
	want := []event.ForgeRequest{{ID: "a", Outcome: event.RequestDone}, {ID: "c", Outcome: event.RequestRefused}}
	if diff := cmp.Diff(want, got.Requested); diff != "" || got.Commented {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Add(event.Event{Type: event.CommentPosted, Comment: &event.Comment{}}); !got.Commented {
		t.Error("it has no comment")
	}
}
