package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// completed is the end of a response that contains all of it.
const completed = `{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}}`

// TestReasoningSummariesAreOmittedIfRefused plays OpenAI to an organisation
// that is not verified.
func TestReasoningSummariesAreOmittedIfRefused(t *testing.T) {
	var asked []bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		summary := bytes.Contains(body, []byte(`"summary":"auto"`))
		asked = append(asked, summary)
		if summary {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, event(completed))
	}))
	defer server.Close()
	m := Responses(Options{BaseURL: server.URL, Model: "gpt-5"}, Dialect{Effort: AnyEffort()})
	for range 2 {
		if got, err := m.Stream(t.Context(), model.Request{}, nil); err != nil || got.Text != "ok" {
			t.Errorf("got %+v, error %v", got, err)
		}
	}
	if diff := cmp.Diff([]bool{true, false, false}, asked); diff != "" {
		t.Errorf("asked for summaries (-want +got):\n%s", diff)
	}
}

// TestSearchesAreCounted covers gateways that add a search of the web.
func TestSearchesAreCounted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, event(`{"type":"response.completed","response":{"status":"completed","service_tier":"priority","usage":{"input_tokens":10,"output_tokens":2,"total_tokens":12},"output":[`+
			`{"type":"web_search_call","id":"a","status":"completed"},{"type":"web_search_call","id":"b","status":"completed"},{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}}`))
	}))
	defer server.Close()
	got, err := Responses(Options{BaseURL: server.URL, Model: "gpt-5"}, Dialect{}).Stream(t.Context(), model.Request{}, nil)
	if want := (money.Usage{Input: 10, Output: 2, Searches: 2, Terms: "priority"}); err != nil || got.Usage == nil || *got.Usage != want {
		t.Errorf("got %+v, error %v", got.Usage, err)
	}
}

// TestArgumentsAsAnObject covers servers that don't send a call's arguments as text.
func TestArgumentsAsAnObject(t *testing.T) {
	const call = `{"type":"function_call","id":"i","call_id":"a","name":"bash"`
	for name, body := range map[string]string{
		"complete":                        event(`{"type":"response.completed","response":{"status":"completed","output":[` + call + `,"arguments":{"x":1}}]}}`),
		"of an item":                      event(`{"type":"response.output_item.done","output_index":0,"item":`+call+`,"arguments":{"x":1}}}`) + event(`{"type":"response.completed","response":{"status":"completed","output":[]}}`),
		"in a delta":                      event(`{"type":"response.output_item.added","output_index":0,"item":`+call+`}}`) + event(`{"type":"response.function_call_arguments.delta","output_index":0,"delta":{"x":1}}`) + event(`{"type":"response.completed","response":{"status":"completed","output":[]}}`),
		"after the deltas":                event(`{"type":"response.output_item.added","output_index":0,"item":`+call+`}}`) + event(`{"type":"response.function_call_arguments.done","output_index":0,"arguments":{"x":1}}`) + event(`{"type":"response.completed","response":{"status":"completed","output":[]}}`),
		"of a response that is no stream": `{"status":"completed","output":[` + call + `,"arguments":{"x":1}}]}`,
	} {
		client := &http.Client{Transport: &wiretest.Canned{Kind: eventStream, Body: func() io.Reader { return strings.NewReader(body) }}}
		if body[0] == '{' {
			client = &http.Client{Transport: &wiretest.Canned{Kind: "application/json", Body: func() io.Reader { return strings.NewReader(body) }}}
		}
		got, err := Responses(Options{BaseURL: "http://model.test/v1", HTTPClient: client, Model: "gpt-5"}, Dialect{}).Stream(t.Context(), model.Request{}, nil)
		if want := []model.ToolCall{bashA}; err != nil || cmp.Diff(want, got.Calls) != "" {
			t.Errorf("%s: got %+v, error %v", name, got.Calls, err)
		}
	}
}

// TestReasoningOfOtherModelIsNotSent makes sure that what one model sealed is
// not shown to another.
func TestReasoningOfOtherModelIsNotSent(t *testing.T) {
	const sealed = `[{"type":"reasoning","encrypted_content":"sealed"},{"type":"function_call","call_id":"a","name":"bash","arguments":"{}"}]`
	tests := []struct {
		name  string
		wire  string
		data  string
		calls []model.ToolCall
		goes  bool
	}{
		{"its own", "responses/m", sealed, []model.ToolCall{{ID: "a", Name: "bash", Input: "{}"}}, true},
		{"another model's", "responses/n", sealed, []model.ToolCall{{ID: "a", Name: "bash", Input: "{}"}}, false},
		{"another wire's", "chat/m", sealed, []model.ToolCall{{ID: "a", Name: "bash", Input: "{}"}}, false},
		{"that of other calls", "responses/m", sealed, []model.ToolCall{{ID: "b", Name: "bash", Input: "{}"}}, false},
		{"that of fewer calls", "responses/m", sealed, nil, false},
		{"something else", "responses/m", `{"a":1}`, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tape := &wiretest.Canned{Kind: eventStream, Body: func() io.Reader { return strings.NewReader(event(completed)) }}
			m := Responses(Options{BaseURL: "http://model.test", Model: "m", HTTPClient: &http.Client{Transport: tape}}, Dialect{Effort: AnyEffort()})
			state := &model.State{Wire: test.wire, Data: json.RawMessage(test.data)}
			req := model.Request{Messages: []model.Message{{Role: model.Assistant, Text: "x", Calls: test.calls, State: state}}}
			if _, err := m.Stream(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			if goes := bytes.Contains(tape.Sent, []byte("sealed")); goes != test.goes {
				t.Errorf("it goes: %v, want %v: %s", goes, test.goes, tape.Sent)
			}
		})
	}
}

// FuzzResponses serves any body: there is a response that holds together or a
// classified error, and it is the same however the bytes arrive.
func FuzzResponses(f *testing.F) {
	files, err := filepath.Glob("testdata/responses-*.sse")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(event(`{"type":"response.output_item.done","item":{"type":"function_call","name":"a"}}`) + event(completed)))
	f.Add([]byte(event(`{"type":"response.function_call_arguments.delta","output_index":4,"delta":"{}"}`) + event(completed)))
	tape := &wiretest.Canned{Kind: eventStream}
	m := Responses(Options{BaseURL: "http://model.test", HTTPClient: &http.Client{Transport: tape}}, Dialect{Effort: AnyEffort()})
	f.Fuzz(func(t *testing.T, body []byte) {
		tape.Body = func() io.Reader { return bytes.NewReader(body) }
		var deltas []model.Delta
		resp, err := m.Stream(t.Context(), model.Request{}, func(d model.Delta) { deltas = append(deltas, d) })
		tape.Body = func() io.Reader { return iotest.OneByteReader(bytes.NewReader(body)) }
		again, errAgain := m.Stream(t.Context(), model.Request{}, nil)
		if diff := cmp.Diff(resp, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Errorf("byte by byte it is different: %v, %v (-whole +bytes):\n%s", err, errAgain, diff)
		}
		checkResponse(t, resp, err)
		if err == nil {
			checkDeltas(t, deltas, resp)
		}
	})
}

// checkResponse fails unless there is a classified error or a response whose calls
// have names and ids of their own.
func checkResponse(t *testing.T, resp model.Response, err error) {
	t.Helper()
	if err != nil {
		if model.ClassOf(err) == "" {
			t.Errorf("error %v has no class", err)
		}
		return
	}
	if !utf8.ValidString(resp.Text + resp.Reasoning) {
		t.Errorf("the response is not UTF-8: %q, %q", resp.Text, resp.Reasoning)
	}
	ids := map[string]bool{}
	for _, c := range resp.Calls {
		if c.ID == "" || c.Name == "" || ids[c.ID] || !utf8.ValidString(c.Input) {
			t.Errorf("call %+v has no name, no id or one that was used, or is no UTF-8", c)
		}
		ids[c.ID] = true
	}
}
