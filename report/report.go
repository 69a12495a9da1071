package report

import (
	"encoding/json"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// SchemaVersion is the version of report.json that this package writes.
const SchemaVersion = 1

// Report is what a run did, folded from its events; its JSON form is
// report.json. Slices and maps are never nil.
type Report struct {
	SchemaVersion int       `json:"schema_version"`
	Run           Run       `json:"run"`
	Jobs          []Job     `json:"jobs"` // in the order of the plan
	Warnings      []Warning `json:"warnings"`
}

// Run is the run as a whole.
type Run struct {
	ID         string             `json:"id"`
	StartedAt  Time               `json:"started_at"`
	FinishedAt Time               `json:"finished_at"` // the last event's time
	ElapsedMS  int64              `json:"elapsed_ms"`
	Manifest   []string           `json:"manifest"`
	PlanHash   string             `json:"plan_hash"`
	Shard      *event.Shard       `json:"shard"` // nil for the whole plan
	Version    string             `json:"version"`
	Policies   []event.PolicyFile `json:"policies"` // that bound the plan
	Outcome    event.Outcome      `json:"outcome"`
	ExitCode   event.Exit         `json:"exit_code"`
	Totals     Totals             `json:"totals"`
}

// Totals are sums over the jobs. Passed, Failed and Skipped add up to Jobs:
// whatever neither passed nor was skipped has failed.
type Totals struct {
	Jobs        int           `json:"jobs"`
	Passed      int           `json:"passed"`
	Failed      int           `json:"failed"`
	Skipped     int           `json:"skipped"`
	Turns       int           `json:"turns"`
	ToolCalls   int           `json:"tool_calls"`
	DeniedCalls int           `json:"denied_calls"`
	DeniedTurns int           `json:"denied_turns"`    // turns in which a call was denied
	DeniedCost  *money.USD    `json:"denied_cost_usd"` // what the denied calls took of their turns' cost; nil when unknown
	Usage       money.Usage   `json:"usage"`
	CostUSD     *money.USD    `json:"cost_usd"` // nil when any job's cost is unknown
	Changes     int           `json:"changes"`  // changed paths
	Retries     int           `json:"retries"`  // requests to models that were made again
	Lost        *money.Charge `json:"lost"`     // the part of usage and cost that gave no answer; nil for nothing
}

// Job is one job of the plan, whether or not it began.
type Job struct {
	ID           string            `json:"id"`
	Task         string            `json:"task"`
	Repo         string            `json:"repo"`
	Matrix       map[string]string `json:"matrix"`
	Outcome      event.Outcome     `json:"outcome"`
	Reason       string            `json:"reason"`      // empty for a job that passed, unless it only pushed what an earlier run had committed
	ReasonCode   event.Code        `json:"reason_code"` // the reason in one word; empty where there is none for it
	Attempts     int               `json:"attempts"`
	Reruns       int               `json:"reruns"` // earlier runs of the job that a merge found and that this one replaces
	Turns        int               `json:"turns"`  // with usage and cost, the sum over all runs of the job; the rest is of the last
	ElapsedMS    int64             `json:"elapsed_ms"`
	Model        string            `json:"model"`
	Profile      string            `json:"profile"`
	Sandbox      event.Sandbox     `json:"sandbox"` // level is empty for a job that never began
	Usage        money.Usage       `json:"usage"`
	CostUSD      *money.USD        `json:"cost_usd"` // nil when unknown, 0 without a model call
	FinalMessage string            `json:"final_message"`
	Output       json.RawMessage   `json:"output"` // nil without an output schema
	Verify       []event.Verify    `json:"verify"` // in the order of the runs, all attempts
	Changes      []event.Change    `json:"changes"`
	Commit       *event.Commit     `json:"commit"`
	Published    *Published        `json:"published"`
	PullRequest  *struct{}         `json:"pull_request"` // always nil: no event tells of one yet
	Calls        []Call            `json:"calls"`
	Denied       []Denial          `json:"denied"` // the calls that were denied, once more
	DeniedTurns  int               `json:"denied_turns"`
	DeniedCost   *money.USD        `json:"denied_cost_usd"`
	Sessions     []Session         `json:"sessions"`
	Retries      int               `json:"retries"`   // requests that were made again
	Lost         *money.Charge     `json:"lost"`      // the part of usage and cost that gave no answer; nil for nothing
	Fallbacks    []Fallback        `json:"fallbacks"` // changes of the model

	location string // the repository as a line of a repository list; for failed.txt alone
}

// Published is where a job's commit was pushed.
type Published struct {
	Remote   string `json:"remote"` // URL, without credentials
	Branch   string `json:"branch"`
	Hash     string `json:"hash"`
	Replaced string `json:"replaced"` // the commit that the branch had before; empty for a new branch
}

// Call is one tool call, in its last state. The session, the turn and the id
// together name it: providers use an id again in a later turn.
type Call struct {
	ID           string           `json:"id"`
	Session      string           `json:"session"`
	Turn         int              `json:"turn"`
	Tool         string           `json:"tool"`
	Input        json.RawMessage  `json:"input"` // nil when the model gave none
	Status       event.CallStatus `json:"status"`
	Decision     *event.Decision  `json:"decision"` // nil when it never came to be decided
	Title        string           `json:"title"`
	OutputBytes  int64            `json:"output_bytes"`
	Truncated    bool             `json:"truncated"`
	Cached       bool             `json:"cached"`
	Error        string           `json:"error"`
	StartedAt    Time             `json:"started_at"`
	ElapsedMS    int64            `json:"elapsed_ms"`
	CostShareUSD *money.USD       `json:"cost_share_usd"` // the turn's cost over its calls; nil when unknown
}

// Denial is a denied call with the rule that denied it.
type Denial struct {
	ID      string          `json:"id"`
	Session string          `json:"session"`
	Turn    int             `json:"turn"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Rule    string          `json:"rule"`
	Source  string          `json:"source"` // where the rule stands
	Error   string          `json:"error"`  // what the model was told
}

// Session is one conversation of a job.
type Session struct {
	ID          string      `json:"id"`
	Agent       string      `json:"agent"`
	Parent      *string     `json:"parent"` // nil for the job's own session
	Model       string      `json:"model"`
	Turns       int         `json:"turns"`
	Usage       money.Usage `json:"usage"`
	CostUSD     *money.USD  `json:"cost_usd"`    // nil when unknown
	Prunes      int         `json:"prunes"`      // how often answers of old calls were taken out of the conversation
	Compactions int         `json:"compactions"` // how often a summary took the place of its older part
	End         string      `json:"end"`         // empty when the session never came to its end
	Reason      string      `json:"reason"`

	TurnCosts []TurnCost `json:"turn_costs"`
}

// TurnCost is what one turn used up, its failed requests included.
type TurnCost struct {
	Turn    int           `json:"turn"`
	Model   string        `json:"model"` // who answered
	Usage   money.Usage   `json:"usage"`
	CostUSD *money.USD    `json:"cost_usd"` // nil when unknown
	Retries int           `json:"retries"`
	Lost    *money.Charge `json:"lost"`  // the part of it that gave no answer; nil for nothing
	Error   string        `json:"error"` // why the turn has no answer
}

// Fallback is a change of the model, because a provider was down.
type Fallback struct {
	Session string `json:"session"`
	Turn    int    `json:"turn"` // the first that the new model was asked for
	From    string `json:"from"`
	To      string `json:"to"`
	Error   string `json:"error"` // what the one before failed with
}

// Warning is something that the user should know and that is no outcome.
type Warning struct {
	Job     *string `json:"job"` // nil when it is about the run
	Message string  `json:"message"`
}

// Time is a moment. Its JSON form is RFC 3339 in UTC with milliseconds; the
// zero value stands for an unknown time and is null there.
type Time struct{ time.Time }

// stamp makes a Time of what an event holds. A year that RFC 3339 can't write
// is no time that anything happened at.
func stamp(t time.Time) Time {
	t = t.UTC()
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return Time{}
	}
	return Time{t}
}

// MarshalJSON never fails.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
}
