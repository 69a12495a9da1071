package event

import "fmt"

// ForgeRequest is the payload of forge_request.started and forge_request: a change of the forge that the agent has requested in
// its final message.
type ForgeRequest struct {
	ID      string         `json:"id"`                // of the request in the job: equal for the same request of a later process
	Kind    RequestKind    `json:"kind"`              // label, issue or comment
	Label   string         `json:"label,omitempty"`   // of a label
	Title   string         `json:"title,omitempty"`   // of an issue
	Body    string         `json:"body,omitempty"`    // of an issue or a comment
	Outcome RequestOutcome `json:"outcome,omitempty"` // empty in forge_request.started
	Reason  string         `json:"reason,omitempty"`  // why it was not made
	URL     string         `json:"url,omitempty"`     // of what was made
}

// RequestKind is what is requested.
type RequestKind string

// The kinds.
const (
	LabelRequest   RequestKind = "label"
	IssueRequest   RequestKind = "issue"
	CommentRequest RequestKind = "comment"
)

// RequestOutcome is what became of a request.
type RequestOutcome string

// The outcomes.
const (
	RequestDone    RequestOutcome = "done"
	RequestRefused RequestOutcome = "refused" // the task does not allow it
	RequestFailed  RequestOutcome = "failed"  // the forge did not accept it
	RequestSkipped RequestOutcome = "skipped" // it is allowed, and was not made
)

// What names what is requested, in a few words.
func (r ForgeRequest) What() string {
	switch r.Kind {
	case LabelRequest:
		return fmt.Sprintf("label %q", r.Label)
	case IssueRequest:
		return fmt.Sprintf("issue %q", r.Title)
	case CommentRequest:
	}
	return string(r.Kind)
}
