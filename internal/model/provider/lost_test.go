package provider_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// What a wire reports of the usage of a failed response.
func TestTheUsageOfAFailedResponse(t *testing.T) {
	event := func(data string) string { return "data: " + data + "\n\n" }
	const (
		chatText     = `{"choices":[{"index":0,"delta":{"content":"hel"}}]}`
		chatUsage    = `"usage":{"prompt_tokens":100,"completion_tokens":40,"prompt_tokens_details":{"cached_tokens":60},"cost":0.5}`
		message      = `{"type":"message_start","message":{"usage":{"input_tokens":30,"cache_read_input_tokens":60,"cache_creation_input_tokens":10,"output_tokens":1}}}`
		messageStart = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hel"}}`
	)
	usd := money.Dollar / 2
	told := money.Usage{Input: 100, Output: 40, CacheRead: 60}
	tests := []struct {
		name, kind, body string
		want             *money.Charge
	}{
		{"chat: nothing came", "openrouter", "", nil},
		{"chat: an error alone", "openrouter", event(`{"error":{"message":"busy"}}`), nil},
		{"chat: an error after keep-alives", "openrouter", ": PROCESSING\n\n" + event(`{"error":{"message":"busy"}}`), nil},
		{"chat: a byte of the first event", "openrouter", "d", &money.Charge{Estimated: true}},
		{"chat: half of the first event", "openrouter", "data: " + chatText[:20], &money.Charge{Estimated: true}},
		{"chat: keep-alives", "openrouter", ": PROCESSING\n\n", &money.Charge{Estimated: true}},
		{"responses: half of the first event", "openai-responses", `data: {"type":"resp`, &money.Charge{Estimated: true}},
		{"messages: half of the first event", "anthropic", "event: message_start\ndata: " + message[:40], &money.Charge{Estimated: true}},
		{"chat: no usage", "openrouter", event(chatText), &money.Charge{Estimated: true}},
		{"chat: usage on the way", "openrouter", event(`{"choices":[{"index":0,"delta":{"content":"hel"}}],` + chatUsage + `}`), &money.Charge{Usage: told, CostUSD: &usd, Estimated: true}},
		{"chat: usage with the end, which is an error", "openrouter", event(chatText) + event(`{"choices":[{"index":0,"delta":{},"finish_reason":"error"}],`+chatUsage+`}`) + event("[DONE]"), &money.Charge{Usage: told, CostUSD: &usd}},
		{"responses: nothing came", "openai-responses", "", nil},
		{"responses: no usage", "openai-responses", event(`{"type":"response.created","response":{"status":"in_progress"}}`), &money.Charge{Estimated: true}},
		{
			"responses: a failure with usage", "openai-responses",
			event(`{"type":"response.failed","response":{"status":"failed","error":{"message":"no"},"usage":{"input_tokens":100,"output_tokens":40,"input_tokens_details":{"cached_tokens":60}}}}`),
			&money.Charge{Usage: told},
		},
		{
			"responses: a failure whose error is beside the response", "openai-responses",
			event(`{"type":"response.failed","error":{"message":"no"},"response":{"status":"failed","usage":{"input_tokens":100,"output_tokens":40,"input_tokens_details":{"cached_tokens":60}}}}`),
			&money.Charge{Usage: told},
		},
		{"responses: an error alone", "openai-responses", event(`{"type":"error","message":"busy"}`), nil},
		{"chat: an error with usage", "openrouter", event(chatText) + event(`{"error":{"message":"no"},`+chatUsage+`}`), &money.Charge{Usage: told, CostUSD: &usd}},
		{"chat: an error with usage, which no text precedes", "openrouter", event(`{"error":{"message":"no"},` + chatUsage + `}`), &money.Charge{Usage: told, CostUSD: &usd}},
		{"chat: an error of a choice with usage", "openrouter", event(`{"choices":[{"index":0,"error":{"message":"no"},"delta":{}}],` + chatUsage + `}`), &money.Charge{Usage: told, CostUSD: &usd}},
		{"chat: an error after usage on the way", "openrouter", event(`{"choices":[{"index":0,"delta":{"content":"hel"}}],`+chatUsage+`}`) + event(`{"error":{"message":"no"}}`), &money.Charge{Usage: told, CostUSD: &usd, Estimated: true}},
		{
			"messages: an error with usage", "anthropic",
			event(message) + event(messageStart) + event(`{"type":"error","error":{"message":"no"},"usage":{"output_tokens":40}}`),
			&money.Charge{Usage: money.Usage{Input: 100, Output: 40, CacheRead: 60, CacheWrite: 10}},
		},
		{"messages: an error after the head", "anthropic", event(message) + event(`{"type":"error","error":{"message":"no"}}`), &money.Charge{Usage: money.Usage{Input: 100, Output: 1, CacheRead: 60, CacheWrite: 10}, Estimated: true}},
		{"messages: nothing came", "anthropic", "", nil},
		// The API's input does not include what was cached.
		{"messages: the head has the input", "anthropic", event(message) + event(messageStart), &money.Charge{Usage: money.Usage{Input: 100, Output: 1, CacheRead: 60, CacheWrite: 10}, Estimated: true}},
		{
			"messages: calls that did not come", "anthropic",
			event(message) + event(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":40}}`) + event(`{"type":"message_stop"}`),
			&money.Charge{Usage: money.Usage{Input: 100, Output: 40, CacheRead: 60, CacheWrite: 10}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tape := &wiretest.Canned{Kind: wiretest.EventStream, Body: func() io.Reader {
				return io.MultiReader(strings.NewReader(test.body), iotest.ErrReader(io.ErrUnexpectedEOF))
			}}
			m, err := provider.Open(provider.Config{
				Kind: test.kind, BaseURL: "http://model.test", APIKey: "k-0123456789", Model: "m",
				HTTPClient: &http.Client{Transport: tape},
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Stream(t.Context(), model.Request{}, nil)
			if diff := cmp.Diff(model.Response{Lost: test.want}, got); err == nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// The same for responses that were not streamed.
func TestTheUsageOfAFailedBody(t *testing.T) {
	want := model.Response{Lost: &money.Charge{Usage: money.Usage{Input: 100, Output: 40}}}
	for _, test := range []struct{ kind, body string }{
		{"openrouter", `{"error":{"message":"no"},"usage":{"prompt_tokens":100,"completion_tokens":40}}`},
		{"openrouter", `{"choices":[{"error":{"message":"no"},"message":{"content":"hel"}}],"usage":{"prompt_tokens":100,"completion_tokens":40}}`},
		{"openai-responses", `{"id":"r","status":"failed","error":{"message":"no"},"usage":{"input_tokens":100,"output_tokens":40}}`},
		{"anthropic", `{"type":"message","error":{"message":"no"},"usage":{"input_tokens":100,"output_tokens":40}}`},
	} {
		server := wiretest.New(nil)
		server.Fault = func(int) wiretest.Fault {
			return wiretest.Fault{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: test.body}
		}
		m, err := provider.Open(provider.Config{Kind: test.kind, BaseURL: wiretest.Serve(t, server), Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Stream(t.Context(), model.Request{}, nil)
		if diff := cmp.Diff(want, got); err == nil || diff != "" {
			t.Errorf("%s %s: error %v (-want +got):\n%s", test.kind, test.body, err, diff)
		}
	}
}
