package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/jsontext"
	"github.com/millhand/millhand/internal/model"
)

const (
	hintAfterCalls = 3 // turns that make the same calls: the model gets a hint
	endAfter       = 5 // the session ends
)

// repeats detects a model that makes the same calls in every turn, or alternates
// between two turns.
type repeats struct{ turns []string } // the last ones

// turn records the calls of the next turn. The hint, if any, is for the model; the
// End applies after the calls.
func (r *repeats) turn(calls []model.ToolCall) (hint string, end *End) {
	r.turns = append(r.turns, signature(calls))
	r.turns = r.turns[max(len(r.turns)-2*endAfter, 0):]
	times, what := r.times(1), "the same call"
	if pairs := r.times(2); pairs > times {
		times, what = pairs, "the same two calls by turns"
	}
	switch {
	case times >= endAfter:
		return "", &End{Code: event.CodeDoomLoop, Reason: fmt.Sprintf("doom_loop: the model made %s %d times in a row (%s)", what, times, calls[0].Name)}
	case times >= hintAfterCalls:
		return fmt.Sprintf("\n\n[You have made %s %d times in a row. The result will not change: try something else, or explain what keeps you from continuing.]", what, times), nil
	}
	return "", nil
}

// times is how often the last period turns were repeated consecutively.
func (r *repeats) times(period int) int {
	n := len(r.turns)
	if n < period {
		return 0
	}
	last, times := r.turns[n-period:], 1
	for end := n - period; end >= period && slices.Equal(r.turns[end-period:end], last); end -= period {
		times++
	}
	return times
}

// signature is equal for turns that make the same calls, however their arguments are
// formatted.
func signature(calls []model.ToolCall) string {
	var all []string
	for _, c := range calls {
		all = append(all, strings.ToLower(c.Name)+" "+jsontext.Canonical(c.Input))
	}
	return strings.Join(slices.Compact(all), "\n") // repeated calls count as one
}
