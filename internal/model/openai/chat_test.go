package openai

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

func TestAnOutputByTool(t *testing.T) {
	schema := map[string]any{"type": "object"}
	body := toolDelta(`{"index":0,"id":"a","function":{"name":"`+wire.OutputTool+`","arguments":"{\"ok\":true}"}}`) + ends
	for _, output := range []map[string]any{nil, schema} {
		tape := &wiretest.Canned{Kind: eventStream, Body: func() io.Reader { return strings.NewReader(body) }}
		m := Chat(Options{BaseURL: "http://model.test", HTTPClient: &http.Client{Transport: tape}}, Dialect{})
		got, err := m.Stream(t.Context(), model.Request{Output: output}, nil)
		want := said(`{"ok":true}`)
		if output == nil { // then it is a call like any
			want = said("", calling(model.ToolCall{ID: "a", Name: wire.OutputTool, Input: `{"ok":true}`}))
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("schema %v: error %v (-want +got):\n%s", output, err, diff)
		}
		if offered := bytes.Contains(tape.Sent, []byte(wire.OutputTool)); offered != (output != nil) {
			t.Errorf("schema %v: the tool is offered: %v", output, offered)
		}
	}
}

func TestIDsOfNineLettersAndDigits(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range []string{"", "call_1", "call_2", "call-1", "é", "abc", "abcdefghi", "abcdefghij", strings.Repeat("x", 100)} {
		short := shortID(id)
		if len(short) != 9 || strings.Trim(short, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || seen[short] || short != shortID(short) {
			t.Errorf("%q becomes %q", id, short)
		}
		seen[short] = true
	}
	if got := shortID("abcdefghi"); got != "abcdefghi" {
		t.Errorf("an id that fits becomes %q", got)
	}
}

// TestReportedCostTakesPrecedence prices what a provider has priced
// already.
func TestReportedCostTakesPrecedence(t *testing.T) {
	m, _ := served(t, always(wiretest.Fault{Rewrite: func(b []byte) []byte {
		return bytes.Replace(b, []byte(`"total_tokens":15`), []byte(`"total_tokens":15,"cost":0.25`), 1)
	}}), Options{})
	m = model.Priced(m, func(money.Usage) (money.USD, bool) { return 1000 * money.Dollar, true })
	if got, err := m.Stream(t.Context(), model.Request{}, nil); err != nil || got.CostUSD == nil || *got.CostUSD != money.Dollar/4 {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func TestACompleteResponseHasADeadline(t *testing.T) {
	drip := wiretest.Fault{Chunk: 1, Drip: 5 * time.Millisecond}
	m, _ := served(t, wiretest.First(1, drip), Options{TotalTimeout: 100 * time.Millisecond})
	if _, err := m.Stream(t.Context(), model.Request{}, nil); model.ClassOf(err) != model.ClassUnavailable || !strings.Contains(err.Error(), "timed out after 100ms") {
		t.Errorf("got %v, want that the time is up", err)
	}
}

func TestTheQueryGoesWithARequestAndStaysOutOfErrors(t *testing.T) {
	got := sent(t, Options{Model: "m", Query: map[string]string{"api-version": "v1"}}, sample)
	if got.Query != "api-version=v1" {
		t.Errorf("the query is %q", got.Query)
	}
	failed := refused(t, 401, nil, `{"error":{"message":"bad key-in-query"}}`, func(o *Options) { o.Query = map[string]string{"key": "key-in-query"} })
	if strings.Contains(failed.Error(), "key-in-query") {
		t.Errorf("error %q tells the query", failed)
	}
}

// grown is a conversation as an agent has it, of n turns.
func grown(n int) model.Request {
	req := model.Request{System: strings.Repeat("be good ", 500), Messages: []model.Message{{Role: model.User, Text: "fix it"}}}
	for range 15 {
		req.Tools = append(req.Tools, model.ToolSpec{Name: "tool", Description: strings.Repeat("it does ", 100), Schema: map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}})
	}
	for range n {
		req.Messages = append(req.Messages,
			model.Message{Role: model.Assistant, Text: "so", Calls: []model.ToolCall{{ID: "a", Name: "tool", Input: `{"a":"b"}`}}},
			model.Message{Role: model.ToolRole, CallID: "a", Text: strings.Repeat("some \"result\"\n", 300)})
	}
	return req
}

// encoders returns what creates an encoder of each API.
func encoders() map[string]func() func(model.Request) (wire.Conversation, error) {
	return map[string]func() func(model.Request) (wire.Conversation, error){
		"chat": func() func(model.Request) (wire.Conversation, error) { return New(Options{}).(*chat).said },
		"responses": func() func(model.Request) (wire.Conversation, error) {
			return Responses(Options{}, Dialect{Effort: AnyEffort()}).(*responder).said
		},
	}
}

// BenchmarkEncode measures the encoding of a request of 201 messages: all of them, and
// two more than in the request before.
func BenchmarkEncode(b *testing.B) {
	all := grown(100)
	before := all
	before.Messages = all.Messages[:len(all.Messages)-2]
	for name, m := range encoders() {
		b.Run(name+"/all", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m()(all); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/two more", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				encode := m()
				if _, err := encode(before); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := encode(all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBody measures the encoding of a request that is two messages longer
// than the one before.
func BenchmarkBody(b *testing.B) {
	for name, m := range encoders() {
		b.Run(name, func(b *testing.B) {
			const turns = 200
			body := grown(turns)
			b.ReportAllocs()
			for b.Loop() {
				encode := m()
				for n := 1; n <= len(body.Messages); n += 2 {
					req := body
					req.Messages = body.Messages[:n]
					if _, err := encode(req); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(turns+1), "µs/turn")
		})
	}
}
