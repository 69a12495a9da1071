package provider_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// TestOddUsageDoesNotFailTheResponse gives every wire invalid usage. The response
// counts, and its usage is unknown.
func TestOddUsageDoesNotFailTheResponse(t *testing.T) {
	streams := map[string][]string{ // of good answers; U is the usage with I and O in it
		"chat": {
			`{"choices":[{"index":0,"delta":{"content":"Done."}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`{"choices":[],"usage":U}`, `[DONE]`,
		},
		"responses": {
			`{"type":"response.created","response":{"id":"r","status":"in_progress","usage":U}}`,
			`{"type":"response.output_text.delta","output_index":0,"delta":"Done."}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":U}}`,
		},
		"messages": {
			`{"type":"message_start","message":{"id":"m","usage":U}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Done."}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":U}`, `{"type":"message_stop"}`,
		},
		"chat, not streamed":      {`{"choices":[{"index":0,"message":{"content":"Done."},"finish_reason":"stop"}],"usage":U}`},
		"responses, not streamed": {`{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Done."}]}],"usage":U}`},
		"messages, not streamed":  {`{"type":"message","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":U}`},
	}
	usages := map[string]string{ // those marked with ! are known
		"null":                  `null`,
		"a string":              `"many"`,
		"a number":              `12`,
		"a list":                `[1,2]`,
		"true":                  `true`,
		"empty":                 `{}`,
		"nulls":                 `{"I":null,"O":null}`,
		"strings!":              `{"I":"10","O":"4"}`,
		"words":                 `{"I":"many","O":"few"}`,
		"lists":                 `{"I":[10],"O":[4]}`,
		"objects":               `{"I":{"n":10},"O":{"n":4}}`,
		"negative":              `{"I":-10,"O":-4}`,
		"fractions!":            `{"I":10.5,"O":4.5}`,
		"huge":                  `{"I":1e300,"O":99999999999999999999}`,
		"not a number":          `{"I":NaN,"O":NaN}`,
		"infinite":              `{"I":Infinity,"O":-Infinity}`,
		"infinite output":       `{"I":10,"O":Infinity}`,
		"infinite details!":     `{"I":10,"O":4,"x":NaN}`,
		"no output":             `{"I":10}`,
		"null output":           `{"I":10,"O":null}`,
		"a string of output!":   `{"I":10,"O":"4"}`,
		"odd details!":          `{"I":10,"O":4,"prompt_tokens_details":"x","completion_tokens_details":[1],"input_tokens_details":"x","output_tokens_details":7,"cache_read_input_tokens":"x","cache_creation_input_tokens":null,"server_tool_use":3,"service_tier":5}`,
		"false output":          `{"I":10,"O":false}`,
		"true output":           `{"I":10,"O":true}`,
		"false input":           `{"I":false,"O":4}`,
		"booleans":              `{"I":true,"O":true}`,
		"a word of a number":    `{"I":10,"O":"NaN"}`,
		"an infinite string":    `{"I":10,"O":"Infinity"}`,
		"an empty string":       `{"I":10,"O":""}`,
		"hexadecimal":           `{"I":10,"O":"0x4p0"}`,
		"exponents!":            `{"I":1e1,"O":4e0}`,
		"exponents in strings!": `{"I":"1e1","O":"4e0"}`,
		"fractions in strings!": `{"I":"10.0","O":"4.0"}`,
		"booleans in details!":  `{"I":10,"O":4,"total_tokens":true,"prompt_tokens_details":{"cached_tokens":true,"cache_write_tokens":true},"completion_tokens_details":{"reasoning_tokens":true},"input_tokens_details":{"cached_tokens":true},"output_tokens_details":{"reasoning_tokens":true,"thinking_tokens":true},"cache_read_input_tokens":true,"cache_creation_input_tokens":true,"cache_creation":{"ephemeral_1h_input_tokens":true},"server_tool_use":{"web_search_requests":true}}`,
		"odd within details!":   `{"I":10,"O":4,"prompt_tokens_details":{"cached_tokens":"x"},"completion_tokens_details":{"reasoning_tokens":null},"input_tokens_details":{"cached_tokens":[]},"output_tokens_details":{"reasoning_tokens":"x"},"cache_creation":{"ephemeral_5m_input_tokens":"x"}}`,
	}
	for name, stream := range streams {
		wire, _, complete := strings.Cut(name, ",")
		for what, usage := range usages {
			t.Run(name+"/"+what, func(t *testing.T) {
				usage = strings.NewReplacer(`"I"`, `"input_tokens"`, `"O"`, `"output_tokens"`).Replace(usage)
				if wire == "chat" {
					usage = strings.NewReplacer(`"input_tokens"`, `"prompt_tokens"`, `"output_tokens"`, `"completion_tokens"`).Replace(usage)
				}
				body, kind := "", "application/json"
				for _, e := range stream {
					body += strings.ReplaceAll(e, "U", usage)
					if !complete {
						body, kind = strings.Replace(body, e, e, 1)+"\n\n", "text/event-stream"
					}
				}
				if !complete {
					body = "data: " + strings.ReplaceAll(strings.TrimSpace(body), "\n\n", "\n\ndata: ") + "\n\n"
				}
				server := wiretest.New(nil)
				server.Fault = func(int) wiretest.Fault {
					return wiretest.Fault{Status: 200, Header: map[string]string{"Content-Type": kind}, Body: body}
				}
				m, err := provider.Open(provider.Config{Kind: wires()[wire].kind, BaseURL: wiretest.Serve(t, server), Model: "m"})
				if err != nil {
					t.Fatal(err)
				}
				resp, err := m.Stream(t.Context(), model.Request{}, nil)
				if err != nil || resp.Text != "Done." || resp.Finish != model.FinishStop {
					t.Fatalf("got %+v and %v", resp, err)
				}
				var want *money.Usage
				if strings.HasSuffix(what, "!") {
					want = &money.Usage{Input: 10, Output: 4}
				}
				if diff := cmp.Diff(want, resp.Usage); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// The usage contains the terms that a response reports.
func TestTermsOfUsage(t *testing.T) {
	const (
		chat      = `{"choices":[{"index":0,"message":{"content":"Done."},"finish_reason":"stop"}],"service_tier":"%s","usage":{"prompt_tokens":10,"completion_tokens":4}}`
		responses = `{"status":"completed","service_tier":"%s","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}],"usage":{"input_tokens":10,"output_tokens":4}}`
		messages  = `{"type":"message","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":6,"output_tokens":4,"cache_creation_input_tokens":4,%s}}`
	)
	plain, written := money.Usage{Input: 10, Output: 4}, money.Usage{Input: 10, Output: 4, CacheWrite: 4}
	with := func(u money.Usage, terms string) money.Usage { u.Terms = terms; return u }
	hour := written
	hour.CacheWriteLong = 3
	tests := []struct {
		kind, body, said string
		want             money.Usage
	}{
		{"openai-compatible", chat, "priority", with(plain, "priority")},
		{"openai-compatible", chat, "flex", with(plain, "flex")},
		{"openai-compatible", chat, "default", plain},
		{"openai-responses", responses, "priority", with(plain, "priority")},
		{"openai-responses", responses, "scale", plain},
		{"anthropic", messages, `"speed":"fast","inference_geo":"us"`, with(written, "fast us")},
		{"anthropic", messages, `"speed":"standard","inference_geo":"global","service_tier":"priority"`, written},
		{"anthropic", messages, `"cache_creation":{"ephemeral_5m_input_tokens":1,"ephemeral_1h_input_tokens":3}`, hour},
	}
	for _, tt := range tests {
		server := wiretest.New(nil)
		server.Fault = func(int) wiretest.Fault {
			return wiretest.Fault{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: fmt.Sprintf(tt.body, tt.said)}
		}
		m, err := provider.Open(provider.Config{Kind: tt.kind, BaseURL: wiretest.Serve(t, server), Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.Stream(t.Context(), model.Request{}, nil)
		if diff := cmp.Diff(&tt.want, resp.Usage); diff != "" || err != nil {
			t.Errorf("%s, %s: %v (-want +got):\n%s", tt.kind, tt.said, err, diff)
		}
	}
}

// TestLateUsageIsAccepted sends the usage well after the reason to stop.
func TestLateUsageIsAccepted(t *testing.T) {
	if testing.Short() {
		t.Skip("long test: it waits longer than it does if the usage was missing before")
	}
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush() // a client that is gone gets nothing
		time.Sleep(2500 * time.Millisecond)
		_, _ = io.WriteString(w, `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":4}}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	m, err := provider.Open(provider.Config{Kind: "openai-compatible", BaseURL: server.URL + "/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := m.Stream(t.Context(), model.Request{}, nil)
	if err != nil || resp.Usage == nil || *resp.Usage != (money.Usage{Input: 10, Output: 4}) {
		t.Errorf("got %+v, %v", resp, err)
	}
}
