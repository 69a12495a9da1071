package event

import "encoding/json"

// Redacted returns a function that emits events whose JSON form has been redacted. redact returns its
// argument if there is nothing to redact, and valid JSON.
func Redacted(redact func([]byte) []byte, emit func(Event)) func(Event) {
	return func(e Event) {
		text, err := json.Marshal(e)
		if err != nil {
			emit(e) // it can't be written either
			return
		}
		if found := redact(text); &found[0] != &text[0] {
			e = decoded(e, found)
		}
		emit(e)
	}
}

// decoded returns the event that e is after redaction, from its JSON text.
func decoded(e Event, text []byte) Event {
	var clean Event
	if err := json.Unmarshal(text, &clean); err != nil {
		return Event{Type: WarningIssued, Job: e.Job, Warning: &Warning{Message: "dropped an event of type " + string(e.Type) + ": a secret in it can't be redacted"}}
	}
	return clean
}
