package openai_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/openai"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/model/wiretest"
)

const conversation = `
version: 1
turns:
  - text: Let me look, näher.
    reasoning: The total is wrong; 合計.
    calls:
      - {tool: grep, args: {pattern: "func <Total>", nested: {z: 1, a: [1.5, null, true, "2"]}}}
      - {tool: read, raw: '{"filePath": "ca'}
      - {tool: list}
    usage: {input: 1200, output: 80, reasoning: 30, cache_read: 1000, cache_write: 100}
  - error: {status: 429, message: slow down, retry_after: 1500ms}
  - error: {class: unavailable}
  - expect: ["result of call_1_1", "result of call_1_3"]
    calls: [{tool: edit, args: {}}]
    usage: {input: 1300, output: 20}
  - error: {class: protocol}
  - text: "Fertig ✓"
    expect: ["^result of call_4_1$"]
    usage: {input: 1400, output: 5}
  - text: And so o
    expect: [go on]
    finish: length
    usage: {input: 1401, output: 6}
  - text: ""
    finish: content_filter
    usage: {input: 1402, output: 0}
  - error: {class: context}
  - error: {class: auth}
  - error: {class: quota}
  - error: {class: model}
  - error: {class: request}
`

// outcome is what a request came to, without the wording of errors, which is
// each model's own.
type outcome struct {
	Response   model.Response
	Class      model.ErrorClass
	Status     int
	RetryAfter time.Duration
	Deltas     map[string]string
}

// played asks m for n answers, feeding results back, and goes on after
// failures.
func played(t *testing.T, m model.Model, n int) []outcome {
	t.Helper()
	req := model.Request{System: "be good", Messages: []model.Message{{Role: model.User, Text: "mend the cart"}}}
	var outcomes []outcome
	for range n {
		o := outcome{Deltas: map[string]string{}}
		resp, err := m.Stream(t.Context(), req, func(d model.Delta) { o.Deltas[string(d.Kind)+d.Call] += d.Text })
		o.Response = resp
		var failed *model.Error
		switch {
		case errors.As(err, &failed):
			o.Class, o.Status, o.RetryAfter = failed.Class, failed.Status, failed.RetryAfter
		case err != nil:
			t.Fatal(err)
		default:
			req.Messages = append(req.Messages, next(resp)...)
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
}

// next is how a conversation goes on after an answer.
func next(resp model.Response) []model.Message {
	list := []model.Message{{Role: model.Assistant, Text: resp.Text, Calls: resp.Calls}}
	for _, c := range resp.Calls {
		list = append(list, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Name, Text: "result of " + c.ID})
	}
	if len(resp.Calls) == 0 {
		list = append(list, model.Message{Role: model.User, Text: "go on"})
	}
	return list
}

func TestAScriptPlaysTheSameOnTheWire(t *testing.T) {
	const turns = 13
	s, err := script.Parse([]byte(conversation), "conversation.yaml")
	if err != nil {
		t.Fatal(err)
	}
	player, err := s.Player("")
	if err != nil {
		t.Fatal(err)
	}
	want := played(t, player, turns)
	if err := player.Finish(); err != nil {
		t.Error(err)
	}
	if n := len(want[0].Response.Calls); n != 3 {
		t.Errorf("the first turn has %d calls", n)
	}
	for _, piece := range []int{0, 1, 1000} {
		server := wiretest.New(s)
		server.Piece = piece
		m := openai.New(openai.Options{BaseURL: wiretest.Serve(t, server), Model: "m"})
		if diff := cmp.Diff(want, played(t, m, turns)); diff != "" {
			t.Errorf("in pieces of %d (-player +wire):\n%s", piece, diff)
		}
		if u := server.Usage(); u.Input != 1200+1300+1400+1401+1402 {
			t.Errorf("the server counted %+v", u)
		}
	}
}

func TestWhatAScriptDoesNotExpectFailsOnBoth(t *testing.T) {
	for name, text := range map[string]string{
		"another prompt":   "version: 1\nturns: [{expect: [cat], text: x}]",
		"one request more": "version: 1\nturns: [{error: {status: 500}}]",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := script.Parse([]byte(text), "s.yaml")
			if err != nil {
				t.Fatal(err)
			}
			player, err := s.Player("")
			if err != nil {
				t.Fatal(err)
			}
			server := wiretest.New(s)
			wire := openai.New(openai.Options{BaseURL: alone(t, server)})
			for m, class := range map[model.Model]model.ErrorClass{player: model.ClassScript, wire: model.ClassRequest} {
				req := model.Request{Messages: []model.Message{{Role: model.User, Text: "dog"}}}
				_, err := m.Stream(t.Context(), req, nil)
				if model.ClassOf(err) == model.ClassUnavailable { // the turn that there is
					_, err = m.Stream(t.Context(), req, nil)
				}
				if model.ClassOf(err) != class || !strings.Contains(err.Error(), "came since the last turn") && !strings.Contains(err.Error(), "unexpected request") {
					t.Errorf("%T: got %v, want class %s", m, err, class)
				}
			}
			if n := len(server.Problems()); n != 1 {
				t.Errorf("the server has %d problems, want 1", n)
			}
		})
	}
}

// alone serves without the check that nothing unexpected came.
func alone(t *testing.T, server *wiretest.Server) string {
	t.Helper()
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	return s.URL
}

// longTurn is a script of one turn of n bytes of text and as many of arguments.
func longTurn(b *testing.B, n int) *script.Script {
	b.Helper()
	s, err := script.Parse(fmt.Appendf(nil, "version: 1\nturns:\n  - text: %q\n    usage: {input: 1, output: 1}\n    calls: [{tool: write, args: {content: %[1]q}}]", strings.Repeat("word ", n/5)), "long.yaml")
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkChunk measures a chunk on its way from the socket to the response,
// half of them text and half arguments.
func BenchmarkChunk(b *testing.B) {
	const chunks = 2000
	server := wiretest.New(longTurn(b, chunks/2*24))
	m := openai.New(openai.Options{BaseURL: wiretest.Serve(b, server), Model: "m"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Stream(b.Context(), model.Request{}, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/chunk")
}

// BenchmarkRequest measures a request of a long conversation with a short
// answer.
func BenchmarkRequest(b *testing.B) {
	server := wiretest.New(longTurn(b, 50))
	m := openai.New(openai.Options{BaseURL: wiretest.Serve(b, server), Model: "m"})
	req := model.Request{System: strings.Repeat("be good ", 1000)}
	for range 15 {
		req.Tools = append(req.Tools, model.ToolSpec{Name: "tool", Description: strings.Repeat("it does ", 100), Schema: map[string]any{"type": "object"}})
	}
	for range 100 {
		req.Messages = append(req.Messages, model.Message{Role: model.User, Text: strings.Repeat("result ", 500)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Stream(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}
