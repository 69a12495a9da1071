package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// mayGoOn checks every limit before a model call is paid for.
func (s *Session) mayGoOn(ctx context.Context) *End {
	if ctx.Err() != nil {
		return Ended(ctx)
	}
	l, t := s.cfg.Limits, s.Totals()
	switch {
	case l.Turns > 0 && t.Turns >= l.Turns:
		return &End{Kind: Limited, Reason: fmt.Sprintf("the limit of %d turns is reached", l.Turns), summable: true}
	case l.Tokens > 0 && t.Usage.Input+t.Usage.Output >= l.Tokens:
		return &End{Kind: Limited, Reason: fmt.Sprintf("the limit of %d tokens is reached", l.Tokens), summable: true}
	case l.Denials > 0 && t.Denied >= l.Denials:
		return &End{Kind: Refused, Reason: fmt.Sprintf("the limit of %d denied calls is reached", l.Denials)}
	case l.Failures > 0 && s.failures >= l.Failures:
		return &End{Kind: Limited, Reason: fmt.Sprintf("the limit of %d failed calls in a row is reached", l.Failures)}
	}
	return nil
}

// Timeout is the cause of a context that a limit on time ended. Whoever sets a
// deadline on a session's context gives it as the cause.
type Timeout struct{ Reason string }

// Error returns the reason.
func (t Timeout) Error() string { return t.Reason }

// Ended is the End of a context that is over.
func Ended(ctx context.Context) *End {
	cause := context.Cause(ctx)
	if t, ok := cause.(Timeout); ok { //nolint:errorlint // a cause is given as it is, never wrapped
		return &End{Kind: Limited, Reason: t.Reason}
	}
	return &End{Kind: Cancelled, Reason: cause.Error()}
}

// requestFailed turns a failed model call into an End.
func requestFailed(ctx context.Context, err error) *End {
	if ctx.Err() != nil {
		return Ended(ctx)
	}
	if exceeded := (*money.Exceeded)(nil); errors.As(err, &exceeded) {
		return &End{Kind: OverCost, Reason: exceeded.Error(), Shared: exceeded.Shared, summable: true}
	}
	switch class := model.ClassOf(err); class {
	case model.ClassScript:
		return &End{Kind: GaveUp, Reason: err.Error()}
	case model.ClassContext:
		return &End{Kind: Limited, Reason: "the conversation is longer than the model can take: " + err.Error(), Code: event.CodeContext}
	default:
		return &End{Kind: NoModel, Reason: err.Error(), Code: event.Code(class)}
	}
}

// leastRoom is the least that an answer is asked to keep within, in tokens.
const leastRoom = 1024

const (
	// wordsOutput is how many tokens the last words of a session have at most.
	wordsOutput = 2048 // reasoning models think before they speak
	// wordsShown is how much of the conversation, in bytes, the model sees again
	// for its last words: little enough to be paid for at any time.
	wordsShown = 32 << 10

	wordsSystem = "You sum up the work of a software agent that had to stop early. Write plain text of at most 200 words, for the person who will go on with it."
	wordsPrompt = "The agent had to stop: %s. Below is its conversation, shortened. Say what it was to do, what is done, what is left to do, and what to know before going on.\n\n%s"
)

// words is how many tokens the last words need.
func (s *Session) words() money.Usage {
	return money.Usage{Input: min(tokens(wordsShown), tokensOf(s.messages)) + 300, Output: wordsOutput}
}

// lastWords asks the model to sum up when a limit has ended the session, by a
// request of its own that offers no tools and is small however long the
// conversation is. The end stays what it is, whether or not that works.
func (s *Session) lastWords(ctx context.Context, end End) End {
	req := model.Request{
		System: wordsSystem, CacheKey: s.cfg.ID, MaxOutput: wordsOutput,
		Messages: []model.Message{{Role: model.User, Text: fmt.Sprintf(wordsPrompt, end.Reason, render(s.messages, wordsShown))}},
	}
	resp, over, failed := s.ask(ctx, req, need{request: s.words(), last: true})
	if failed != nil {
		return end
	}
	defer over()
	if end.Text = resp.Text; resp.Text != "" {
		s.add(model.Message{Role: model.Assistant, Text: resp.Text})
	}
	return end
}
