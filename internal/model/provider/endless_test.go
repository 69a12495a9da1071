package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/money"
)

// events are the events of one wire. A start is sent once, and call at the start of
// a call; text and input hold X in the position of a chunk.
type events struct{ kind, start, text, call, input string }

// wires are the events of every wire.
func wires() map[string]events {
	return map[string]events{
		"chat": {
			"openai-compatible",
			`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n",
			`data: {"choices":[{"index":0,"delta":{"content":"X"}}]}` + "\n\n",
			`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}` + "\n\n",
			`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"X"}}]}}]}` + "\n\n",
		},
		"responses": {
			"openai-responses",
			`data: {"type":"response.created","response":{"id":"r","status":"in_progress"}}` + "\n\n",
			`data: {"type":"response.output_text.delta","output_index":0,"delta":"X"}` + "\n\n",
			`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":""}}` + "\n\n",
			`data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":"X"}` + "\n\n",
		},
		"messages": {
			"anthropic",
			`data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":10,"output_tokens":1}}}` + "\n\n" +
				`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n",
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"X"}}` + "\n\n",
			`data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}` + "\n\n",
			`data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"X"}}` + "\n\n",
		},
	}
}

// flooded opens a model whose responses start with start, and go on with part
// until the client or n bytes end them.
func flooded(t *testing.T, kind, start string, fragment []byte, n int, pause, quiet time.Duration, sample func()) model.Model {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, start)
		flush := http.NewResponseController(w)
		for sent := 0; sent < n && r.Context().Err() == nil; sent += len(fragment) {
			if _, err := w.Write(fragment); err != nil {
				return
			}
			_ = flush.Flush() // a client that is gone ends the request
			sample()
			time.Sleep(pause)
		}
	}))
	t.Cleanup(server.Close)
	m, err := provider.Open(provider.Config{Kind: kind, BaseURL: server.URL + "/v1", Model: "m", QuietTimeout: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestKeepAlivesAreNotProgress holds every wire to a bound of its own for answers
// of nothing but keep-alives.
func TestKeepAlivesAreNotProgress(t *testing.T) {
	for name, wire := range wires() {
		for keep, fragment := range map[string]string{
			"a comment":      ": ping\n\n",
			"an empty event": "data:\n\n",
			"empty lines":    "\n\n",
			"a ping":         "event: ping\ndata: {\"type\":\"ping\",\"choices\":[]}\n\n",
			"no content":     strings.Replace(wire.text, "X", "", 1),
		} {
			t.Run(name+"/"+keep, func(t *testing.T) {
				t.Parallel()
				m := flooded(t, wire.kind, wire.start, []byte(fragment), 1<<30, 5*time.Millisecond, 100*time.Millisecond, func() {})
				_, err := m.Stream(t.Context(), model.Request{}, nil)
				if model.ClassOf(err) != model.ClassUnavailable || !strings.Contains(err.Error(), "no content within 100ms, only keep-alives") {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// TestUnterminatedOutputsAreTruncated sends answers of 300 MB, and measures what they
// take of the heap and what they are charged for.
func TestUnterminatedOutputsAreTruncated(t *testing.T) {
	if testing.Short() {
		t.Skip("long test")
	}
	const all, output = 300 << 20, 32_000
	chunks := func(event string) []byte {
		return []byte(strings.Repeat(strings.Replace(event, "X", strings.Repeat("word", 256), 1), 64))
	}
	for name, wire := range wires() {
		before, after, _ := strings.Cut(wire.text, "X")
		for what, stream := range map[string]struct {
			start    string
			fragment []byte
		}{
			"a text":           {wire.start, chunks(wire.text)},
			"arguments":        {wire.start + wire.call, chunks(wire.input)},
			"one line":         {wire.start + before, []byte(strings.Repeat("word", 16<<10))},
			"one comment":      {wire.start + ": ", []byte(strings.Repeat("word", 16<<10))},
			"one whole answer": {`{"choices":[{"message":{"content":"`, []byte(strings.Repeat("word", 16<<10))},
			"data in lines":    {wire.start, []byte(strings.Repeat("data: word\n", 16<<10))},
			"one text of 30 MB, then more": {
				wire.start + before + strings.Repeat("word", 30<<18) + after, chunks(wire.text),
			},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				runtime.GC()
				var stats runtime.MemStats
				runtime.ReadMemStats(&stats)
				base, peak, n := stats.HeapInuse, atomic.Uint64{}, 0
				m := flooded(t, wire.kind, stream.start, stream.fragment, all, 0, 0, func() {
					if n++; n%16 == 0 {
						var now runtime.MemStats
						runtime.ReadMemStats(&now)
						peak.Store(max(peak.Load(), now.HeapInuse))
					}
				})
				priced := model.Priced(m, func(u money.Usage) (money.USD, bool) {
					return money.Price{Rates: money.Rates{Output: 10 * money.Dollar}}.Cost(u), true
				})
				resp, err := priced.Stream(t.Context(), model.Request{Sampling: model.Sampling{MaxOutput: output}}, nil)
				if model.ClassOf(err) != model.ClassProtocol || !strings.Contains(err.Error(), "too long") && !strings.Contains(err.Error(), "longer than") {
					t.Errorf("got %v", err)
				}
				if resp.Lost != nil && (resp.Lost.CostUSD == nil || resp.Lost.Usage.Output > 5*output) {
					t.Errorf("charged %+v, for %d tokens", resp.Lost, output)
				}
				if used := int64(peak.Load()) - int64(base); used > 64<<20 {
					t.Errorf("took %d MiB", used>>20)
				} else {
					t.Logf("took %d MiB, lost %+v", used>>20, resp.Lost)
				}
			})
		}
	}
}
