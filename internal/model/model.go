package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// Role says who speaks a message.
type Role string

// The roles of a conversation. The system prompt is part of the request.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role      Role       `json:"role"`
	Text      string     `json:"text,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"` // Assistant only; kept for the transcript
	Calls     []ToolCall `json:"calls,omitempty"`     // Assistant only
	CallID    string     `json:"call_id,omitempty"`   // ToolRole only: the call that this answers
	Tool      string     `json:"tool,omitempty"`      // ToolRole only: the name that the model used
	Failed    bool       `json:"failed,omitempty"`    // ToolRole only: the call was an error or denied
	Denied    bool       `json:"denied,omitempty"`    // ToolRole only: the call was denied

	Attachments []Attachment `json:"attachments,omitempty"` // User and ToolRole: what goes with the text, for models that take it
	// State, of Assistant, is what the wire that made the message wants to see
	// again as it was: encrypted reasoning, signatures of thinking. Other wires
	// leave it alone.
	State *State `json:"state,omitempty"`
}

// Attachment is a file beside a message's text.
type Attachment struct {
	Name string `json:"name"`
	MIME string `json:"mime"` // image/png, application/pdf, ...
	Data []byte `json:"data"`
}

// State is a wire's own part of a message, which only that wire can read.
type State struct {
	Wire string          `json:"wire"`
	Data json.RawMessage `json:"data"`
}

// ToolCall is a model's wish to call a tool. Input is the text of the
// arguments exactly as the model wrote it, which may be no JSON at all.
type ToolCall struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input string `json:"input"`
}

// ToolSpec is a tool as it is offered to a model. Schema is the JSON Schema of
// its arguments.
type ToolSpec struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      map[string]any `json:"schema"`
}

// Request asks for one completion.
type Request struct {
	System      string
	Messages    []Message
	Tools       []ToolSpec
	MaxOutput   int      // tokens; 0 leaves it to the provider
	Temperature *float64 // nil leaves it to the provider
	Effort      string   // of reasoning: minimal, low, medium, high; "" leaves it to the provider
	CacheKey    string   // the same for all requests of a session: keeps them on one prompt cache; may be empty
	// Output is the JSON Schema that the answer is to meet, nil for a free one.
	Output map[string]any
	// Reservation pays for the request. Whoever knows what an attempt cost charges
	// it (see [Request.Charge]), whoever makes another one asks first. It is nil if
	// nothing is limited.
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

// DeltaKind says what a piece of a streaming answer belongs to.
type DeltaKind string

// The kinds of deltas.
const (
	TextDelta      DeltaKind = "text"
	ReasoningDelta DeltaKind = "reasoning"
	InputDelta     DeltaKind = "tool_input"
)

// Delta is a piece of an answer while it streams in. Call is the tool call's
// id, for InputDelta.
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

// Response is a whole answer. The calls stand in the order in which the model
// made them and have ids that are unique within the response.
type Response struct {
	Text      string
	Reasoning string
	Calls     []ToolCall
	Finish    Finish
	State     *State       // for the message of this answer; nil if the wire needs none
	Usage     *money.Usage // nil when the provider did not report it
	CostUSD   *money.USD   // nil when the price or the usage is unknown; set by [Priced] unless the provider said it
	Model     string       `json:",omitempty"` // the name of who answered; "" for the one that was asked, see [Fallback]
	// Lost is what attempts that failed have used up beside Usage, nil for
	// nothing. It alone is set in a response that comes with an error.
	Lost *money.Charge `json:",omitempty"`
}

// Model completes conversations. Stream calls emit for every piece of the
// answer, in order and from the calling goroutine, and returns when the answer
// is whole; emit may be nil. A failure is an [*Error], or the context's own
// error when the caller gave up. A Model is safe for concurrent use unless its
// documentation says otherwise.
type Model interface {
	Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error)
}

// ErrorClass is what a failed request means for the session.
type ErrorClass string

// The classes of failure.
const (
	ClassAuth        ErrorClass = "auth"        // the key is missing or refused: fatal
	ClassUnknown     ErrorClass = "model"       // no such model: fatal
	ClassRequest     ErrorClass = "request"     // the provider refuses what was sent: fatal
	ClassQuota       ErrorClass = "quota"       // the account has no money left: fatal
	ClassContext     ErrorClass = "context"     // the conversation is too long for the model
	ClassRate        ErrorClass = "rate"        // too many requests: try again
	ClassUnavailable ErrorClass = "unavailable" // server or network fault: try again
	ClassProtocol    ErrorClass = "protocol"    // an answer that can't be understood: try again
	ClassScript      ErrorClass = "script"      // a scripted model met what it did not expect: fatal
)

// Error is a failed request, classified so that nobody has to look into
// strings. Status is the HTTP status, 0 if there was none.
type Error struct {
	Class      ErrorClass
	Status     int
	RetryAfter time.Duration // what the provider asked for; negative when it said nothing
	Err        error
}

// Error says what happened and what kind of failure it is.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model request failed (%s, HTTP %d): %v", e.Class, e.Status, e.Err)
	}
	return fmt.Sprintf("model request failed (%s): %v", e.Class, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may well succeed later.
func (e *Error) Retryable() bool {
	switch e.Class {
	case ClassRate, ClassUnavailable, ClassProtocol:
		return true
	default:
		return false
	}
}

// Fail makes an Error of the given class without a status or a wish to wait.
func Fail(class ErrorClass, err error) *Error {
	return &Error{Class: class, RetryAfter: -1, Err: err}
}

// ClassOf returns the class of a failed request, or "" if err is none.
func ClassOf(err error) ErrorClass {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ""
}
