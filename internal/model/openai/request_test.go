package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// sent returns what goes over the wire for req.
func sent(t *testing.T, o Options, req model.Request) wiretest.Request {
	t.Helper()
	s, err := script.Parse([]byte("version: 1\nturns: [{text: a}, {text: b}, {text: c}, {text: d}]"), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server := wiretest.New(s)
	server.Keep = true
	o.BaseURL = wiretest.Serve(t, server)
	if _, err := New(o).Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	requests := server.Requests()
	if len(requests) != 1 {
		t.Fatalf("%d requests came, want 1", len(requests))
	}
	return requests[0]
}

var (
	half   = 0.5
	sample = model.Request{
		System: "be good",
		Messages: []model.Message{
			{Role: model.User, Text: "look <here> & there"},
			{Role: model.Assistant, Reasoning: "hm", Calls: []model.ToolCall{{ID: "a", Name: "bash", Input: `{"x": 1`}, {ID: "b", Name: "list"}}},
			{Role: model.ToolRole, CallID: "a", Tool: "bash", Text: "broken JSON", Failed: true},
			{Role: model.ToolRole, CallID: "b", Tool: "list"},
			{Role: model.Assistant, Text: "and now", Calls: []model.ToolCall{{ID: "c", Name: "bash", Input: `{"x":1}`}}},
			{Role: model.ToolRole, CallID: "c", Tool: "bash", Text: "ok"},
			{Role: model.Assistant},
			{Role: model.User, Text: ""},
		},
		Tools: []model.ToolSpec{
			{Name: "bash", Description: "runs", Schema: map[string]any{"type": "object", "required": []string{"x"}, "properties": map[string]any{"x": map[string]any{"type": "integer"}, "a": map[string]any{"type": "string"}}}},
			{Name: "list", Schema: map[string]any{"type": "object"}},
		},
		Sampling: model.Sampling{MaxOutput: 1000, Temperature: &half},
	}
)

func TestARequestHasAllMessagesAndTools(t *testing.T) {
	const want = `{
  "messages": [
    {"content": "be good", "role": "system"},
    {"content": "look <here> & there", "role": "user"},
    {"role": "assistant", "tool_calls": [
      {"id": "a", "function": {"arguments": "{\"x\": 1", "name": "bash"}, "type": "function"},
      {"id": "b", "function": {"arguments": "{}", "name": "list"}, "type": "function"}]},
    {"content": "broken JSON", "tool_call_id": "a", "role": "tool"},
    {"content": "", "tool_call_id": "b", "role": "tool"},
    {"content": "and now", "role": "assistant", "tool_calls": [
      {"id": "c", "function": {"arguments": "{\"x\":1}", "name": "bash"}, "type": "function"}]},
    {"content": "ok", "tool_call_id": "c", "role": "tool"},
    {"content": "", "role": "assistant"},
    {"content": "", "role": "user"}
  ],
  "model": "m-1",
  "max_completion_tokens": 1000,
  "temperature": 0.5,
  "stream_options": {"include_usage": true},
  "tools": [
    {"type": "function", "function": {"name": "bash", "description": "runs", "parameters": {"type": "object", "required": ["x"], "properties": {"a": {"type": "string"}, "x": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "list", "parameters": {"type": "object"}}}
  ],
  "stream": true
}`
	got := sent(t, Options{Model: "m-1", APIKey: "sk-1", Header: map[string]string{"X-Title": "millhand"}}, sample)
	var wanted, came any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got.Body, &came); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, came); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if auth, title := got.Header.Get("Authorization"), got.Header.Get("X-Title"); auth != "Bearer sk-1" || title != "millhand" {
		t.Errorf("got Authorization %q and X-Title %q", auth, title)
	}
}

func TestMinimalRequestOmitsOptionalFields(t *testing.T) {
	got := sent(t, Options{Model: "m"}, model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}})
	for _, field := range []string{"tools", "temperature", "max_completion_tokens", "system", "parallel_tool_calls", "store"} {
		if bytes.Contains(got.Body, []byte(`"`+field+`"`)) {
			t.Errorf("the body holds %s: %s", field, got.Body)
		}
	}
	if auth, ok := got.Header["Authorization"]; ok {
		t.Errorf("without a key there is an Authorization %q", auth)
	}
}

func TestRequestsAreAppendOnly(t *testing.T) {
	first := sent(t, Options{Model: "m"}, sample).Body
	if again := sent(t, Options{Model: "m"}, sample).Body; !bytes.Equal(first, again) {
		t.Errorf("the same request gives\n%s\nand\n%s", first, again)
	}
	longer := sample
	longer.Messages = append(longer.Messages[:len(longer.Messages):len(longer.Messages)], model.Message{Role: model.User, Text: "more"})
	next := sent(t, Options{Model: "m"}, longer).Body
	history, _, _ := bytes.Cut(first, []byte(`],"model"`))
	if !bytes.HasPrefix(next, history) {
		t.Errorf("the longer conversation does not begin as before:\n%s\n%s", history, next)
	}
}

func TestTheEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET"} {
		t.Setenv(name, "of-the-environment")
	}
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: of-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/of-the-environment")
	got := sent(t, Options{Model: "m"}, model.Request{})
	for name, values := range got.Header {
		if strings.Contains(strings.Join(values, " "), "of-the-environment") {
			t.Errorf("header %s is %q", name, values)
		}
	}
}
