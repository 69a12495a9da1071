package provider

import (
	"encoding/json"
	"strings"
	"testing"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"
	openaisdk "github.com/openai/openai-go/v3"
	openairesponses "github.com/openai/openai-go/v3/responses"
)

// TestTheSDKsKnowTheFieldsOfBodies decodes the bodies for OpenAI and Anthropic with the types of
// their SDKs, and encodes them again: fields that an API does not have get lost.
func TestTheSDKsKnowTheFieldsOfBodies(t *testing.T) {
	type params interface {
		json.Marshaler
		json.Unmarshaler
	}
	for name, read := range map[string]params{
		"openai/gpt-4.1":                    new(openaisdk.ChatCompletionNewParams),
		"openai/gpt-5-mini":                 new(openairesponses.ResponseNewParams),
		"anthropic/claude-sonnet-4-5":       new(anthropicsdk.MessageNewParams),
		"anthropic/claude-opus-4-6":         new(anthropicsdk.MessageNewParams),
		"anthropic/claude-3-5-haiku-latest": new(anthropicsdk.MessageNewParams),
	} {
		t.Run(name, func(t *testing.T) {
			kind, id, _ := strings.Cut(name, "/")
			want := decoded(t, string(capture(t, Config{Kind: kind, Model: id}, full()).Body))
			delete(want, "stream") // the method that is called decides it
			input, _ := want["input"].([]any)
			for _, one := range input {
				if item, _ := one.(map[string]any); item["type"] == nil {
					item["type"] = "message" // the SDK does not find the types of messages without it
				}
			}
			body, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if err := read.UnmarshalJSON(body); err != nil {
				t.Fatal(err)
			}
			again, err := read.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, decoded(t, string(again))); diff != "" {
				t.Errorf("(-sent +read):\n%s", diff)
			}
		})
	}
}
