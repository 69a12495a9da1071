package anthropic

import (
	"encoding/json"

	"github.com/millhand/millhand/internal/model/wire"
)

// The types of a response, as far as it is used.

// streamEvent is an event of a stream. Its type decides which of the other fields it has.
type streamEvent struct {
	Type    wire.String `json:"type"`
	Index   wire.Int    `json:"index"`
	Message struct {
		Model wire.String `json:"model"`
		Usage usage       `json:"usage"`
	} `json:"message"`
	ContentBlock startedBlock `json:"content_block"`
	Delta        delta        `json:"delta"`
	Usage        usage        `json:"usage"`
}

// startedBlock is the start of a block, or a complete one.
type startedBlock struct {
	Type      wire.String     `json:"type"`
	Text      wire.String     `json:"text"`
	Thinking  wire.String     `json:"thinking"`
	Signature wire.String     `json:"signature"`
	Data      wire.String     `json:"data"`
	ID        wire.String     `json:"id"`
	Name      wire.String     `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// delta extends a block, or is the end of a message.
type delta struct {
	Type        wire.String `json:"type"`
	Text        wire.String `json:"text"`
	Thinking    wire.String `json:"thinking"`
	Signature   wire.String `json:"signature"`
	PartialJSON wire.String `json:"partial_json"`
	StopReason  wire.String `json:"stop_reason"`
}

type usage struct {
	InputTokens              wire.Int `json:"input_tokens"`
	OutputTokens             wire.Int `json:"output_tokens"`
	CacheReadInputTokens     wire.Int `json:"cache_read_input_tokens"`
	CacheCreationInputTokens wire.Int `json:"cache_creation_input_tokens"`
	CacheCreation            struct {
		Ephemeral1hInputTokens wire.Int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	OutputTokensDetails struct {
		ThinkingTokens wire.Int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Speed         wire.String `json:"speed"`
	InferenceGeo  wire.String `json:"inference_geo"`
	ServiceTier   wire.String `json:"service_tier"`
	ServerToolUse struct {
		WebSearches wire.Int `json:"web_search_requests"`
	} `json:"server_tool_use"`
}
