package provider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// TestTheWireOfOpenAIsModels covers the hosts and kinds that serve them.
func TestTheWireOfOpenAIsModels(t *testing.T) {
	tests := []struct {
		name string
		c    Config
		wire wiretest.Wire
	}{
		{"its host", Config{Kind: "openai", Model: "gpt-5.5"}, wiretest.Responses},
		{"a regional host", Config{Kind: "openai", BaseURL: "https://us.api.openai.com/v1", Model: "gpt-5.5"}, wiretest.Responses},
		{"a regional host with a port", Config{Kind: "openai", BaseURL: "https://EU.api.openai.com:443/v1/", Model: "gpt-5.5"}, wiretest.Responses},
		{"a model that does not reason", Config{Kind: "openai", BaseURL: "https://us.api.openai.com/v1", Model: "gpt-4.1"}, wiretest.Chat},
		{"a host that imitates it", Config{Kind: "openai", BaseURL: "https://notapi.openai.com.test/v1", Model: "gpt-5.5"}, wiretest.Chat},
		{"Azure", Config{Kind: "azure", BaseURL: "https://x.openai.azure.com", Model: "gpt-5.4"}, wiretest.Responses},
		{"a deployment with a name of its own", Config{Kind: "azure", BaseURL: "https://x.openai.azure.com", Model: "ours"}, wiretest.Chat},
		{"the same with an API", Config{Kind: "azure", API: ResponsesAPI, BaseURL: "https://x.openai.azure.com", Model: "ours"}, wiretest.Responses},
		{"the other API", Config{Kind: "azure", API: ChatAPI, BaseURL: "https://x.openai.azure.com", Model: "gpt-5.4"}, wiretest.Chat},
		{"a URL of one deployment", Config{Kind: "azure", BaseURL: "https://x.openai.azure.com/openai/deployments/d", Model: "gpt-5.4"}, wiretest.Chat},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := capture(t, test.c, full())
			if got.Wire != test.wire {
				t.Errorf("the request is on %s, want %s", got.Wire, test.wire)
			}
			body := decoded(t, string(got.Body))
			if test.c.Kind == "azure" && got.Header.Get("Api-Key") != "sk-1" {
				t.Errorf("the headers are %v", got.Header)
			}
			if _, keyed := body["prompt_cache_key"]; keyed == (test.name == "a host that imitates it") {
				t.Errorf("with a cache key: %v", keyed)
			}
		})
	}
}

// TestAServerThatRequiresResponses plays servers that reject Chat Completions for a model.
func TestAServerThatRequiresResponses(t *testing.T) {
	tests := []struct {
		name, message string
		status        int
		want          []wiretest.Wire
	}{
		{"OpenAI's words", "Function tools with reasoning_effort are not supported for gpt-5.5 in /v1/chat/completions. Please use /v1/responses instead.", 400, []wiretest.Wire{wiretest.Chat, wiretest.Responses, wiretest.Responses}},
		{"its words for codex", "This model is only supported in v1/responses and not in v1/chat/completions.", 404, []wiretest.Wire{wiretest.Chat, wiretest.Responses, wiretest.Responses}},
		{"Azure's words", "The chatCompletion operation does not work with the specified model, gpt-5-codex. Please choose different model and try again.", 400, []wiretest.Wire{wiretest.Chat, wiretest.Responses, wiretest.Responses}},
		{"another rejection", "The model does not support tools.", 400, []wiretest.Wire{wiretest.Chat, wiretest.Chat}},
		{"the words with another status", "Please use /v1/responses", 429, []wiretest.Wire{wiretest.Chat, wiretest.Chat}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := script.Parse([]byte("version: 1\nturns: [{text: done}]"), "s.yaml")
			if err != nil {
				t.Fatal(err)
			}
			server := wiretest.New(s)
			server.Keep = true
			server.Fault = wiretest.First(1, wiretest.Fault{Status: test.status, Body: `{"error":{"message":"` + test.message + `","type":"invalid_request_error"}}`})
			m, err := Open(Config{Kind: "openai-compatible", BaseURL: wiretest.Serve(t, server), Model: "house"})
			if err != nil {
				t.Fatal(err)
			}
			req := model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}}
			got, err := m.Stream(t.Context(), req, nil)
			if switches := len(test.want) == 3; switches != (err == nil && got.Text == "done" && strings.Contains(got.Note, "kind: responses")) {
				t.Errorf("the first request: %+v, error %v", got, err)
			}
			if got, err := m.Stream(t.Context(), req, nil); err != nil || got.Text != "done" || got.Note != "" {
				t.Errorf("the second request: %+v, error %v", got, err)
			}
			var wires []wiretest.Wire
			for _, r := range server.Requests() {
				wires = append(wires, r.Wire)
			}
			if diff := cmp.Diff(test.want, wires); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
