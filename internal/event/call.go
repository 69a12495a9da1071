package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// CallStatus is the status of a tool call.
type CallStatus string

// The statuses of a tool call: pending and running, then one of the others.
const (
	CallPending   CallStatus = "pending"
	CallRunning   CallStatus = "running"
	CallCompleted CallStatus = "completed"
	CallError     CallStatus = "error"
	CallDenied    CallStatus = "denied"
)

// Decision is the result of the permission rules for a call. Rule is the deciding
// rule and Source its location (file:line, or the preset's name).
type Decision struct {
	Effect string `json:"effect"` // allow or deny
	Rule   string `json:"rule"`
	Source string `json:"source"`
}

// Call is the payload of call. Tool is that of the model, unchanged, and so is Input unless a
// hook replaced it before the decision.
type Call struct {
	ID          string          `json:"id"`
	Turn        int             `json:"turn"` // from 1; 0 for calls that the prompt requests, before the first turn
	Tool        string          `json:"tool"`
	Extension   string          `json:"extension,omitempty"`   // name of the program that ran it, such as an MCP server
	Input       json.RawMessage `json:"input,omitempty"`       // the arguments; a JSON string that contains them if they are not valid JSON
	InputGiven  json.RawMessage `json:"input_given,omitempty"` // the arguments of the model, if a hook replaced them
	Status      CallStatus      `json:"status"`
	Decision    *Decision       `json:"decision,omitempty"` // nil if no decision was made
	Title       string          `json:"title,omitempty"`
	OutputBytes int64           `json:"output_bytes"`
	Truncated   bool            `json:"truncated"`
	Cached      bool            `json:"cached,omitempty"` // the result is that of an identical earlier call
	Error       string          `json:"error,omitempty"`
	StartedAt   time.Time       `json:"started_at"`
	ElapsedMS   int64           `json:"elapsed_ms"`
	Metadata    *CallMetadata   `json:"metadata,omitempty"` // nil if nothing in it applies
}

// CallMetadata describes the result of a call. Fields that do not apply are omitted.
type CallMetadata struct {
	ExitCode     *int       `json:"exit_code,omitempty"`      // of the command; -1 if it was killed
	Added        *int       `json:"added,omitempty"`          // lines, the sum over the files that the call wrote
	Removed      *int       `json:"removed,omitempty"`        // lines, like Added
	Matcher      string     `json:"matcher,omitempty"`        // by which edit found the text to replace: exact, line-trimmed, ...
	OutputPath   string     `json:"output_path,omitempty"`    // full output of a truncated result, relative to the report directory
	HTTPStatus   int        `json:"http_status,omitempty"`    // of the response
	ChildSession string     `json:"child_session,omitempty"`  // id of the session that the call started or continued
	ChildCostUSD *money.USD `json:"child_cost_usd,omitempty"` // cost of the child session within this call; nil if unknown
	Loaded       []string   `json:"loaded,omitempty"`         // AGENTS.md or CLAUDE.md of directories that were attached to the result, relative to the workspace

	Custom        json.RawMessage `json:"custom,omitempty"`         // a JSON object that a tool file or a plugin reported
	CustomOmitted int             `json:"custom_omitted,omitempty"` // size in bytes of a Custom that is too large, and left out
}

// String describes the metadata for people, except the path of the output and Custom; "" for nil and
// for a command that succeeded.
func (m *CallMetadata) String() string {
	if m == nil {
		return ""
	}
	var all []string
	if m.ExitCode != nil && *m.ExitCode != 0 {
		all = append(all, ExitText(*m.ExitCode, 0))
	}
	if m.Added != nil && m.Removed != nil {
		all = append(all, fmt.Sprintf("+%d -%d lines", *m.Added, *m.Removed))
	}
	if m.Matcher != "" && m.Matcher != "exact" {
		all = append(all, "matched by "+m.Matcher)
	}
	if m.HTTPStatus != 0 {
		all = append(all, fmt.Sprintf("HTTP status %d", m.HTTPStatus))
	}
	if m.ChildSession != "" {
		all = append(all, "session "+m.ChildSession+", "+money.Rounded(m.ChildCostUSD))
	}
	return strings.Join(all, ", ")
}
