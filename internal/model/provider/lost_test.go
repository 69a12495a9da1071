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
	"github.com/millhand/millhand/internal/model/wiretest"
	"github.com/millhand/millhand/internal/money"
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
