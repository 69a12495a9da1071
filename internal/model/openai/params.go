package openai

import "encoding/json"

// The types of a request of Chat Completions, as far as it is used. The order of fields is
// that of the JSON.

// chatParams is a request without its messages, its tools and stream.
type chatParams struct {
	Model               string          `json:"model"`
	MaxTokens           int             `json:"max_tokens,omitzero"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitzero"`
	PromptCacheKey      string          `json:"prompt_cache_key,omitzero"`
	Temperature         *float64        `json:"temperature,omitzero"`
	TopP                *float64        `json:"top_p,omitzero"`
	ReasoningEffort     string          `json:"reasoning_effort,omitzero"`
	StreamOptions       streamOptions   `json:"stream_options,omitzero"`
	ResponseFormat      *responseFormat `json:"response_format,omitzero"`
	Reasoning           nestedEffort    `json:"reasoning,omitzero"` // OpenRouter
	Thinking            kindOnly        `json:"thinking,omitzero"`  // DeepSeek
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	JSONSchema namedSchema `json:"json_schema"`
	Type       string      `json:"type"` // json_schema
}

type namedSchema struct {
	Name   string         `json:"name"`
	Schema map[string]any `json:"schema"`
}

type nestedEffort struct {
	Effort string `json:"effort"`
}

// kindOnly is an object of which only the type is used.
type kindOnly struct {
	Type string `json:"type"`
}

type functionTool struct {
	Function function `json:"function"`
	Type     string   `json:"type"` // function
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  map[string]any `json:"parameters,omitzero"`
}

// message is a message of any role.
type message struct {
	Content          any             `json:"content,omitzero"` // a string, or parts
	ToolCalls        []toolCall      `json:"tool_calls,omitempty"`
	ToolCallID       *string         `json:"tool_call_id,omitzero"`
	Role             string          `json:"role"`
	ReasoningContent *string         `json:"reasoning_content,omitzero"` // DeepSeek
	ReasoningDetails json.RawMessage `json:"reasoning_details,omitzero"` // OpenRouter
}

type toolCall struct {
	ID           string          `json:"id"`
	Function     functionCall    `json:"function"`
	Type         string          `json:"type"`                   // function
	ExtraContent json.RawMessage `json:"extra_content,omitzero"` // Gemini
}

type functionCall struct {
	Arguments string `json:"arguments"`
	Name      string `json:"name"`
}

// parts is a content with attachments, or with a mark for the cache.
type parts []part

// part has the field that Type names.
type part struct {
	Text         *string   `json:"text,omitzero"`
	ImageURL     *imageURL `json:"image_url,omitzero"`
	File         *file     `json:"file,omitzero"`
	Type         string    `json:"type"`
	CacheControl kindOnly  `json:"cache_control,omitzero"`
}

type imageURL struct {
	URL string `json:"url"`
}

type file struct {
	FileData string `json:"file_data"`
	Filename string `json:"filename"`
}

func textPart(text string) part { return part{Text: &text, Type: "text"} }
