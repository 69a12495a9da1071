package event_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

// An event is complete if it has the payload of its type, and lists may be empty.
func TestEventsWithoutTheirPayloadAreIncomplete(t *testing.T) {
	lists := map[event.Type]bool{event.ChangesFound: true}
	for _, info := range event.Types() {
		empty := event.Event{Type: info.Type}
		if empty.Complete() != lists[info.Type] {
			t.Errorf("%s without payload: complete %v", info.Type, empty.Complete())
		}
		var full event.Event
		value := "{}"
		if lists[info.Type] {
			value = "[]"
		}
		if err := json.Unmarshal(fmt.Appendf(nil, `{"type":%q,%q:%s}`, info.Type, info.Payload, value), &full); err != nil {
			t.Fatal(err)
		}
		if !full.Complete() {
			t.Errorf("%s with %s is not complete", info.Type, info.Payload)
		}
	}
	newer := event.Event{Type: "newer", Run: &event.Run{}}
	if newer.Complete() {
		t.Error("an event of an unknown type is complete")
	}
}

func TestAWalkFindsWhatIsCompleteAndNotIgnored(t *testing.T) {
	w := event.Walk[string]{On: map[event.Type]string{event.JobEnded: "end"}, Ignores: []event.Type{event.JobStarted}}
	for _, c := range []struct {
		e    event.Event
		want string
	}{
		{event.Event{Type: event.JobEnded, JobEnd: &event.JobEnd{}}, "end"},
		{event.Event{Type: event.JobEnded}, ""},
		{event.Event{Type: event.JobStarted, JobStart: &event.JobStart{}}, ""},
		{event.Event{Type: "newer"}, ""},
	} {
		if got, ok := w.Find(&c.e); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", c.e.Type, got, ok, c.want)
		}
	}
	if got, ok := w.Of(event.JobEnded); got != "end" || !ok {
		t.Errorf("%q, %v", got, ok)
	}
}

// What a kill must not lose: the start of an effect outside of the run, and what it resulted in.
func TestEffectsAreDurable(t *testing.T) {
	for _, kind := range []event.Type{event.CommitStarted, event.PublishStarted, event.PullRequestStarted, event.CommentStarted, event.JobEnded, event.RunEnded, event.Sealed} {
		if !kind.Durable() {
			t.Errorf("%s is not durable", kind)
		}
	}
	for _, kind := range []event.Type{event.TurnStarted, event.CallUpdated, "newer"} {
		if kind.Durable() {
			t.Errorf("%s is durable", kind)
		}
	}
}
