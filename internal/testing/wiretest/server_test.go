package wiretest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
)

const played = `
version: 1
turns:
  - error: {status: 429, message: slow down, retry_after: 2s}
  - text: näher
    calls: [{tool: bash, args: {a: 1}}]
    usage: {input: 10, output: 5, reasoning: 1, cache_read: 4, cache_write: 2}
  - {expect: [result], text: done}
agents:
  explore: {turns: [{text: found}]}
`

func newServer(t *testing.T) *Server {
	t.Helper()
	s, err := script.Parse([]byte(played), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return New(s)
}

// alone serves without the check that nothing unexpected came.
func alone(t *testing.T, s *Server) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL + "/v1/chat/completions"
}

// post sends a request with the given messages, written as JSON.
func post(t *testing.T, url, model, messages string) (status int, header http.Header, body string, err error) {
	t.Helper()
	text := fmt.Sprintf(`{"model":%q,"stream":true,"stream_options":{"include_usage":true},"messages":[%s]}`, model, messages)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	data, err := io.ReadAll(resp.Body)
	if closed := resp.Body.Close(); closed != nil {
		t.Error(closed)
	}
	return resp.StatusCode, resp.Header, string(data), err
}

const (
	user     = `{"role":"system","content":"s"},{"role":"user","content":"go"}`
	answered = user + `,{"role":"assistant","content":null},{"role":"tool","content":"result","tool_call_id":"call_2_1"}`
)

func TestRequestIsOpenAICompatible(t *testing.T) {
	s := newServer(t)
	s.Chunk = 3
	url := alone(t, s)
	status, header, body, err := post(t, url, "m", user)
	if err != nil || status != 429 || header.Get("Retry-After-Ms") != "2000" || body != `{"error":{"message":"slow down","type":"scripted","code":"rate_limit_exceeded"}}`+"\n" {
		t.Errorf("the error turn: %d %v %q, error %v", status, header, body, err)
	}
	status, header, body, err = post(t, url, "m", user)
	if err != nil || status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("the turn: %d %v, error %v", status, header, err)
	}
	head := `data: {"id":"chatcmpl-script","object":"chat.completion.chunk","created":0,"model":"m","choices":[`
	choice := func(delta string) string {
		return head + `{"index":0,"delta":` + delta + `,"finish_reason":null}],"usage":null}`
	}
	want := strings.Join([]string{
		choice(`{"role":"assistant","content":""}`),
		choice(`{"content":"nä"}`), choice(`{"content":"her"}`),
		choice(`{"tool_calls":[{"index":0,"id":"call_2_1","type":"function","function":{"name":"bash","arguments":""}}]}`),
		choice(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a"}}]}`),
		choice(`{"tool_calls":[{"index":0,"function":{"arguments":"\":1"}}]}`),
		choice(`{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`),
		head + `{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}`,
		head + `],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":1}}}`,
		"data: [DONE]", "",
	}, "\n\n")
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(money.Usage{Input: 10, Output: 5, Reasoning: 1, CacheRead: 4, CacheWrite: 2}, s.Usage()); diff != "" || s.Served() != 2 {
		t.Errorf("%d served, usage (-want +got):\n%s", s.Served(), diff)
	}
}

func TestConversationsAreIdentifiedByResponses(t *testing.T) {
	s := newServer(t)
	url := alone(t, s)
	if _, _, _, err := post(t, url, "m", user); err != nil { // the error turn
		t.Fatal(err)
	}
	var jobs sync.WaitGroup
	for range 8 {
		jobs.Go(func() {
			for _, step := range []struct{ messages, want string }{{user, "call_2_1"}, {answered, `"content":"done"`}, {answered, `"content":"done"`}} {
				if _, _, body, err := post(t, url, "m", step.messages); err != nil || !strings.Contains(body, step.want) {
					t.Errorf("want %s, got error %v and %s", step.want, err, body)
				}
			}
		})
	}
	jobs.Wait()
	if problems := s.Problems(); len(problems) != 0 {
		t.Errorf("problems: %v", problems)
	}
}

func TestTheModelOfAnAgentPlaysItsTurns(t *testing.T) {
	url := alone(t, newServer(t))
	if _, _, body, err := post(t, url, "explore", user); err != nil || !strings.Contains(body, "found") {
		t.Errorf("got error %v and %s", err, body)
	}
}

func TestUnexpectedRequestIsAProblem(t *testing.T) {
	s := newServer(t)
	s.Keep = true
	url := alone(t, s)
	for _, messages := range []string{
		strings.Replace(answered, "result", "nothing", 1),
		answered + `,{"role":"assistant","content":"done"}`,
		`3`,
	} {
		if status, _, body, err := post(t, url, "m", messages); err != nil || status != 400 {
			t.Errorf("%s: %d %s, error %v", messages, status, body, err)
		}
	}
	if problems := s.Problems(); len(problems) != 3 || !strings.Contains(problems[0].Error(), "s.yaml:8: turn 3 expects") || !strings.Contains(problems[1].Error(), "unexpected request") || !strings.Contains(problems[2].Error(), "parse the request") {
		t.Errorf("problems: %v", problems)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests were kept, want those that could be read", n)
	}
	if status, _, _, err := post(t, url+"/x", "m", user); err != nil || status != 404 {
		t.Errorf("another path gives %d, error %v", status, err)
	}
}

func TestFaults(t *testing.T) {
	first := func(b []byte) []byte { return bytes.ToUpper(b[:20]) }
	tests := []struct {
		name   string
		fault  Fault
		status int
		body   string
		err    error
	}{
		{"a status", Fault{Status: 503, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>"}, 503, "<html>", nil},
		{"other bytes", Fault{Rewrite: first}, 200, `DATA: {"ID":"CHATCMP`, nil},
		{"other bytes, one by one", Fault{Rewrite: first, Chunk: 1}, 200, `DATA: {"ID":"CHATCMP`, nil},
		{"a cut", Fault{Cut: 20}, 200, `data: {"id":"chatcmp`, io.ErrUnexpectedEOF},
		{"a cut of pieces", Fault{Cut: 20, Chunk: 7}, 200, `data: {"id":"chatcmp`, io.ErrUnexpectedEOF},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			s.Fault = First(1, test.fault)
			url := alone(t, s)
			status, _, body, err := post(t, url, "explore", user)
			if status != test.status || body != test.body || !errors.Is(err, test.err) {
				t.Errorf("got %d %q and error %v", status, body, err)
			}
			if status, _, body, err := post(t, url, "explore", user); status != 200 || err != nil || !strings.Contains(body, "[DONE]") {
				t.Errorf("the request after it: %d %q, error %v", status, body, err)
			}
		})
	}
}

func TestEachProtocolHasItsPath(t *testing.T) {
	for _, test := range []struct{ path, body, refused, answered string }{
		{
			"/responses", `{"model":"m","stream":true,"instructions":"s","input":[{"role":"user","content":[{"type":"input_text","text":"go"}]}]}`,
			`{"error":{"message":"slow down","type":"scripted","code":"rate_limit_exceeded"}}`,
			`"usage":{"input_tokens":10,"input_tokens_details":{"cache_write_tokens":2,"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":15}`,
		},
		{
			"/messages", `{"model":"m","stream":true,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"go"}]}`,
			`{"error":{"message":"slow down","type":"rate_limit_error"},"type":"error"}`,
			`"usage":{"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"input_tokens":4,"output_tokens":1}`,
		},
	} {
		t.Run(test.path, func(t *testing.T) {
			server := httptest.NewServer(newServer(t))
			defer server.Close()
			for _, want := range []string{test.refused, test.answered} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+test.path, strings.NewReader(test.body))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !strings.Contains(string(got), want) {
					t.Errorf("error %v, want in it %s:\n%s", err, want, got)
				}
			}
		})
	}
}

func TestConversationsOfEachWireAreTheSame(t *testing.T) {
	want := []Message{{"system", "s", ""}, {"user", "go", ""}, {"assistant", "so", ""}, {"tool", "result", "a"}, {"user", "on", ""}}
	for w, body := range map[Wire]string{
		Chat:      `{"stream":true,"messages":[{"role":"system","content":[{"type":"text","text":"s"}]},{"role":"user","content":"go"},{"role":"assistant","content":"so"},{"role":"tool","tool_call_id":"a","content":"result"},{"role":"user","content":"on"}]}`,
		Responses: `{"stream":true,"instructions":"s","input":[{"role":"user","content":"go"},{"type":"reasoning"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"so"}]},{"type":"function_call","call_id":"a"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"result"}]},{"role":"user","content":"on"}]}`,
		Messages:  `{"stream":true,"system":"s","messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"a"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"result"},{"type":"text","text":"on"}]}]}`,
	} {
		got, err := parse(w, nil, []byte(body))
		if diff := cmp.Diff(want, got.Messages); err != nil || diff != "" || got.Responses() != 1 {
			t.Errorf("%s: error %v, %d answers (-want +got):\n%s", w, err, got.Responses(), diff)
		}
	}
}

func TestFaultsHaveNames(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Cases() {
		if c.Name == "" || names[c.Name] {
			t.Errorf("invalid or duplicate name %q", c.Name)
		}
		names[c.Name] = true
		if again, ok := CaseOf(c.Name); !ok || again.Name != c.Name || again.Class != c.Class {
			t.Errorf("%s is found as %+v", c.Name, again)
		}
	}
	if len(names) < 30 {
		t.Errorf("there are %d", len(names))
	}
	if _, ok := CaseOf("nothing"); ok {
		t.Error("nothing is a fault")
	}
}

// TestFaultsChangeSomething makes sure that a rewriting is one on every wire that
// it is for: one that finds nothing to change would be no fault at all.
func TestFaultsChangeSomething(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	turns, err := parsed(t, faulty).Turns("")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []Wire{Chat, Responses, Messages} {
		n := 0
		for _, c := range Cases() {
			if c.Wire != "" && c.Wire != w {
				continue
			}
			n++
			req := Request{Wire: w}
			req.StreamOptions.IncludeUsage = true
			plain := stream(req, &turns[0], 0)
			if c.Fault.Rewrite != nil && c.Name != "plain-label" && bytes.Equal(c.Fault.Rewrite(bytes.Clone(plain)), plain) {
				t.Errorf("%s changes nothing on %s", c.Name, w)
			}
		}
		t.Logf("%d faults on %s", n, w)
	}
}
