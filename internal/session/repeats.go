package session

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/jsontext"
)

const (
	hintAfterCalls = 3 // turns that make the same calls: the model gets a hint
	endAfter       = 5 // the session ends
)

// repeats detects a model that makes the same calls with the same results in every
// turn, or alternates between two turns. A call whose result changes is no repetition:
// the model may be waiting for something.
type repeats struct{ turns [][sha256.Size]byte } // hashes of the last ones: results are long

// repeated records the calls of a turn and their results, unless the profile allows
// repeating all of them. The hint, if any, is for the model.
func (s *Session) repeated(calls []model.ToolCall, results []model.Message) (hint string, end *End) {
	allowed := func(c model.ToolCall) bool {
		return s.cfg.Env.Profile.Allows(permission.DoomLoop, strings.ToLower(c.Name))
	}
	if !slices.ContainsFunc(calls, func(c model.ToolCall) bool { return !allowed(c) }) {
		s.repeats = repeats{}
		return "", nil
	}
	return s.repeats.turn(calls, results)
}

func (r *repeats) turn(calls []model.ToolCall, results []model.Message) (hint string, end *End) {
	made, most := signature(calls, results)
	r.turns = append(r.turns, sha256.Sum256([]byte(made)))
	r.turns = r.turns[max(len(r.turns)-2*endAfter, 0):]
	times, what := r.times(1), "the same call"
	if pairs := r.times(2); pairs > times {
		times, what = pairs, "the same two calls by turns"
	}
	switch {
	case times >= endAfter:
		return "", &End{Code: event.CodeDoomLoop, Reason: fmt.Sprintf("doom_loop: the model made %s %d times in a row (%s)", what, times, calls[0].Name), OfModel: true}
	case times >= hintAfterCalls:
		return fmt.Sprintf("\n\n[You have made %s %d times in a row. The result is the same each time: try something else, or explain what keeps you from continuing.]", what, times), nil
	}
	if most >= hintAfterCalls {
		return fmt.Sprintf("\n\n[You have made the same call %d times in this turn, with the same result: once is enough.]", most), nil
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

// signature is equal for turns that make the same calls with the same results, however
// their arguments are formatted, and wherever the full outputs are saved. It also returns
// how often the most frequent call was made.
func signature(calls []model.ToolCall, results []model.Message) (text string, most int) {
	var all []string
	times := map[string]int{}
	for i, c := range calls {
		one := strings.ToLower(c.Name) + " " + jsontext.Canonical(c.Input) + "\n" + savedOutput.ReplaceAllString(results[i].Text, "")
		times[one]++
		most = max(most, times[one])
		all = append(all, one)
	}
	return strings.Join(slices.Compact(all), "\n"), most // repeated calls count as one
}

// savedOutput matches the number in the name of a file with a call's full output.
var savedOutput = regexp.MustCompile(`-[0-9]+\.txt\b`)
