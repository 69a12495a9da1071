package wire

import (
	"errors"

	"github.com/millhand/millhand/internal/model"
)

// FinishOf is what a provider's word for why the model stopped means, by the
// words that its API documents: "" if it said none, and unknown for another.
func FinishOf(words map[string]model.Finish, word string) model.Finish {
	if word == "" {
		return ""
	}
	if finish, ok := words[word]; ok {
		return finish
	}
	return model.FinishUnknown
}

// StreamEnd is what is known of a response at its end.
type StreamEnd struct {
	Text, Reasoning string
	Calls           *Calls
	Finish          model.Finish // "" if the provider never said why the model stopped
	Refused         bool         // the model refused
	Announced       bool         // it reported the end of the response nevertheless
}

// Response returns the response without usage, cost and state. It fails if the
// response is incomplete or invalid.
func (e StreamEnd) Response() (model.Response, error) {
	made, named := e.Calls.Finish()
	switch {
	case e.Finish == "" && !e.Announced:
		return model.Response{}, errors.New("response ended before the model finished")
	case !named:
		return model.Response{}, errors.New("the model called a tool without a name")
	case e.Finish == model.FinishTools && len(made) == 0:
		return model.Response{}, errors.New("the model stopped for tool calls, but none came")
	case e.Finish == "" && len(made) == 0 && e.Text == "":
		return model.Response{}, errors.New("empty response")
	case e.Finish == "":
		e.Finish = model.FinishUnknown
	}
	if len(made) > 0 && (e.Finish == model.FinishStop || e.Finish == model.FinishUnknown) {
		e.Finish = model.FinishTools // what it did counts, not what it said
	}
	if e.Refused {
		e.Finish = model.FinishFilter
	}
	return model.Response{Text: e.Text, Reasoning: e.Reasoning, Calls: made, Finish: e.Finish}, nil
}
