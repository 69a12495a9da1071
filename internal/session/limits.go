package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// exceeded checks every limit before a request. It returns nil if none is exceeded.
func (s *Session) exceeded(ctx context.Context) *End {
	if ctx.Err() != nil {
		return Ended(ctx)
	}
	l := s.cfg.Limits
	if end := l.Exceeded(s.Totals(), false); end != nil {
		return end
	}
	if l.Failures > 0 && s.failures >= l.Failures {
		return &End{Code: event.CodeFailedCalls, Reason: fmt.Sprintf("consecutive failed call limit exceeded (%d)", l.Failures), OfModel: true}
	}
	return nil
}

// Exceeded returns the End for totals that exceed the limits, nil if another request
// may be made. summary marks the final summary, which the limits on turns and tokens
// don't apply to. The totals don't count consecutive failures.
func (l Limits) Exceeded(t event.Totals, summary bool) *End {
	switch {
	case l.Turns > 0 && t.Turns >= l.Turns && !summary:
		return &End{Code: event.CodeLimit, Reason: fmt.Sprintf("turn limit exceeded (%d)", l.Turns)}
	case l.Tokens > 0 && t.Usage.Input+t.Usage.Output >= l.Tokens && !summary:
		return &End{Code: event.CodeLimit, Reason: fmt.Sprintf("token limit exceeded (%d)", l.Tokens)}
	case l.Denials > 0 && t.Denied >= l.Denials:
		return &End{Code: event.CodeDenied, Reason: fmt.Sprintf("denied call limit exceeded (%d)", l.Denials)}
	}
	return nil
}

// summable reports whether a final summary may be requested after an end.
func summable(code event.Code) bool {
	return code == event.CodeLimit || code == event.CodeOverBudget || code == event.CodeRunBudget
}

// Ended returns the End for a context that was cancelled or timed out.
func Ended(ctx context.Context) *End {
	cause := context.Cause(ctx)
	if t, ok := cause.(event.EndCause); ok { //nolint:errorlint // a cause is never wrapped
		return &End{Code: t.Code, Reason: t.Reason}
	}
	return &End{Code: event.CodeInterrupted, Reason: cause.Error()}
}

// requestFailed returns the End for a failed request.
func requestFailed(ctx context.Context, err error) *End {
	if ctx.Err() != nil {
		return Ended(ctx)
	}
	if exceeded := (*money.Exceeded)(nil); errors.As(err, &exceeded) {
		code := event.CodeOverBudget
		if exceeded.Shared {
			code = event.CodeRunBudget
		}
		return &End{Code: code, Reason: exceeded.Error()}
	}
	if failed := (*money.LedgerError)(nil); errors.As(err, &failed) {
		return &End{Code: event.CodeInternal, Reason: err.Error()}
	}
	switch class := model.ClassOf(err); class {
	case model.ClassScript:
		return &End{Code: event.CodeFailed, Reason: err.Error()}
	case model.ClassContext:
		return &End{Code: event.CodeContext, Reason: "conversation exceeds the context window of the model: " + err.Error()}
	default:
		var e *model.Error
		return &End{Code: cmp.Or(event.Code(class), event.CodeNoModel), Reason: err.Error(), unusable: errors.As(err, &e) && e.Unusable}
	}
}

// minOutputLimit is the lowest output limit that is requested, in tokens.
const minOutputLimit = 1024

const (
	// finalOutput is the output limit of a final summary, in tokens, with the
	// reasoning of models that reason.
	finalOutput = 2048
	// finalShown is how many bytes of the conversation the request for a final
	// summary contains: few enough that a budget can always reserve their cost.
	finalShown = 32 << 10

	finalSystem = "You sum up the work of a software agent that had to stop early. Write plain text of at most 200 words, for the person who will continue it."
	finalPrompt = "The agent had to stop: %s. Below is its conversation, shortened. State what it was asked to do, what is done, what remains to be done, and what to know before continuing.\n\n%s"
)

// summarize requests a final summary when a limit has ended the session. The
// request has no tools, and a small size however long the conversation is. The end
// stays the same if it fails.
func (s *Session) summarize(ctx context.Context, end End) End {
	req := model.Request{
		System: finalSystem, CacheKey: s.cfg.ID, Sampling: model.Sampling{MaxOutput: finalOutput},
		Messages: []model.Message{{Role: model.User, Text: fmt.Sprintf(finalPrompt, end.Reason, render(s.talk.messages, finalShown))}},
	}
	resp, ended, failed := s.ask(ctx, req, need{request: s.talk.finalUsage(), final: true})
	if failed != nil {
		return end
	}
	defer s.events.turnEnded(&ended)
	if end.Text = resp.Text; resp.Text != "" {
		s.talk.add(journal.Message{Turn: ended.Number, Message: model.Message{Role: model.Assistant, Text: resp.Text}})
	}
	return end
}
