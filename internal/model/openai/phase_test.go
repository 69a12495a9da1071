package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// streamed returns the events of a Responses stream with these items.
func streamed(items ...string) string {
	var b strings.Builder
	for i, it := range items {
		b.WriteString(event(`{"type":"response.output_item.done","output_index":` + string(rune('0'+i)) + `,"item":` + it + `}`))
	}
	return b.String() + event(`{"type":"response.completed","response":{"status":"completed","output":[]}}`)
}

const (
	commentary = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"I will look.","annotations":[]}]}`
	finalSaid  = `{"type":"message","id":"msg_2","role":"assistant","status":"completed","phase":"final_answer","content":[{"type":"output_text","text":"It is done.","annotations":[]}]}`
	lookCall   = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"list","arguments":"{}","status":"completed"}`
	custom     = `{"type":"custom_tool_call","id":"ctc_1","call_id":"call_2","name":"search","input":"go"}`
	sealedItem = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"}`
	openItem   = `{"type":"reasoning","id":"rs_1","summary":[]}`
)

// TestAPhaseOfAMessageIsSentBack covers what becomes of messages with a phase: in the response, and in the next
// request.
func TestAPhaseOfAMessageIsSentBack(t *testing.T) {
	const plain = `{"content":"I will look.","role":"assistant","phase":"commentary"},{"arguments":"{}","call_id":"call_1","name":"list","type":"function_call"}`
	tests := []struct {
		name            string
		items           []string
		text, reasoning string
		sent            string // of the response in the next request
	}{
		{"commentary and a call", []string{commentary, lookCall}, "I will look.", "", plain},
		{"the same after reasoning that is not sealed", []string{openItem, commentary, lookCall}, "I will look.", "", plain},
		{"the same after sealed reasoning", []string{sealedItem, commentary, lookCall}, "I will look.", "", sealedItem + "," + commentary + "," + lookCall},
		{"commentary and the final message", []string{commentary, finalSaid}, "It is done.", "I will look.", `{"content":"I will look.","role":"assistant","phase":"commentary"},{"content":"It is done.","role":"assistant","phase":"final_answer"}`},
		{"a call that is no function's", []string{sealedItem, custom, strings.ReplaceAll(finalSaid, `"phase":"final_answer",`, "")}, "It is done.", "", `{"content":"It is done.","role":"assistant"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tape := &wiretest.Canned{Kind: eventStream, Body: func() io.Reader { return strings.NewReader(streamed(test.items...)) }}
			m := Responses(Options{BaseURL: "http://model.test", Model: "m", HTTPClient: &http.Client{Transport: tape}}, Dialect{Effort: AnyEffort()})
			got, err := m.Stream(t.Context(), model.Request{}, nil)
			if err != nil || got.Text != test.text || got.Reasoning != test.reasoning {
				t.Fatalf("got %+v, error %v", got, err)
			}
			said := model.Message{Role: model.Assistant, Text: got.Text, Reasoning: got.Reasoning, Calls: got.Calls, State: got.State}
			if _, err := m.Stream(t.Context(), model.Request{Messages: []model.Message{said}}, nil); err != nil {
				t.Fatal(err)
			}
			sent, _, _ := strings.Cut(strings.TrimPrefix(string(tape.Sent), `{"input":[`), `],"store"`)
			if i := strings.Index(sent, `],"model"`); i >= 0 {
				sent = sent[:i]
			}
			if diff := cmp.Diff(test.sent, sent); diff != "" {
				t.Errorf("sent back (-want +got):\n%s", diff)
			}
		})
	}
}
