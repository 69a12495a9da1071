package session

import (
	"context"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/tools"
)

// Hooks change what a session sends to its model. Each may be nil. They may be called for several
// sessions concurrently.
type Hooks struct {
	// System changes the system prompt before each request of the conversation.
	System func(ctx context.Context, text string) string
	// Tool changes the description and the schema of a tool when it is offered. Calls are checked
	// against the tool's own schema.
	Tool func(context.Context, model.ToolSpec) model.ToolSpec
	// Tools returns the tools that may change between turns, for [tools.Registry.Follow].
	Tools func(context.Context) (current []tools.Tool, version int)
	// Messages returns what is sent instead of the conversation, or the conversation. Messages that
	// are in it have their ids, others none.
	Messages func(context.Context, []model.Message) []model.Message
	// Request returns a request with other sampling parameters and headers. MaxOutput of its
	// argument is the limit; 0 for none.
	Request func(context.Context, model.Request) model.Request
	// Summary changes the instructions for a summary of the conversation.
	Summary func(ctx context.Context, instructions string) string
	// Finished is called after a call has ended, with the result for the model.
	Finished func(ctx context.Context, c event.Call, output string)
}

// start changes what the next request starts with, and reports whether that differs from the last one.
// offered is whether other tools are offered than before.
func (h Hooks) start(ctx context.Context, s *Session, offered bool) (changed bool) {
	if h.Tool != nil && (offered || !s.head.hooked) {
		s.head.hooked, changed = true, true
		s.head.specs = slices.Clone(s.head.specs)
		for i := range s.head.specs {
			s.head.specs[i] = h.Tool(ctx, s.head.specs[i])
		}
	}
	if h.System == nil {
		return changed
	}
	before := s.head.system
	s.head.system = h.System(ctx, s.cfg.System)
	return changed || s.head.system != before
}

// request changes a request within its limits.
func (h Hooks) request(ctx context.Context, req model.Request, n need) (model.Request, need) {
	if h.Request == nil {
		return req, n
	}
	limited, most := req, int(n.request.Output)
	limited.MaxOutput = most
	made := h.Request(ctx, limited)
	req.Temperature, req.TopP, req.Headers = made.Temperature, made.TopP, made.Headers
	if made.MaxOutput > 0 && (most == 0 || made.MaxOutput < most) {
		req.MaxOutput, n.request.Output = made.MaxOutput, int64(made.MaxOutput)
	}
	return req, n
}

// summary returns the instructions for a summary.
func (h Hooks) summary(ctx context.Context) string {
	if h.Summary == nil {
		return summarySystem
	}
	return h.Summary(ctx, summarySystem)
}
