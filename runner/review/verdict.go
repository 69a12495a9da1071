package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/textcut"
)

const (
	maxObjections = 20
	maxObjection  = 1000 // bytes
)

// unnamed is the objection of a reviewer that rejects changes without one.
const unnamed = "The reviewer rejected the changes without an objection."

// Schema returns the JSON Schema of a reviewer's final message. Every property is required, as strict modes of providers
// demand.
func Schema() map[string]any {
	return map[string]any{
		"type": "object", "additionalProperties": false,
		"required": []any{"verdict", "objections"},
		"properties": map[string]any{
			"verdict":    map[string]any{"type": "string", "enum": []any{string(event.ReviewAccepted), string(event.ReviewRejected)}, "description": "rejected if there is an objection"},
			"objections": map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "Reasons against the changes as they are, each with file and line; empty if accepted"},
		},
	}
}

// Read returns the verdict of a final message that matches the schema, and its objections. document is its JSON. It is an error
// if the message has two verdicts. Changes with objections are rejected.
func Read(message string, document json.RawMessage) (event.Verdict, []string, error) {
	if strings.Count(message, `"verdict"`) > 1 {
		return event.NotReviewed, nil, errors.New("the final message has more than one verdict")
	}
	var d struct {
		Verdict    event.Verdict
		Objections []string
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return event.NotReviewed, nil, fmt.Errorf("read the verdict: %w", err)
	}
	var objections []string
	for _, o := range d.Objections {
		if o = textcut.Head(strings.TrimSpace(o), maxObjection, "…"); o != "" && len(objections) < maxObjections {
			objections = append(objections, o)
		}
	}
	switch {
	case d.Verdict == event.ReviewRejected && len(objections) == 0:
		objections = []string{unnamed}
	case d.Verdict == event.ReviewAccepted && len(objections) > 0:
		d.Verdict = event.ReviewRejected
	}
	return d.Verdict, objections, nil
}

// Feedback returns the prompt of the attempt after a review that rejected the changes.
func Feedback(objections []string) string {
	var b strings.Builder
	b.WriteString("The verify commands passed, and a reviewer has objections to your changes. Fix what is right about them, and finish again. State in the final message which of them you did not follow, and why.\n")
	for _, o := range objections {
		fmt.Fprintf(&b, "\n<objection>\n%s\n</objection>\n", frame(o))
	}
	return b.String()
}

// frame makes a text one that can't close its block.
func frame(text string) string { return strings.ReplaceAll(text, "</", `<\/`) }
