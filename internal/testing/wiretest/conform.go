package wiretest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
)

// Open makes the model under test, at a base URL and with deadlines for the
// head of a response and for silence within it.
type Open func(baseURL string, deadline time.Duration) model.Model

// Conform runs what every adapter must pass: a script means the same on its
// wire as when it is played without one, and each named fault results in exactly
// its class, in time, however the bytes arrive.
func Conform(t *testing.T, w Wire, open Open) {
	t.Helper()
	t.Run("a script plays the same on the wire", func(t *testing.T) { ConformScript(t, open) })
	t.Run("what a script does not expect fails", func(t *testing.T) { conformUnexpected(t, open) })
	t.Run("the caller's context ends a request", func(t *testing.T) { conformContext(t, open) })
	for _, c := range nightly.Sample(Cases(), 3, slices.Index([]Wire{Chat, Responses, Messages}, w)) {
		if c.Wire == "" || c.Wire == w {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				c.conform(t, open)
			})
		}
	}
}

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
    usage: {input: 1402, output: 1}
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

// converse asks m for n answers, feeding results back, and goes on after
// failures.
func converse(t *testing.T, m model.Model, n int) []outcome {
	t.Helper()
	req := model.Request{System: "be good", Messages: []model.Message{{Role: model.User, Text: "fix the cart"}}}
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

// next is how a conversation goes on after a response.
func next(resp model.Response) []model.Message {
	list := []model.Message{{Role: model.Assistant, Text: resp.Text, Reasoning: resp.Reasoning, Calls: resp.Calls, State: resp.State}}
	for _, c := range resp.Calls {
		list = append(list, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Name, Text: "result of " + c.ID})
	}
	if len(resp.Calls) == 0 {
		list = append(list, model.Message{Role: model.User, Text: "go on"})
	}
	return list
}

// stateless leaves out what only a wire knows.
var stateless = cmpopts.IgnoreFields(model.Response{}, "State", "Lost", "Served")

// ConformScript is the first part of [Conform]: a conversation with calls,
// failures, and every reason to stop.
func ConformScript(t *testing.T, open Open) {
	t.Helper()
	const turns = 13
	s := parsed(t, conversation)
	player, err := s.Player("")
	if err != nil {
		t.Fatal(err)
	}
	want := converse(t, player, turns)
	if err := player.Finish(); err != nil {
		t.Error(err)
	}
	for _, chunk := range []int{0, 1, 1000} {
		server := New(s)
		server.Chunk = chunk
		m := open(Serve(t, server), time.Minute)
		if diff := cmp.Diff(want, converse(t, m, turns), stateless); diff != "" {
			t.Errorf("in pieces of %d (-player +wire):\n%s", chunk, diff)
		}
		if u := server.Usage(); u.Input != 1200+1300+1400+1401+1402 {
			t.Errorf("the server counted %+v", u)
		}
	}
}

func parsed(t *testing.T, text string) *script.Script {
	t.Helper()
	s, err := script.Parse([]byte(text), "script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func conformUnexpected(t *testing.T, open Open) {
	t.Helper()
	server := New(parsed(t, "version: 1\nturns: [{expect: [cat], text: x}]"))
	m := open(serve(t, server), time.Minute)
	_, err := m.Stream(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "dog"}}}, nil)
	if model.ClassOf(err) != model.ClassRequest || !strings.Contains(err.Error(), "came since the last turn") || len(server.Problems()) != 1 {
		t.Errorf("got %v and %d problems", err, len(server.Problems()))
	}
}

// conformContext checks that a cancelled request returns the cause of its context.
func conformContext(t *testing.T, open Open) {
	t.Helper()
	reason := errors.New("the run is over")
	for name, fault := range map[string]Fault{"before the headers": {Silent: true}, "in the stream": {Stall: 200}} {
		server := New(parsed(t, faulty))
		server.Fault = First(1, fault)
		m := open(Serve(t, server), longDeadline)
		ctx, cancel := context.WithTimeoutCause(t.Context(), hangDeadline, reason)
		_, err := m.Stream(ctx, model.Request{}, nil)
		cancel()
		if !errors.Is(err, reason) || model.ClassOf(err) != "" {
			t.Errorf("%s: got %v, want the cause alone", name, err)
		}
	}
}

const faulty = `
version: 1
turns:
  - text: It is done, and done well.
    reasoning: Hm.
    calls: [{tool: bash, args: {command: "echo hello", why: "to be sure"}}, {tool: read, args: {filePath: "a b"}}]
    usage: {input: 10, output: 5, reasoning: 2, cache_read: 4, cache_write: 1}
`

const (
	hangDeadline = 100 * time.Millisecond
	longDeadline = 10 * time.Minute
)

// conform sends a request that suffers the case once, in pieces of several
// sizes, and one after it that does not.
func (c Case) conform(t *testing.T, open Open) {
	t.Helper()
	s := parsed(t, faulty)
	turns, err := s.Turns("")
	if err != nil {
		t.Fatal(err)
	}
	want := turns[0].Response()
	sizes := []int{0, 1, 7, 64}
	switch {
	case c.Body:
		sizes = sizes[:1]
	case testing.Short():
		sizes = []int{0, 7}
	}
	for _, size := range sizes {
		server := New(s)
		fault := c.Fault
		if size > 0 {
			fault.Chunk = size
		}
		server.Fault = First(1, fault)
		deadline := longDeadline
		if c.Hangs {
			deadline = hangDeadline
		}
		base := Serve(t, server)
		m := open(base, deadline)
		ctx, cancel := context.WithTimeout(t.Context(), longDeadline)
		got, err := m.Stream(ctx, model.Request{}, nil)
		cancel()
		if diff := c.check(want, got, err); diff != "" {
			t.Errorf("in pieces of %d: %s", size, diff)
		}
		if c.Hangs { // its deadline is too short for a response on a busy machine
			m = open(base, longDeadline)
		}
		got, err = m.Stream(t.Context(), model.Request{}, nil)
		if diff := cmp.Diff(want, got, stateless); err != nil || diff != "" {
			t.Errorf("in pieces of %d, the request after it: error %v (-want +got):\n%s", size, err, diff)
		}
	}
}

// check returns what is wrong with the outcome of a case, "" if it is as it must be.
func (c Case) check(want, got model.Response, err error) string {
	if c.Class == "" {
		if c.Uncounted {
			want.Usage, got.Usage = nil, nil // an estimate of what is left is as good
		}
		if c.Renamed {
			if again := repeated(got.Calls); again != "" {
				return "two calls have the id " + again
			}
			want.Calls, got.Calls = nameless(want.Calls), nameless(got.Calls)
		}
		if diff := cmp.Diff(want, got, stateless); err != nil || diff != "" {
			return fmt.Sprintf("error %v (-want +got):\n%s", err, diff)
		}
		return ""
	}
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Class != c.Class {
		return fmt.Sprintf("got %v, want class %s", err, c.Class)
	}
	if asked := c.RetryAfter; asked != 0 && failed.RetryAfter != asked {
		return fmt.Sprintf("got a wait of %v, want %v", failed.RetryAfter, asked)
	}
	return ""
}

// nameless are calls without their ids.
func nameless(calls []model.ToolCall) []model.ToolCall {
	list := slices.Clone(calls)
	for i := range list {
		list[i].ID = ""
	}
	return list
}

// repeated is an id that two calls have, or that is empty.
func repeated(calls []model.ToolCall) string {
	ids := map[string]bool{"": true}
	for _, c := range calls {
		if ids[c.ID] {
			return strconv.Quote(c.ID)
		}
		ids[c.ID] = true
	}
	return ""
}
