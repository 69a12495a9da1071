package event

import (
	"bytes"
	"strings"
	"testing"
)

func TestRedactedEventsHaveNoSecret(t *testing.T) {
	without := func(text []byte) []byte {
		if !bytes.Contains(text, []byte("secret")) {
			return text
		}
		return bytes.ReplaceAll(text, []byte("secret"), []byte("[redacted]"))
	}
	broken := func(text []byte) []byte { return append([]byte("{"), text...) }
	var got []Event
	emit := func(e Event) { got = append(got, e) }
	for _, redact := range []func([]byte) []byte{without, broken} {
		Redacted(redact, emit)(Event{Type: WarningIssued, Job: "j", Warning: &Warning{Message: "the secret is out"}})
	}
	Redacted(without, emit)(Event{Type: WarningIssued, Warning: &Warning{Message: "nothing"}})
	if len(got) != 3 || got[0].Warning.Message != "the [redacted] is out" || got[2].Warning.Message != "nothing" {
		t.Fatalf("%+v", got)
	}
	if lost := got[1]; lost.Job != "j" || strings.Contains(lost.Warning.Message, "the secret") || !strings.Contains(lost.Warning.Message, "can't be redacted") {
		t.Errorf("an event that can't be redacted: %+v", lost)
	}
}
