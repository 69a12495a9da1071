package wire

import (
	"errors"

	"github.com/millhand/millhand/internal/model"
)

// FinishOf maps a provider's finish reason to a [model.Finish] by the documented values
// of its API: "" if there was none, and unknown for other values.
func FinishOf(words map[string]model.Finish, word string) model.Finish {
	if word == "" {
		return ""
	}
	if finish, ok := words[word]; ok {
		return finish
	}
	return model.FinishUnknown
}

// StreamEnd is the state of a response at its end.
type StreamEnd struct {
	Text, Reasoning string
	Calls           *Calls
	Finish          model.Finish // "" if the provider sent no finish reason
	Refused         bool         // the model refused
	Announced       bool         // the provider reported the end of the response
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
		e.Finish = model.FinishTools // the calls count, not the finish reason
	}
	if e.Refused {
		e.Finish = model.FinishFilter
	}
	return model.Response{Text: e.Text, Reasoning: e.Reasoning, Calls: made, Finish: e.Finish}, nil
}
