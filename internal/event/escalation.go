package event

// Escalation is the payload of model.escalated: a model has used up its attempts, and the next one continues in a new
// conversation of the same session.
type Escalation struct {
	From    string  `json:"from"`           // the model that failed
	To      string  `json:"to"`             // the next one
	Attempt int     `json:"attempt"`        // the last one of the model that failed
	Outcome Outcome `json:"outcome"`        // that the job would have had
	Reason  string  `json:"reason"`         // why it failed, in one line
	Failed  string  `json:"failed"`         // what failed, for the prompt of the next model
	Base    bool    `json:"base,omitempty"` // the changes of the model that failed were undone
	Tree    string  `json:"tree,omitempty"` // saved state of the workspace; empty for that of the start
}
