package openai

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// The tests of this file show what openai-go loses without package wire and model.Retrying. Where one of
// them fails with a newer openai-go, code of our own can be deleted.

// accumulated returns what openai-go makes of a stream of Chat Completions.
func accumulated(t *testing.T, body string) (all sdk.ChatCompletionAccumulator, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	client := sdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("k"), option.WithMaxRetries(0))
	stream := client.Chat.Completions.NewStreaming(t.Context(), sdk.ChatCompletionNewParams{Model: "m"})
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	return all, stream.Err()
}

// chunk is an event with the delta of a choice.
func chunk(delta string) string {
	return `data: {"id": "c", "choices": [{"index": 0, "delta": ` + delta + `}]}` + "\n\n"
}

// TestLibraryReturnsTruncatedStreams has a stream without an end.
func TestLibraryReturnsTruncatedStreams(t *testing.T) {
	all, err := accumulated(t, chunk(`{"content": "Half of a sen"}`))
	if err != nil || len(all.Choices) != 1 || all.Choices[0].Message.Content != "Half of a sen" {
		t.Errorf("%v, %v", all.Choices, err)
	}
}

// TestLibraryEndsAtANullError has servers in mind that send all fields of a response.
func TestLibraryEndsAtANullError(t *testing.T) {
	body := strings.Replace(chunk(`{"content": "One."}`), `{"id"`, `{"error": null, "id"`, 1) + "data: [DONE]\n\n"
	if all, err := accumulated(t, body); err == nil {
		t.Errorf("%v", all.Choices)
	}
}

// TestLibraryMergesCalls has two calls without indexes.
func TestLibraryMergesCalls(t *testing.T) {
	all, err := accumulated(t, chunk(`{"tool_calls": [{"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{\"a\":1}"}}]}`)+
		chunk(`{"tool_calls": [{"id": "b", "type": "function", "function": {"name": "read", "arguments": "{\"b\":2}"}}]}`)+"data: [DONE]\n\n")
	if err != nil || len(all.Choices) != 1 || len(all.Choices[0].Message.ToolCalls) != 1 || all.Choices[0].Message.ToolCalls[0].Function.Name != "bashread" {
		t.Errorf("%+v, %v", all.Choices, err)
	}
}

// TestLibraryDoesNotWaitForLong has a provider that announces when it has capacity again.
func TestLibraryDoesNotWaitForLong(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Retry-After", "180")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(server.Close)
	client := sdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("k"), option.WithMaxRetries(5))
	began := time.Now()
	_, err := client.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{Model: "m"})
	if took := time.Since(began); err == nil || requests != 1 || took > time.Minute {
		t.Errorf("%d requests in %v: %v", requests, took, err)
	}
}
