package openai

import (
	"encoding/json"
	"slices"

	"github.com/millhand/millhand/internal/model/wire"
)

// The types of an event of Responses, as far as it is used.

// outputEvent is an event of a stream. Its type decides which of the other fields it has.
type outputEvent struct {
	Type        wire.String `json:"type"`
	OutputIndex wire.Int    `json:"output_index"`
	Delta       wire.String `json:"delta"`
	Arguments   wire.String `json:"arguments"`
	Item        outputItem  `json:"item"`
	Response    response    `json:"response"`
}

// response is a complete response.
type response struct {
	Model             wire.String           `json:"model"`
	Status            string                `json:"status"`
	ServiceTier       wire.String           `json:"service_tier"`
	Error             json.RawMessage       `json:"error"`
	Output            wire.List[outputItem] `json:"output"`
	IncompleteDetails struct {
		Reason wire.String `json:"reason"`
	} `json:"incomplete_details"`
	Usage responseUsage `json:"usage"`
}

type responseUsage struct {
	InputTokens        wire.Int `json:"input_tokens"`
	OutputTokens       wire.Int `json:"output_tokens"`
	InputTokensDetails struct {
		CachedTokens     wire.Int `json:"cached_tokens"`
		CacheWriteTokens wire.Int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputTokensDetails struct {
		ReasoningTokens wire.Int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// outputItem is an item of a response. Its type decides which of the other fields it has.
type outputItem struct {
	itemFields
	raw json.RawMessage // as it was sent
}

type itemFields struct {
	Type             wire.String           `json:"type"`
	Phase            wire.String           `json:"phase"`
	CallID           wire.String           `json:"call_id"`
	Name             wire.String           `json:"name"`
	Arguments        wire.String           `json:"arguments"`
	Content          wire.List[outputPart] `json:"content"`
	Summary          wire.List[outputPart] `json:"summary"`
	EncryptedContent wire.String           `json:"encrypted_content"`
}

type outputPart struct {
	Text    wire.String `json:"text"`
	Refusal wire.String `json:"refusal"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (it *outputItem) UnmarshalJSON(data []byte) error {
	*it = outputItem{}
	if wire.Decode(data, &it.itemFields) == nil {
		it.raw = slices.Clone(data)
	}
	return nil
}
