package openai_test

import (
	"flag"
	"net/http"
	"testing"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/openai"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

var update = flag.Bool("update", false, "write what recordings come to")

const nowhere = "http://model.test/v1"

// TestRecordingsResultInTheirGoldenResponses plays what servers of Chat Completions send, each in its
// dialect as far as that decides what is stored of it.
func TestRecordingsResultInTheirGoldenResponses(t *testing.T) {
	for name, d := range map[string]openai.Dialect{
		"parallel": {}, "mistral": {}, "ollama": {}, "groq": {}, "broken-off": {},
		"gemini":     {Reasoning: openai.ReasoningSignatures},
		"openrouter": {Reasoning: openai.ReasoningDetails},
		"deepseek":   {Reasoning: openai.ReasoningContent},
	} {
		wiretest.Recordings(t, "testdata/chat-"+name+".sse", "messages", *update, func(c *http.Client) model.Model {
			return openai.Chat(openai.Options{BaseURL: nowhere, Model: "m", HTTPClient: c}, d)
		})
	}
}

func TestRecordingsOfResponses(t *testing.T) {
	wiretest.Recordings(t, "testdata/responses-*.sse", "input", *update, func(c *http.Client) model.Model {
		return openai.Responses(openai.Options{BaseURL: nowhere, Model: "gpt-5-mini", HTTPClient: c}, openai.Dialect{Effort: openai.AnyEffort()})
	})
}
