package openai

// The types of a request of Responses, as far as it is used. The order of fields is that of
// the JSON.

// responseParams is a request without its input, its tools and stream.
type responseParams struct {
	Instructions    string          `json:"instructions,omitzero"`
	MaxOutputTokens int             `json:"max_output_tokens,omitzero"`
	PromptCacheKey  string          `json:"prompt_cache_key,omitzero"`
	Store           bool            `json:"store"`
	Include         []string        `json:"include"`
	Model           string          `json:"model"`
	Reasoning       reasoningParams `json:"reasoning,omitzero"`
	Text            textParams      `json:"text,omitzero"`
}

type reasoningParams struct {
	Effort  string `json:"effort,omitzero"`
	Summary string `json:"summary,omitzero"`
}

type textParams struct {
	Format *textFormat `json:"format"`
}

type textFormat struct {
	Name   string         `json:"name"`
	Schema map[string]any `json:"schema"`
	Type   string         `json:"type"` // json_schema
}

type responseTool struct {
	Strict      bool           `json:"strict"`
	Parameters  map[string]any `json:"parameters,omitzero"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Type        string         `json:"type"` // function
}

type inputMessage struct {
	Content any    `json:"content"` // a string, or inputParts
	Role    string `json:"role"`
	Phase   string `json:"phase,omitzero"`
}

type inputCall struct {
	Arguments string `json:"arguments"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Type      string `json:"type"` // function_call
}

type inputResult struct {
	Output any    `json:"output"` // a string, or inputParts
	CallID string `json:"call_id"`
	Type   string `json:"type"` // function_call_output
}

type inputParts []inputPart

// inputPart has the fields that its type requires.
type inputPart struct {
	Text     *string `json:"text,omitzero"`
	Detail   string  `json:"detail,omitzero"`
	ImageURL string  `json:"image_url,omitzero"`
	FileData string  `json:"file_data,omitzero"`
	Filename string  `json:"filename,omitzero"`
	Type     string  `json:"type"`
}
