package anthropic

import "encoding/json"

// The types of a request, as far as it is used. The order of fields is that of the JSON.

// params is a request without its messages, its tools and stream.
type params struct {
	MaxTokens    int            `json:"max_tokens"`
	Model        string         `json:"model"`
	Temperature  *float64       `json:"temperature,omitzero"`
	TopP         *float64       `json:"top_p,omitzero"`
	OutputConfig outputConfig   `json:"output_config,omitzero"`
	System       []contentBlock `json:"system,omitempty"`
	Thinking     thinking       `json:"thinking,omitzero"`
}

type outputConfig struct {
	Effort string        `json:"effort,omitzero"`
	Format *outputFormat `json:"format,omitzero"`
}

type outputFormat struct {
	Schema map[string]any `json:"schema"`
	Type   string         `json:"type"` // json_schema
}

type thinking struct {
	BudgetTokens int    `json:"budget_tokens,omitzero"`
	Display      string `json:"display,omitzero"`
	Type         string `json:"type"`
}

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	InputSchema map[string]any `json:"input_schema"`
}

type message struct {
	Content []contentBlock `json:"content"`
	Role    string         `json:"role"`
}

// contentBlock has the fields that its type requires.
type contentBlock struct {
	Text         *string         `json:"text,omitzero"`
	ID           string          `json:"id,omitzero"`
	Input        json.RawMessage `json:"input,omitzero"`
	Name         *string         `json:"name,omitzero"`
	Signature    string          `json:"signature,omitzero"`
	Thinking     *string         `json:"thinking,omitzero"`
	Data         string          `json:"data,omitzero"`
	Source       *source         `json:"source,omitzero"`
	ToolUseID    string          `json:"tool_use_id,omitzero"`
	IsError      bool            `json:"is_error,omitzero"`
	CacheControl cacheControl    `json:"cache_control,omitzero"`
	Content      []contentBlock  `json:"content,omitempty"`
	Type         string          `json:"type"`
}

type source struct {
	Data      string `json:"data"`
	MediaType string `json:"media_type"`
	Type      string `json:"type"` // base64
}

type cacheControl struct {
	Type string `json:"type"`
}

// ephemeral marks the end of a prefix for the cache.
var ephemeral = cacheControl{"ephemeral"}

func textBlock(text string) contentBlock { return contentBlock{Text: &text, Type: "text"} }
