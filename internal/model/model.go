package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// Role is the author of a message.
type Role string

// The roles of a conversation. The system prompt is in the request.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	ID        string     `json:"-"` // unique in its session; not sent
	Role      Role       `json:"role"`
	Text      string     `json:"text,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"` // Assistant only; for the transcript
	Calls     []ToolCall `json:"calls,omitempty"`     // Assistant only
	CallID    string     `json:"call_id,omitempty"`   // ToolRole only: the call that this answers
	Tool      string     `json:"tool,omitempty"`      // ToolRole only: the name that the model used
	Failed    bool       `json:"failed,omitempty"`    // ToolRole only: the call was an error or denied
	Denied    bool       `json:"denied,omitempty"`    // ToolRole only: the call was denied

	Attachments []Attachment `json:"attachments,omitempty"` // User and ToolRole: files beside the text, for models that support them
	// State, of Assistant, must be sent back unchanged by the wire that received the
	// message: encrypted reasoning, signatures of thinking. Other wires ignore it.
	State *State `json:"state,omitempty"`
}

// Attachment is a file beside a message's text.
type Attachment struct {
	Name string `json:"name"`
	MIME string `json:"mime"` // image/png, application/pdf, ...
	Data []byte `json:"data"`
}

// State is data of a message that only its wire can read.
type State struct {
	Wire string          `json:"wire"`
	Data json.RawMessage `json:"data"`
}

// ToolCall is a model's request to call a tool. Input is the text of the arguments
// exactly as the model wrote it, which may be invalid JSON.
type ToolCall struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input string `json:"input"`
}

// ToolSpec is the definition of a tool for a model. Schema is the JSON Schema of
// its arguments.
type ToolSpec struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      map[string]any `json:"schema"`
}

// Efforts are the reasoning efforts that a request can ask for, the least first. Providers
// know some of them each.
var Efforts = [...]string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Sampling are parameters of requests. Zero values leave them to the provider.
type Sampling struct {
	Effort      string // of reasoning: one of Efforts
	Temperature *float64
	MaxOutput   int // tokens of the response
}

// Request asks for one completion.
type Request struct {
	Sampling
	System   string
	Messages []Message
	Tools    []ToolSpec
	CacheKey string // the same for all requests of a session: keeps them on one prompt cache; may be empty
	// Output is the JSON Schema that the response must match; nil for none.
	Output map[string]any
	TopP   *float64
	// Headers are sent in addition to those of the provider, which they can't replace.
	Headers map[string]string
	// Reservation is the money that is reserved for the request; nil if its cost is
	// not limited. The cost of each attempt is charged to it (see [Request.Charge]),
	// and whoever retries asks it first.
	Reservation *money.Reservation
}

// Charge charges an attempt at the request, which returned resp and err, to its
// reservation. [Priced] does that for the models that it wraps.
func (r Request) Charge(resp Response, err error) {
	cost := resp.CostUSD
	if err != nil {
		cost = new(money.USD)
	}
	if resp.Lost != nil {
		cost = money.Sum(cost, resp.Lost.CostUSD)
	}
	r.Reservation.Charge(cost)
}

// DeltaKind is the kind of a chunk of a streamed response.
type DeltaKind string

// The kinds of deltas.
const (
	TextDelta      DeltaKind = "text"
	ReasoningDelta DeltaKind = "reasoning"
	CallDelta      DeltaKind = "tool_call" // a tool call begins; Text is the name of its tool
	InputDelta     DeltaKind = "tool_input"
	AgainDelta     DeltaKind = "again" // the response starts again: previous chunks are those of a failed attempt
)

// Delta is a chunk of a streamed response. Call is the id of the tool call, for
// CallDelta and InputDelta.
type Delta struct {
	Kind DeltaKind
	Call string
	Text string
}

// Finish is why a model stopped.
type Finish string

// The reasons to stop, one spelling for all providers.
const (
	FinishStop    Finish = "stop"
	FinishTools   Finish = "tool_calls"
	FinishLength  Finish = "length"
	FinishFilter  Finish = "content_filter"
	FinishUnknown Finish = "unknown"
)

// Response is a complete response. Calls are in the model's order and have ids that
// are unique within the response.
type Response struct {
	Text      string
	Reasoning string
	Calls     []ToolCall
	Finish    Finish
	State     *State       // for the message of this response; nil if the wire needs none
	Usage     *money.Usage // nil when the provider did not report it
	CostUSD   *money.USD   // nil when the price or the usage is unknown; set by [Priced] unless the provider reported it
	Model     string       `json:",omitempty"` // the name of the model that responded; "" without a [Fallback]
	Served    string       `json:",omitempty"` // the model's name in the response, such as a dated version; "" if it has none
	Note      string       `json:",omitempty"` // for the user, such as about a setting; "" for none
	// Lost is what failed attempts used, in addition to Usage; nil for nothing. Of a
	// response that is returned with an error, only Lost is set.
	Lost *money.Charge `json:",omitempty"`
}

// Model completes conversations. Stream calls emit for every chunk of the response,
// in order and from the calling goroutine, and returns when the response is complete;
// emit may be nil. Errors are an [*Error], or the cause of the context. A Model is
// safe for concurrent use unless its documentation states otherwise.
type Model interface {
	Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error)
}

// ErrorClass is what a failed request means for the session.
type ErrorClass string

// The classes of failure.
const (
	ClassAuth        ErrorClass = "auth"        // the key is missing or was rejected: fatal
	ClassUnknown     ErrorClass = "model"       // no such model: fatal
	ClassRequest     ErrorClass = "request"     // the provider rejected the request, or the endpoint can't be used as configured: fatal
	ClassQuota       ErrorClass = "quota"       // the quota of the account is exceeded: fatal
	ClassContext     ErrorClass = "context"     // the conversation exceeds the model's context window
	ClassRate        ErrorClass = "rate"        // too many requests: retry
	ClassUnavailable ErrorClass = "unavailable" // server or network error: retry
	ClassProtocol    ErrorClass = "protocol"    // an invalid response: retry
	ClassMachine     ErrorClass = "machine"     // the machine refused to start the command that prints the key: fatal
	ClassScript      ErrorClass = "script"      // an expectation of a scripted model failed: fatal
)

// Error is a failed request, with a class so that no caller parses messages. Status
// is the HTTP status, 0 for none.
type Error struct {
	Class      ErrorClass
	Status     int
	RetryAfter time.Duration // what the provider requested; negative if it did not
	Undated    bool          // RetryAfter is not the provider's, but that of a [Limiter]
	Unusable   bool          // the endpoint can't be used as configured, whatever the request
	Brief      bool          // probably no outage: is retried for seconds only
	Err        error
}

// Error returns the message with the class of the error.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model request failed (%s, HTTP %d): %v", e.Class, e.Status, e.Err)
	}
	return fmt.Sprintf("model request failed (%s): %v", e.Class, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Class {
	case ClassRate, ClassUnavailable, ClassProtocol:
		return true
	default:
		return false
	}
}

// Fail returns an Error of the given class, without a status or a requested wait.
func Fail(class ErrorClass, err error) *Error {
	return &Error{Class: class, RetryAfter: -1, Err: err}
}

// ClassOf returns the class of a failed request, or "" for other errors.
func ClassOf(err error) ErrorClass {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ""
}
