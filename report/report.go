package report

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// SchemaVersion is the version of report.json that this package writes.
const SchemaVersion = 1

// Report is the report of a run, made from its events; its JSON form is report.json.
// Slices and maps are never nil.
type Report struct {
	SchemaVersion int       `json:"schema_version"`
	Run           Run       `json:"run"`
	Jobs          []Job     `json:"jobs"` // in the order of the plan
	Warnings      []Warning `json:"warnings"`
}

// HasFindings reports whether a job has reported findings, or that there are none.
func (r *Report) HasFindings() bool {
	for i := range r.Jobs {
		if r.Jobs[i].Findings() != nil {
			return true
		}
	}
	return false
}

// Run describes the run.
type Run struct {
	ID         string             `json:"id"`
	Name       string             `json:"name"` // of the manifest, or its file's base name; empty for logs of earlier releases
	StartedAt  Time               `json:"started_at"`
	FinishedAt Time               `json:"finished_at"` // the last event's time
	ElapsedMS  int64              `json:"elapsed_ms"`
	Manifest   []string           `json:"manifest"`
	PlanHash   string             `json:"plan_hash"`
	Shard      *event.Shard       `json:"shard"` // nil for the entire plan
	Version    string             `json:"version"`
	StartedBy  *event.StartedBy   `json:"started_by"`  // nil outside of CI; of shards the first
	ForkedFrom *ForkedFrom        `json:"forked_from"` // nil unless the run continues a session of another run
	Policies   []event.PolicyFile `json:"policies"`    // that applied to the plan
	Sources    []event.Source     `json:"sources"`     // of repositories, with what forges have listed
	Prices     *event.PriceTable  `json:"prices"`      // that costs were calculated with, of shards the oldest; nil if unknown

	MaxCostUSD *money.USD `json:"max_cost_usd"` // budget of the run; nil for none, and after a merge

	Rollout *event.Rollout `json:"rollout,omitempty"` // nil unless the manifest has one, and after a merge

	Outcome  event.Outcome `json:"outcome"`
	ExitCode event.Exit    `json:"exit_code"`
	Totals   Totals        `json:"totals"`
}

// Title returns the name of the run for headings.
func (r *Run) Title() string { return cmp.Or(r.Name, "millhand") }

// ForkedFrom is the message of another run's session from which a run was forked. Turns,
// usage and costs do not include the copied conversation.
type ForkedFrom struct {
	Run     string `json:"run"` // id of the other run
	Job     string `json:"job"`
	Message string `json:"message"`
	Turn    int    `json:"turn"` // last turn of the copied conversation; 0 for none
}

// Totals are sums over the jobs. Passed, Failed and Skipped add up to Jobs: every job
// that neither passed nor was skipped counts as failed.
type Totals struct {
	Jobs        int           `json:"jobs"`
	Passed      int           `json:"passed"`
	Failed      int           `json:"failed"`
	Skipped     int           `json:"skipped"`
	Turns       int           `json:"turns"`
	ToolCalls   int           `json:"tool_calls"`
	DeniedCalls int           `json:"denied_calls"`
	DeniedTurns int           `json:"denied_turns"`    // turns in which a call was denied
	DeniedCost  *money.USD    `json:"denied_cost_usd"` // cost share of denied calls; nil if unknown
	Usage       money.Usage   `json:"usage"`
	CostUSD     *money.USD    `json:"cost_usd"`          // nil if any job's cost is unknown
	CostAtLeast *money.USD    `json:"cost_usd_at_least"` // lower bound of an unknown cost; nil if CostUSD is known
	Changes     int           `json:"changes"`           // changed paths
	Retries     int           `json:"retries"`           // retried requests to models
	Lost        *money.Charge `json:"lost"`              // usage and cost of requests without a response, included above; nil for none
}

// Job is one job of the plan, started or not.
type Job struct {
	ID           string              `json:"id"`
	Task         string              `json:"task"`
	Repo         string              `json:"repo"`
	Matrix       map[string]string   `json:"matrix"`
	Outcome      event.Outcome       `json:"outcome"`
	Reason       string              `json:"reason"`      // empty for a job that passed, unless it only pushed the commit of an earlier run, or published less than its task asks for
	ReasonCode   event.Code          `json:"reason_code"` // the reason as a code; may be empty
	Attempts     int                 `json:"attempts"`
	Reruns       int                 `json:"reruns"` // number of earlier runs of the job that this one replaces, after a merge
	Turns        int                 `json:"turns"`  // like usage and cost, the sum over all runs of the job; other fields are of the last run
	StartedAt    Time                `json:"started_at"`
	ElapsedMS    int64               `json:"elapsed_ms"`
	Phases       []Phase             `json:"phases"` // in their order
	Model        string              `json:"model"`
	ModelServed  string              `json:"model_served"` // that of the last turn of the job's own session that has one
	Profile      string              `json:"profile"`
	Base         *Base               `json:"base"`    // that the job started from; nil for a job that never started, or without a commit
	Sandbox      event.Sandbox       `json:"sandbox"` // level is empty for a job that never started
	Usage        money.Usage         `json:"usage"`
	CostUSD      *money.USD          `json:"cost_usd"` // nil if unknown, 0 without a model call
	FinalMessage string              `json:"final_message"`
	Output       json.RawMessage     `json:"output"`      // nil without an output schema
	Review       *Review             `json:"review"`      // the output as findings, and the review of the changes; nil without both
	Escalation   []Escalation        `json:"escalation"`  // a row for each model, if the first has failed
	OutputFile   string              `json:"output_file"` // the message as a file, below the manifest's directory or of --output-file; empty for none
	Baseline     []Baseline          `json:"baseline"`    // verify commands before the agent started
	Verify       []Verify            `json:"verify"`      // in the order of the runs, all attempts
	Script       *event.Script       `json:"script,omitempty"`
	Changes      []event.Change      `json:"changes"`
	Patch        string              `json:"patch"`            // path of the changes as a patch below the report directory; empty for none
	Untracked    []event.Untracked   `json:"untracked_inputs"` // files outside of changes that commands created or changed and verify could read
	LeftOut      []event.LeftOutPath `json:"left_out"`         // files that others than the agent made, which are not in Changes
	Hunks        *event.Hunks        `json:"hunks"`            // nil without ablate, and if it did not end
	Commit       *event.Commit       `json:"commit"`
	Published    *Published          `json:"published"`
	PullRequest  *event.PullRequest  `json:"pull_request"` // nil without one
	Comment      *Comment            `json:"comment"`      // nil without one
	Requests     []Request           `json:"requests"`     // of the agent, in the order of its final message
	Calls        []Call              `json:"calls"`
	Denied       []Denial            `json:"denied"` // the denied calls, which are also in Calls
	DeniedTurns  int                 `json:"denied_turns"`
	DeniedCost   *money.USD          `json:"denied_cost_usd"`
	Sessions     []Session           `json:"sessions"`
	Retries      int                 `json:"retries"`   // retried requests
	WaitMS       int64               `json:"wait_ms"`   // waits of its requests before retries and for providers that were down
	Lost         *money.Charge       `json:"lost"`      // usage and cost of requests without a response; nil for none
	Fallbacks    []Fallback          `json:"fallbacks"` // to other models
	Network      []NetworkDenial     `json:"network"`   // denied attempts of commands, each host and port once

	Extensions []Extension `json:"extensions"` // in the order of their first event
	Warnings   []string    `json:"warnings"`   // those of the report that are about the job
	MarkedBy   *MarkedBy   `json:"marked_by"`  // nil for a job that has all its rights

	Origin   Origin `json:"-"`
	Location string `json:"-"` // the repository as a line of a repository list

	packed    *packedLists // see Complete; nil for a job that is complete
	calls     int          // number of calls
	atLeast   money.USD    // lower bound of an unknown cost
	continued bool         // see Continued
}

// MarkedBy is what a job has read first of what others have written. Since then it has only the rights that
// after_untrusted leaves.
type MarkedBy struct {
	Session string `json:"session"`
	Turn    int    `json:"turn"` // 0 for the prompt
	Call    string `json:"call"` // id; empty if no call has read it
	Tool    string `json:"tool"` // of the call; likewise
	What    string `json:"what"`
}

// CallCount returns the number of calls, also of a job without its list of calls.
func (j *Job) CallCount() int { return max(j.calls, len(j.Calls)) }

// Started reports whether the job started.
func (j *Job) Started() bool { return j.Sandbox.Level != "" }

// Verifies groups the runs of verify commands by command, in the order of their first
// runs; the last run of each is its result.
func (j *Job) Verifies() [][]Verify {
	var all [][]Verify
	index := map[string]int{}
	for _, v := range j.Verify {
		i, ok := index[v.Name]
		if !ok {
			i = len(all)
			index[v.Name] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], v)
	}
	return all
}

// Directory returns the absolute path of the job's repository; "" if it is not a directory of
// this machine that the job works on directly or in a worktree.
func (j *Job) Directory() string {
	dir, _, _ := strings.Cut(j.Location, " ref=")
	if !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// Origin is where the repository of a job is published.
type Origin struct {
	Remote string // URL without credentials; empty if it is unknown
	Forge  string // kind of its forge, if the manifest has it
	Below  string // the workspace in the repository, slash separated; empty for all of it
}

// Base is a commit that a job started from.
type Base struct {
	Ref    string `json:"ref"` // branch, tag or commit that it was resolved from; empty if it has no name
	Commit string `json:"commit"`
}

// Phase is a phase of a job, such as prepare, session or commit.
type Phase struct {
	Name      string `json:"name"`
	StartedAt Time   `json:"started_at"`
	ElapsedMS int64  `json:"elapsed_ms"`
	Error     string `json:"error"`
}

// Verify is a run of a verify command.
type Verify struct {
	event.Verify
	StartedAt Time `json:"started_at"`
}

// Published is a pushed commit.
type Published struct {
	Remote   string `json:"remote"` // URL, without credentials
	Branch   string `json:"branch"`
	Hash     string `json:"hash"`
	Replaced string `json:"replaced"` // previous commit of the branch; empty for a new branch
}

// Comment is the final message of a job on an issue or pull request.
type Comment struct {
	URL     string `json:"url"`
	Created bool   `json:"created"` // false: the one of an earlier run was updated
	Lines   int    `json:"lines"`   // findings that are comments on lines of the diff
}

// Request is a change of the forge that the agent has requested. Texts are empty where they do not apply.
type Request struct {
	Kind    event.RequestKind    `json:"kind"`
	Label   string               `json:"label"`
	Title   string               `json:"title"`
	Body    string               `json:"body"`
	Outcome event.RequestOutcome `json:"outcome"`
	Reason  string               `json:"reason"`
	URL     string               `json:"url"`
}

// What names what is requested, in a few words.
func (r Request) What() string {
	return event.ForgeRequest{Kind: r.Kind, Label: r.Label, Title: r.Title}.What()
}

// Call is the final state of one tool call. It is identified by session, turn and id:
// providers may reuse an id in a later turn.
type Call struct {
	ID           string           `json:"id"`
	Session      string           `json:"session"`
	Turn         int              `json:"turn"`
	Tool         string           `json:"tool"`
	Extension    string           `json:"extension,omitempty"`   // the program that ran it, such as an MCP server
	Input        json.RawMessage  `json:"input"`                 // nil without arguments
	InputGiven   json.RawMessage  `json:"input_given,omitempty"` // of the model, if a hook replaced them
	Status       event.CallStatus `json:"status"`
	Decision     *event.Decision  `json:"decision"` // nil if no decision was made
	Title        string           `json:"title"`
	OutputBytes  int64            `json:"output_bytes"`
	Truncated    bool             `json:"truncated"`
	Cached       bool             `json:"cached"`
	Error        string           `json:"error"`
	StartedAt    Time             `json:"started_at"`
	ElapsedMS    int64            `json:"elapsed_ms"`
	CostShareUSD *money.USD       `json:"cost_share_usd"` // the turn's cost divided by its calls; nil if unknown

	Metadata *event.CallMetadata `json:"metadata,omitempty"` // nil if nothing in it applies
}

// Denial is a denied call with the rule that denied it.
type Denial struct {
	ID      string          `json:"id"`
	Session string          `json:"session"`
	Turn    int             `json:"turn"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Rule    string          `json:"rule"`
	Source  string          `json:"source"` // location of the rule
	Error   string          `json:"error"`  // message to the model
}

// By formats the rule that denied the call and its location; only the source without a
// rule.
func (d *Denial) By(quote func(string) string) string {
	if d.Rule == "" {
		return quote(d.Source)
	}
	return "rule " + quote(d.Rule) + " (" + quote(d.Source) + ")"
}

// Session is one conversation of a job.
type Session struct {
	ID          string      `json:"id"`
	Agent       string      `json:"agent"`
	Parent      *string     `json:"parent"` // nil for the job's own session
	Model       string      `json:"model"`
	Turns       int         `json:"turns"`
	Usage       money.Usage `json:"usage"`
	CostUSD     *money.USD  `json:"cost_usd"`    // nil if unknown
	Prunes      int         `json:"prunes"`      // number of times that results of old calls were pruned
	Compactions int         `json:"compactions"` // number of times that a summary replaced older messages
	End         string      `json:"end"`         // empty if the session did not end
	Reason      string      `json:"reason"`
	RevertedTo  *int        `json:"reverted_to"` // turn that the files have the state of, and from which the next prompt continues; nil unless it was reverted

	TurnCosts []TurnCost `json:"turn_costs"`
}

// Name returns the name of the session in its run, by which its files are named: the id is RUN/NAME.
func (s *Session) Name() string { return s.ID[strings.LastIndexByte(s.ID, '/')+1:] }

// TurnCost is the usage and cost of one turn, including failed requests.
type TurnCost struct {
	Turn   int    `json:"turn"`
	Model  string `json:"model"`        // that responded, as the manifest names it
	Served string `json:"model_served"` // its name in the response; empty if it has none
	Finish string `json:"finish"`       // why the response ended; empty without one

	StartedAt Time  `json:"started_at"`
	ElapsedMS int64 `json:"elapsed_ms"` // the model call with its retries, without tool calls

	Usage   money.Usage   `json:"usage"`
	CostUSD *money.USD    `json:"cost_usd"` // nil if unknown
	Retries int           `json:"retries"`
	Lost    *money.Charge `json:"lost"`  // usage and cost of requests without a response; nil for none
	Error   string        `json:"error"` // why the turn has no response
}

// Fallback is a fallback to another model, because a provider was down.
type Fallback struct {
	Session string `json:"session"`
	Turn    int    `json:"turn"` // the first turn with the new model
	From    string `json:"from"`
	To      string `json:"to"`
	Error   string `json:"error"` // of the previous model
}

// NetworkDenial is a connection that the sandbox denied to the job's commands.
type NetworkDenial struct {
	Host   string `json:"host"`
	Port   int    `json:"port"` // 0 if the target was invalid
	Reason string `json:"reason"`
	Fix    string `json:"fix"` // what to write in the manifest; may be empty
}

// Warning is a message for the user that does not affect the outcome.
type Warning struct {
	Job     *string `json:"job"` // nil if it concerns the run
	Message string  `json:"message"`
}

// warn adds a warning about a job, or about the run if job is empty.
func (r *Report) warn(job, message string) {
	r.Warnings = append(r.Warnings, warning(job, message))
}

func warning(job, message string) Warning {
	if job == "" {
		return Warning{Message: message}
	}
	return Warning{Job: &job, Message: message}
}

// Time is a time whose JSON form is RFC 3339 in UTC with milliseconds. The zero value
// is unknown, and null in JSON.
type Time struct{ time.Time }

// stamp converts the time of an event. A year that RFC 3339 does not support becomes
// the zero value.
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
