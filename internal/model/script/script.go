package script

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// Script has the turns of a model in a run, and in child sessions. It is immutable.
type Script struct {
	name   string
	turns  []Turn
	agents map[string][]Turn
}

// Turns returns the turns of the main conversation for agent "", else those
// under the agent's name. An agent that the script does not name is an error.
// The caller must not change the turns.
func (s *Script) Turns(agent string) ([]Turn, error) {
	if agent == "" {
		return s.turns, nil
	}
	if turns, ok := s.agents[agent]; ok {
		return turns, nil
	}
	return nil, fmt.Errorf("%s has no turns for agent %q (it has: %s)", s.name, agent, strings.Join(s.Agents(), ", "))
}

// Agents returns the names of the agents that have turns of their own, sorted.
func (s *Script) Agents() []string {
	return slices.Sorted(maps.Keys(s.agents))
}

// Turn is one response of a scripted model.
type Turn struct {
	Number int    // from 1
	Source string // file:line

	Text      string
	Reasoning string
	Calls     []model.ToolCall
	Finish    model.Finish
	Usage     *money.Usage // nil if the script states none
	Expect    []*regexp.Regexp
	Delay     time.Duration // before the response
	Error     *model.Error  // returned instead of a response, or nil
}

// Response is the response of a turn without an Error.
func (t *Turn) Response() model.Response {
	resp := model.Response{
		Text:      t.Text,
		Reasoning: t.Reasoning,
		Calls:     slices.Clone(t.Calls),
		Finish:    t.Finish,
		Usage:     &money.Usage{},
	}
	if t.Usage != nil {
		*resp.Usage = *t.Usage
	}
	return resp
}

// Check returns an error that names the expectation that is not met by what
// came since the last turn, if there is one.
func (t *Turn) Check(messages []model.Message) error {
	came := news(messages)
	for _, want := range t.Expect {
		if !want.MatchString(came) {
			return model.Fail(model.ClassScript,
				fmt.Errorf("%s: turn %d expects %q, which does not match what came since the last turn: %s", t.Source, t.Number, want, excerpt(came)))
		}
	}
	return nil
}

// news is the text of the messages after the model's last one.
func news(messages []model.Message) string {
	var came []string
	for _, m := range slices.Backward(messages) {
		if m.Role == model.Assistant {
			break
		}
		came = append(came, m.Text)
	}
	slices.Reverse(came)
	return strings.Join(came, "\n")
}

// excerpt shortens s to its start and its end, which are most informative.
func excerpt(s string) string {
	const head, tail = 400, 800
	if s == "" {
		return "nothing"
	}
	if len(s) <= head+tail {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q ... (%d bytes) ... %q", s[:head], len(s)-head-tail, s[len(s)-tail:])
}
