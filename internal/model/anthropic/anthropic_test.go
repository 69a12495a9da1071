package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

func event(data string) string { return "data: " + data + "\n\n" }

// The pieces of the streams below.
var (
	begins = event(`{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1}}}`)
	ends   = event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`) + event(`{"type":"message_stop"}`)
)

func thought(text, signature string) string {
	return event(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`) +
		event(fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":%q}}`, text)) +
		event(fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":%q}}`, signature))
}

func called(index int, id, name, input string) string {
	return event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":%s}}`, index, id, name, input))
}

// responding makes a model that gets body for a response, and what tapes it.
func responding(d Dialect, body string) (model.Model, *wiretest.Canned) {
	tape := &wiretest.Canned{Kind: wiretest.EventStream, Body: func() io.Reader { return strings.NewReader(body) }}
	return New(wire.Options{BaseURL: "http://model.test", Model: "m", HTTPClient: &http.Client{Transport: tape}}, d), tape
}

// sent returns the body of what goes over the wire for req.
func sent(t *testing.T, d Dialect, req model.Request) string {
	t.Helper()
	m, tape := responding(d, begins+ends)
	if _, err := m.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	return string(tape.Sent)
}

func TestUnsupportedRequestsAreRewritten(t *testing.T) {
	user, empty := model.Message{Role: model.User, Text: "hi"}, model.Message{Role: model.Assistant, Text: " \n"}
	tests := []struct {
		name     string
		messages []model.Message
		want     string
	}{
		{"an empty text", []model.Message{{Role: model.User}}, `{"content":[{"text":"(nothing)","cache_control":{"type":"ephemeral"},"type":"text"}],"role":"user"}`},
		{"an empty response", []model.Message{user, empty}, `{"content":[{"text":"(nothing)","type":"text"}],"role":"assistant"}`},
		{"an empty result", []model.Message{{Role: model.ToolRole, CallID: "a"}}, `{"content":[{"tool_use_id":"a","cache_control":{"type":"ephemeral"},"type":"tool_result"}],"role":"user"}`},
		{"an id of other letters", []model.Message{{Role: model.ToolRole, CallID: "a.b", Text: "x"}}, `"tool_use_id":"call_2e7336dc8eba87ef472df568"`},
		{"an unsupported file", []model.Message{{Role: model.User, Text: "see", Attachments: []model.Attachment{{Name: "a.tif", MIME: "image/tiff", Data: []byte("x")}}}}, `"text":"see\n\n[a.tif (image/tiff) omitted`},
		{"results come before words", []model.Message{user, {Role: model.ToolRole, CallID: "a", Text: "r"}}, `{"content":[{"tool_use_id":"a","content":[{"text":"r","type":"text"}],"type":"tool_result"},{"text":"hi","cache_control"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := sent(t, Dialect{}, model.Request{Messages: test.messages}); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want in it %s", got, test.want)
			}
		})
	}
}

// TestThinkingBudgetIsClamped holds the budget to at least 1024 tokens
// and less than the entire output, and thinking to turns that began with it.
func TestThinkingBudgetIsClamped(t *testing.T) {
	call := []model.ToolCall{{ID: "a", Name: "bash", Input: "{}"}}
	thought := &model.State{Wire: "messages/m", Data: json.RawMessage(`[{"type":"thinking","text":"hm","signature":"s"},{"type":"tool_use"}]`)}
	foreign := &model.State{Wire: "responses/gpt", Data: json.RawMessage(`[]`)}
	user, result := model.Message{Role: model.User, Text: "hi"}, model.Message{Role: model.ToolRole, CallID: "a", Text: "r"}
	response := func(s *model.State) model.Message {
		return model.Message{Role: model.Assistant, Calls: call, State: s}
	}
	first := []model.Message{user}
	tests := []struct {
		name      string
		effort    string
		maxOutput int
		messages  []model.Message
		want      string // "" if it is off
	}{
		{"all the budget", "high", 40_000, first, `"thinking":{"budget_tokens":16000,"type":"enabled"}`},
		{"half of a smaller output", "high", 9000, first, `"thinking":{"budget_tokens":4500,"type":"enabled"}`},
		{"the least", "low", 2048, first, `"thinking":{"budget_tokens":1024,"type":"enabled"}`},
		{"less than the least", "low", 2047, first, ""},
		{"next to nothing", "high", 1, first, ""},
		{"no effort", "", 9000, first, ""},
		{"a turn that began with it", "low", 9000, []model.Message{user, response(thought), result}, `"budget_tokens":4000`},
		{"and goes on without", "low", 9000, []model.Message{user, response(thought), result, response(nil), result}, `"budget_tokens":4000`},
		{"a turn that began without it", "low", 9000, []model.Message{user, response(nil), result}, ""},
		{"a turn that another model began", "low", 9000, []model.Message{user, response(foreign), result, response(thought), result}, ""},
		{"the turn after it", "low", 9000, []model.Message{user, response(foreign), result, user}, `"budget_tokens":4000`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := sent(t, Dialect{Thinking: ThinkingBudget}, model.Request{Messages: test.messages, Sampling: model.Sampling{MaxOutput: test.maxOutput, Effort: test.effort}})
			if on := strings.Contains(got, `"thinking":{"b`); on != (test.want != "") || !strings.Contains(got, test.want) {
				t.Errorf("got %s, want in it %s", got, test.want)
			}
		})
	}
}

func TestThereAreFourMarksAtMost(t *testing.T) {
	req := model.Request{System: "s", Tools: []model.ToolSpec{{Name: "a"}, {Name: "b"}}}
	for i := range 6 {
		req.Messages = append(req.Messages, model.Message{Role: model.User, Text: fmt.Sprint(i)}, model.Message{Role: model.Assistant, Text: "ok"})
		want := min(i+1, 2) + 2
		if got := strings.Count(sent(t, Dialect{}, req), `"cache_control"`); got != want {
			t.Errorf("after %d turns there are %d marks, want %d", i+1, got, want)
		}
	}
	if got := strings.Count(sent(t, Dialect{}, model.Request{}), `"cache_control"`); got != 0 {
		t.Errorf("an empty request has %d marks", got)
	}
}

func TestGrowingRequestChangesOnlyCacheMarks(t *testing.T) {
	m, tape := responding(Dialect{}, begins+ends)
	unmarked := func(req model.Request) string {
		if _, err := m.Stream(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		messages, _, _ := strings.Cut(string(tape.Sent), `],"max_tokens"`)
		return strings.ReplaceAll(messages, `"cache_control":{"type":"ephemeral"},`, "")
	}
	req := model.Request{Messages: []model.Message{{Role: model.User, Text: "q"}}}
	before := unmarked(req)
	for i := range 5 {
		id := fmt.Sprint(i)
		req.Messages = append(req.Messages,
			model.Message{Role: model.Assistant, Calls: []model.ToolCall{{ID: id, Name: "bash", Input: "{}"}}},
			model.Message{Role: model.ToolRole, CallID: id, Text: "result"})
		after := unmarked(req)
		if !strings.HasPrefix(after, before) {
			t.Fatalf("the longer conversation does not begin as before:\n%s\n%s", before, after)
		}
		before = after
	}
}

func TestAnOutputOfASchema(t *testing.T) {
	open := map[string]any{"type": "object"}
	shut := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{"a": map[string]any{"type": "array", "items": map[string]any{"type": "string"}}}}
	tests := []struct {
		name   string
		d      Dialect
		schema map[string]any
		byTool bool
	}{
		{"by the provider's own mode", Dialect{Output: true}, shut, false},
		{"an open one by a tool", Dialect{Output: true}, open, true},
		{"an open one within", Dialect{Output: true}, map[string]any{"type": "array", "items": open}, true},
		{"one with other keywords", Dialect{Output: true}, map[string]any{"type": "string", "pattern": "a"}, true},
		{"by a tool where there is no mode", Dialect{}, shut, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := sent(t, test.d, model.Request{Output: test.schema})
			if byTool := strings.Contains(got, wire.OutputTool); byTool != test.byTool || byTool == strings.Contains(got, "output_config") {
				t.Errorf("by tool: %v: %s", byTool, got)
			}
		})
	}
}

func TestTheStateOfAnOutputByTool(t *testing.T) {
	const sign = "sealed"
	response := called(1, "a", wire.OutputTool, `{"ok":true}`)
	tests := []struct {
		name string
		body string
		want model.Response
	}{
		{"is not kept: the text is another", thought("hm", sign) + response, model.Response{Text: `{"ok":true}`, Reasoning: "hm", Finish: model.FinishStop}},
		{"leaves the tool out beside other calls", thought("hm", sign) + response + called(2, "b", "bash", `{"x":1}`), model.Response{
			Reasoning: "hm", Finish: model.FinishTools, Calls: []model.ToolCall{{ID: "b", Name: "bash", Input: `{"x":1}`}},
			State: &model.State{Wire: "messages/m", Data: json.RawMessage(`[{"type":"thinking","text":"hm","signature":"sealed"},{"type":"tool_use"}]`)},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, _ := responding(Dialect{}, begins+test.body+ends)
			test.want.Usage = &money.Usage{Input: 10, Output: 2}
			got, err := m.Stream(t.Context(), model.Request{Output: map[string]any{"type": "object"}}, nil)
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestThinkingOfOtherModelIsNotSent(t *testing.T) {
	state := func(wire string) *model.State {
		return &model.State{Wire: wire, Data: json.RawMessage(`[{"type":"thinking","signature":"sealed"},{"type":"tool_use"}]`)}
	}
	call := []model.ToolCall{{ID: "a", Name: "bash", Input: "{}"}}
	for _, test := range []struct {
		wire  string
		calls []model.ToolCall
		goes  bool
	}{
		{"messages/m", call, true},
		{"messages/n", call, false},
		{"chat/m", call, false},
		{"messages/m", nil, false},
		{"messages/m", append(call, model.ToolCall{ID: "b", Name: "list"}), false},
	} {
		got := sent(t, Dialect{}, model.Request{Messages: []model.Message{{Role: model.Assistant, Text: "x", Calls: test.calls, State: state(test.wire)}}})
		if goes := strings.Contains(got, "sealed"); goes != test.goes {
			t.Errorf("%s with %d calls: it goes: %v, want %v", test.wire, len(test.calls), goes, test.goes)
		}
	}
}

// TestToolsOfTheProviderAreIgnored covers gateways that add a search of the web.
func TestToolsOfTheProviderAreIgnored(t *testing.T) {
	hosted := event(`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`) +
		event(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"go\"}"}}`) +
		event(`{"type":"content_block_stop","index":0}`) +
		event(`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}}`)
	m, _ := responding(Dialect{}, begins+hosted+called(2, "a", "bash", `{"x":1}`)+strings.Replace(ends, "end_turn", "tool_use", 1))
	got, err := m.Stream(t.Context(), model.Request{}, nil)
	if err != nil || len(got.Calls) != 1 || got.Calls[0].Name != "bash" || got.Calls[0].Input != `{"x":1}` {
		t.Errorf("got %+v, error %v", got, err)
	}
}

// TestWhatElseIsCharged covers what a response reports beside its tokens.
func TestWhatElseIsCharged(t *testing.T) {
	start := event(`{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1,"service_tier":"batch","inference_geo":"us"}}}`)
	end := strings.Replace(ends, `"output_tokens":2`, `"output_tokens":2,"server_tool_use":{"web_search_requests":3}`, 1)
	m, _ := responding(Dialect{}, start+event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}`)+end)
	got, err := m.Stream(t.Context(), model.Request{}, nil)
	if want := (money.Usage{Input: 10, Output: 2, Searches: 3, Terms: "us batch"}); err != nil || got.Usage == nil || *got.Usage != want {
		t.Errorf("got %+v, error %v", got.Usage, err)
	}
}

func TestInvalidStreams(t *testing.T) {
	tests := []struct {
		name, body string
		class      model.ErrorClass
		text       string
	}{
		{"a piece of a call that did not begin", begins + event(`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{"}}`) + ends, model.ClassProtocol, "did not begin"},
		{"a call without a name", begins + called(0, "a", "", `{"x":1}`) + ends, model.ClassProtocol, "without a name"},
		{"tool_use without calls", begins + strings.Replace(ends, "end_turn", "tool_use", 1), model.ClassProtocol, "none came"},
		{"two messages in one", begins + called(0, "a", "bash", `{"x":1}`) + begins + called(0, "b", "bash", `{"x":1}`) + ends, model.ClassProtocol, "second message"},
		{"message_stop alone", event(`{"type":"message_stop"}`), model.ClassProtocol, "empty"},
		{"too many blocks", begins + strings.Repeat(event(`{"type":"content_block_start","content_block":{"type":"text"}}`), mostBlocks+1) + ends, model.ClassProtocol, "more than"},
		{"an error in place of the stream", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ClassProtocol, "Overloaded"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, _ := responding(Dialect{}, test.body)
			_, err := m.Stream(t.Context(), model.Request{}, nil)
			if model.ClassOf(err) != test.class || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want class %s and %q", err, test.class, test.text)
			}
		})
	}
}

func TestNonStreamingResponse(t *testing.T) {
	m, tape := responding(Dialect{}, `{"type":"message","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"a","name":"bash","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4,"cache_read_input_tokens":5}}`)
	tape.Kind = "application/json"
	got, err := m.Stream(t.Context(), model.Request{}, nil)
	want := model.Response{Text: "so", Calls: []model.ToolCall{{ID: "a", Name: "bash", Input: `{"x":1}`}}, Finish: model.FinishTools, Usage: &money.Usage{Input: 8, Output: 4, CacheRead: 5}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	m, tape = responding(Dialect{}, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	tape.Kind = "application/json"
	if _, err := m.Stream(t.Context(), model.Request{}, nil); model.ClassOf(err) != model.ClassUnavailable {
		t.Errorf("got %v, want an overloaded provider", err)
	}
}

func TestTheEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_CUSTOM_HEADERS"} {
		t.Setenv(name, "X-Custom: of-the-environment")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/of-the-environment")
	s, err := script.Parse([]byte("version: 1\nturns: [{text: a}]"), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server := wiretest.New(s)
	server.Keep = true
	if _, err := New(wire.Options{BaseURL: wiretest.Serve(t, server)}, Dialect{}).Stream(t.Context(), model.Request{}, nil); err != nil {
		t.Fatal(err)
	}
	for name, values := range server.Requests()[0].Header {
		if strings.Contains(strings.Join(values, " "), "of-the-environment") {
			t.Errorf("header %s is %q", name, values)
		}
	}
}

func TestTheKeyStaysOutOfErrors(t *testing.T) {
	const key = "sk-ant-verysecret"
	server := wiretest.New(nil)
	server.Fault = func(int) wiretest.Fault {
		return wiretest.Fault{Status: 401, Body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + key + `"}}`}
	}
	_, err := New(wire.Options{BaseURL: wiretest.Serve(t, server), APIKey: key}, Dialect{}).Stream(t.Context(), model.Request{}, nil)
	if model.ClassOf(err) != model.ClassAuth || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "[key]") {
		t.Errorf("got %v, want a refusal without the key", err)
	}
}

// FuzzStream serves any body: there is a response that holds together or a
// classified error, and it is the same however the bytes arrive.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sse")
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
	f.Add([]byte(begins + thought("hm", "s") + called(1, "a", "bash", `{"x":1}`) + called(1, "a", "bash", "3") + ends))
	m, tape := responding(Dialect{}, "")
	f.Fuzz(func(t *testing.T, body []byte) {
		tape.Body = func() io.Reader { return bytes.NewReader(body) }
		shown := map[string]string{}
		resp, err := m.Stream(t.Context(), model.Request{}, func(d model.Delta) { shown[string(d.Kind)+d.Call] += d.Text })
		tape.Body = func() io.Reader { return iotest.OneByteReader(bytes.NewReader(body)) }
		again, errAgain := m.Stream(t.Context(), model.Request{}, nil)
		if diff := cmp.Diff(resp, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Errorf("byte by byte it is different: %v, %v (-whole +bytes):\n%s", err, errAgain, diff)
		}
		if err != nil {
			if model.ClassOf(err) == "" {
				t.Errorf("error %v has no class", err)
			}
			return
		}
		if !utf8.ValidString(resp.Text + resp.Reasoning) {
			t.Errorf("the response is not UTF-8: %q, %q", resp.Text, resp.Reasoning)
		}
		if shown["text"] != resp.Text || shown["reasoning"] != resp.Reasoning {
			t.Error("the deltas differ from the response")
		}
		ids := map[string]bool{}
		for _, c := range resp.Calls {
			if c.ID == "" || c.Name == "" || ids[c.ID] || shown["tool_input"+c.ID] != c.Input {
				t.Errorf("call %+v has no name, no id, one that was used, or other deltas", c)
			}
			ids[c.ID] = true
		}
	})
}
