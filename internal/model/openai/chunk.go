package openai

import (
	"encoding/json"
	"fmt"

	"github.com/millhand/millhand/internal/model/wire"
)

// The types of a chunk of Chat Completions, as far as it is used.

// chunk is an event of a stream, or a response that was not streamed.
type chunk struct {
	Model       wire.String       `json:"model"`
	ServiceTier wire.String       `json:"service_tier"`
	Choices     wire.List[choice] `json:"choices"`
	Usage       chatUsage         `json:"usage"`
	Error       json.RawMessage   `json:"error"`
	XGroq       struct {
		Usage chatUsage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index        wire.Int        `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      json.RawMessage `json:"message"` // of a response that was not streamed
	FinishReason wire.String     `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
}

type delta struct {
	Content          content              `json:"content"`
	Refusal          wire.String          `json:"refusal"`
	ReasoningContent json.RawMessage      `json:"reasoning_content"`
	Reasoning        json.RawMessage      `json:"reasoning"`
	ReasoningDetails json.RawMessage      `json:"reasoning_details"` // OpenRouter
	ToolCalls        wire.List[callDelta] `json:"tool_calls"`
}

type callDelta struct {
	Index    wire.Int    `json:"index"`
	ID       wire.String `json:"id"`
	Type     wire.String `json:"type"`
	Function struct {
		Name      wire.String `json:"name"`
		Arguments wire.String `json:"arguments"`
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"` // Gemini
}

// content is a text, or a list of texts and thoughts, as sent by Mistral's reasoning models.
type content struct {
	text, reasoning string
	err             error // what was sent is neither
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(data []byte) error {
	*c = content{}
	if data[0] != '[' && data[0] != '{' {
		return (*wire.String)(&c.text).UnmarshalJSON(data)
	}
	var list []struct {
		Text     string
		Thinking []struct{ Text string }
	}
	if err := json.Unmarshal(data, &list); err != nil && wire.Present(data) {
		c.err = fmt.Errorf("read the content: %w", err)
	}
	for _, part := range list {
		c.text += part.Text
		for _, thought := range part.Thinking {
			c.reasoning += thought.Text
		}
	}
	return nil
}
