package ending

import (
	"encoding/json"

	"github.com/millhand/millhand/internal/event"
)

// Result is what the sessions of a job have produced.
type Result struct {
	Attempts int
	Final    string          // the model's final message
	Output   json.RawMessage // the final response, if there is an output schema
	Totals   event.Totals
}

// NoResult is the result of a job without a session.
func NoResult() *Result { return &Result{} }
