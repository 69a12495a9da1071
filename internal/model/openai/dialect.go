package openai

// Dialect is how a server's Chat Completions differ. The zero value is the
// common ground: a server that knows no more than messages, tools, temperature
// and max_completion_tokens, and reports usage when asked by stream_options.
type Dialect struct {
	KeyHeader string // the header that bears the key; "" is Authorization, with a bearer token

	// The names and forms of parameters.
	MaxTokens   bool   // max_tokens in place of max_completion_tokens
	Usage       Usage  // how usage is asked for
	Effort      Effort // how reasoning is turned up and down
	Temperature bool   // whether one may be set
	CacheKey    CacheKey
	Output      Output
	Schema      func(schema map[string]any) map[string]any // what the server takes of a schema; nil is all

	// The messages.
	ShortIDs   bool // ids of tool calls are nine letters and digits
	Objects    bool // arguments of calls are refused if they are no object
	Bridge     bool // an assistant speaks between a tool's result and the user
	Alternate  bool // two messages of a user in a row are one
	CacheMarks bool // cache_control marks what to keep: the system prompt and the last two turns of the user's side
	Images     bool // images are taken, in messages of a user
	Files      bool // PDF files are, too
	Reasoning  Reasoning
}

// Usage is how a server is asked to report usage.
type Usage int

// The ways to ask for usage.
const (
	UsageByStreamOptions Usage = iota // stream_options: {include_usage: true}
	UsageUnasked                      // it comes anyway, and stream_options is refused
	UsageWithCost                     // usage: {include: true}, as OpenRouter has it
)

// Effort is how the reasoning effort is sent to a server.
type Effort int

// The forms of effort.
const (
	EffortNone     Effort = iota // it can't be told
	EffortPlain                  // reasoning_effort: minimal, low, medium or high
	EffortLow                    // the same, but low for minimal
	EffortNested                 // reasoning: {effort: low}, as OpenRouter has it
	EffortLowHigh                // reasoning_effort: low or high, as xAI has it
	EffortThinking               // thinking: {type: enabled}, reasoning_effort: low or high, as DeepSeek has it
	EffortNoneHigh               // reasoning_effort: none for minimal and low, else high, as Mistral has it
)

// CacheKey is how requests of a session are kept on one prompt cache.
type CacheKey int

// The forms of cache keys.
const (
	CacheKeyNone   CacheKey = iota
	CacheKeyField           // prompt_cache_key
	CacheKeyHeader          // the header X-Grok-Conv-Id, of xAI
)

// Output is how a response is made to meet a schema.
type Output int

// The ways to a structured output.
const (
	OutputByTool Output = iota // by a tool whose input is the response
	OutputAlone                // by response_format, but by a tool where there are other tools
	OutputOwn                  // by response_format
)

// Reasoning is what a server wants to see again of a model's reasoning.
type Reasoning int

// The forms in which reasoning goes back.
const (
	ReasoningKept       Reasoning = iota // nothing
	ReasoningContent                     // reasoning_content, which must not be missing beside calls: DeepSeek
	ReasoningDetails                     // reasoning_details, as they came: OpenRouter
	ReasoningSignatures                  // extra_content of the calls, as it came: Gemini
)

// OpenAI is the dialect of OpenAI itself.
func OpenAI() Dialect {
	return Dialect{
		Effort: EffortPlain, Temperature: true, CacheKey: CacheKeyField, Output: OutputOwn,
		Images: true, Files: true,
	}
}
