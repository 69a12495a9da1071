package ending

import (
	"encoding/json"

	"github.com/millhand/millhand/internal/event"
)

// Result is what the sessions of a job have produced.
type Result struct {
	Attempts int
	Final    string               // the model's final message
	Output   json.RawMessage      // the final response, if there is an output schema
	Requests []event.ForgeRequest // of the final response, if the task allows any
	Totals   event.Totals
	Models   []event.ModelCost // of a job that has escalated; nil for others
	Hunks    *event.Hunks      // of the last attempt with ablate; nil for none
	Review   *event.Review     // the last one, with the objections that are left; nil for none
}

// NoResult is the result of a job without a session.
func NoResult() *Result { return &Result{} }
