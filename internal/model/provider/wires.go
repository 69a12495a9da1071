package provider

import (
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/openai"
)

// protocol is the wire that a kind speaks.
type protocol int

const (
	chat      protocol = iota
	native             // OpenAI's models: Responses for those that reason, else chat
	responses          // OpenAI's Responses
	messages           // Anthropic's Messages
)

// Kind is a row of the table of providers, with its wire.
type Kind struct {
	kinds.Kind
	wiring
}

// wiring is how requests of a kind differ.
type wiring struct {
	header  map[string]string // of each request
	speaks  protocol
	dialect openai.Dialect // of a kind that speaks chat

	imitated bool   // other servers than OpenAI's at its base URLs imitate it
	path     string // of base URLs that have none
	native   string // path of the provider's other API, below which is that of chat
	port     string // of base URLs that have none, and may be a host alone
}

// Lookup returns the kind of a name.
func Lookup(name string) (Kind, bool) {
	k, ok := kinds.Lookup(name)
	if !ok {
		return Kind{}, false
	}
	return Kind{k, wires[k.Name]}, true
}

// wires has the wire of each kind.
var wires = map[string]wiring{
	"openai-compatible": {dialect: compatible},
	"openai":            {speaks: native, dialect: openai.OpenAI(), imitated: true},
	"openai-responses":  {speaks: responses},
	"anthropic":         {speaks: messages},
	"google": {path: "/v1beta/openai", native: "v1beta", dialect: openai.Dialect{
		Effort: lowToHigh, Temperature: true, Output: openai.OutputAlone, Schema: openai.GeminiSchema,
		Objects: true, Images: true, Reasoning: openai.ReasoningSignatures,
	}},
	"openrouter": {
		header: map[string]string{"HTTP-Referer": "https://github.com/millhand/millhand", "X-Title": "millhand"}, // which app calls
		dialect: openai.Dialect{
			MaxTokens: true, Effort: routed, Temperature: true,
			CacheKey: openai.CacheKeyField, Output: openai.OutputAlone,
			Objects: true, Images: true, Files: true, Reasoning: openai.ReasoningDetails,
		},
	},
	"mistral": {dialect: openai.Dialect{
		MaxTokens: true, Usage: openai.UsageUnasked, Temperature: true, Output: openai.OutputAlone,
		ShortIDs: true, Objects: true, Bridge: true, Alternate: true, Images: true,
	}},
	"groq": {dialect: openai.Dialect{Temperature: true, Output: openai.OutputByTool}},
	"deepseek": {dialect: openai.Dialect{
		MaxTokens: true, Effort: deepThought, Temperature: true, Output: openai.OutputByTool,
		Reasoning: openai.ReasoningContent,
	}},
	"xai": {dialect: openai.Dialect{
		Temperature: true, CacheKey: openai.CacheKeyHeader, Output: openai.OutputOwn, Images: true,
	}},
	"ollama": {path: "/v1", port: "11434", dialect: openai.Dialect{
		MaxTokens: true, Effort: noneToHigh, Temperature: true, Output: openai.OutputAlone, Objects: true, Images: true,
	}},
	"azure": {speaks: native, path: "/openai/v1", dialect: openai.Dialect{
		KeyHeader: "Api-Key", Effort: openai.AnyEffort(), Temperature: true, CacheKey: openai.CacheKeyField,
		Output: openai.OutputOwn, Images: true,
	}},
	"lmstudio": {dialect: openai.Dialect{
		MaxTokens: true, Effort: lowToHigh, Temperature: true, Output: openai.OutputAlone, Objects: true, Alternate: true, Images: true,
	}},
	"vllm": {dialect: openai.Dialect{
		Effort: lowToHigh, Temperature: true, Output: openai.OutputAlone, Objects: true, Alternate: true, Images: true,
	}},
	"together": {dialect: openai.Dialect{MaxTokens: true, Temperature: true, Output: openai.OutputAlone, Objects: true, Images: true}},
	"fireworks": {dialect: openai.Dialect{
		MaxTokens: true, Effort: lowToHigh, Temperature: true, Output: openai.OutputAlone, Objects: true, Images: true,
	}},
	"cerebras": {dialect: openai.Dialect{Temperature: true, Output: openai.OutputByTool, Objects: true}},
	"bedrock":  {speaks: messages},
	"vertex":   {speaks: messages},
}

// compatible is what most servers make of OpenAI's Chat Completions.
var compatible = openai.Dialect{
	Effort: openai.AnyEffort(), Temperature: true, Output: openai.OutputAlone, Images: true, Files: true,
}
