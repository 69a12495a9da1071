package event

import (
	"encoding/json"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// Type says what an event is about; the constants are the whole list.
type Type string

// The event types, as the package documentation describes them.
const (
	RunStarted     Type = "run.started"
	JobStarted     Type = "job.started"
	PhaseEnded     Type = "phase.ended"
	SessionStarted Type = "session.started"
	AttemptStarted Type = "attempt.started"
	TurnStarted    Type = "turn.started"
	TextSaid       Type = "text"
	DeltaCame      Type = "delta"
	RetryMade      Type = "retry"
	CallChanged    Type = "call"
	TurnEnded      Type = "turn.ended"
	PruneMade      Type = "prune"
	CompactionMade Type = "compaction"
	SessionEnded   Type = "session.ended"
	VerifyEnded    Type = "verify.ended"
	ChangesFound   Type = "changes"
	CommitMade     Type = "commit"
	WorkPublished  Type = "published"
	JobEnded       Type = "job.ended"
	NetworkTried   Type = "network"
	WarningGiven   Type = "warning"
	RunEnded       Type = "run.ended"
)

// Event is one line of the stream. Seq and Time are set by the [Stream] that
// it passes through; a producer leaves them zero.
type Event struct {
	Seq     int64     `json:"seq"`
	Time    time.Time `json:"time"`
	Type    Type      `json:"type"`
	Job     string    `json:"job,omitempty"`
	Session string    `json:"session,omitempty"`

	Run         *Run        `json:"run,omitempty"`
	JobStart    *JobStart   `json:"job_start,omitempty"`
	Phase       *Phase      `json:"phase,omitempty"`
	SessionInfo *Session    `json:"session_info,omitempty"`
	Attempt     *Attempt    `json:"attempt,omitempty"`
	Turn        *Turn       `json:"turn,omitempty"`
	Text        *Text       `json:"text,omitempty"`
	Delta       *Delta      `json:"delta,omitempty"`
	Retry       *Retry      `json:"retry,omitempty"`
	Call        *Call       `json:"call,omitempty"`
	Prune       *Prune      `json:"prune,omitempty"`
	Compaction  *Compaction `json:"compaction,omitempty"`
	Verify      *Verify     `json:"verify,omitempty"`
	Changes     []Change    `json:"changes,omitempty"`
	Commit      *Commit     `json:"commit,omitempty"`
	Published   *Published  `json:"published,omitempty"`
	JobEnd      *JobEnd     `json:"job_end,omitempty"`
	Network     *Network    `json:"network,omitempty"`
	Warning     *Warning    `json:"warning,omitempty"`
	RunEnd      *RunEnd     `json:"run_end,omitempty"`
}

// Run is the payload of run.started: the resolved plan, so that a report can
// name jobs that never began.
type Run struct {
	ID       string       `json:"id"`
	Manifest []string     `json:"manifest"`
	PlanHash string       `json:"plan_hash"`
	Version  string       `json:"version"`
	Jobs     []PlannedJob `json:"jobs"`
	Policies []PolicyFile `json:"policies,omitempty"` // that bound the plan

	// Shard is the part of the plan that this run is, nil for all of it, and
	// Elsewhere has the jobs of the other parts, so that a merge can tell what
	// is missing.
	Shard     *Shard       `json:"shard,omitempty"`
	Elsewhere []PlannedJob `json:"elsewhere,omitempty"`
}

// PolicyFile is a policy file that bound a run, or the built-in policy, whose Path is
// "--untrusted" and whose SHA256 is empty.
type PolicyFile struct {
	Path   string `json:"path"` // as it was given
	SHA256 string `json:"sha256"`
}

// Shard is one part of a plan. Index counts from 1.
type Shard struct {
	Index int `json:"index"`
	Total int `json:"total"`
}

// PlannedJob is a job as the plan has it, before it runs.
type PlannedJob struct {
	ID      string            `json:"id"`
	Task    string            `json:"task"`
	Repo    string            `json:"repo"`
	Matrix  map[string]string `json:"matrix"`
	Model   string            `json:"model"`
	Profile string            `json:"profile"`

	Place    int    `json:"place,omitempty"`    // its place in the plan, from 1, whatever part of it runs; 0 if unknown
	Shard    int    `json:"shard,omitempty"`    // the part of the plan that has this job, from 1; 0 if the plan has no parts
	Location string `json:"location,omitempty"` // the repository as a line of a repository list: a path, "copy:PATH" or a URL, perhaps with " ref=REF"
}

// Sandbox says how the child processes of a job are confined.
type Sandbox struct {
	Level string `json:"level"` // none, A, B, external
	FS    bool   `json:"fs"`
	Net   bool   `json:"net"`
	PID   bool   `json:"pid"`

	Reason string `json:"reason,omitempty"` // why it is not level A
}

// JobStart is the payload of job.started.
type JobStart struct {
	Sandbox   Sandbox `json:"sandbox"`
	Workspace string  `json:"workspace"` // absolute path of the directory the job may change
	Base      string  `json:"base"`      // commit the job starts from; empty in a repository without one
	Branch    string  `json:"branch"`    // branch that the commit goes to; empty if nothing is committed
}

// Phase is the payload of phase.ended. Error is empty when the phase went well.
type Phase struct {
	Name      string `json:"name"`
	ElapsedMS int64  `json:"elapsed_ms"`
	Error     string `json:"error,omitempty"`
}

// Session is the payload of session.started and session.ended; End and Reason
// are set only on the latter.
type Session struct {
	Agent     string `json:"agent"`
	Parent    string `json:"parent,omitempty"` // session that this one was started by
	Model     string `json:"model"`
	End       string `json:"end,omitempty"`
	Reason    string `json:"reason,omitempty"`
	FinalText string `json:"final_text,omitempty"`
}

// Attempt is the payload of attempt.started. Number counts from 1.
type Attempt struct {
	Number int    `json:"number"`
	Prompt string `json:"prompt"`
}

// Turn is the payload of turn.started (Number alone) and turn.ended. Usage and
// cost are of all requests of the turn, what is lost included.
type Turn struct {
	Number    int           `json:"number"`          // counts from 1 within its session
	Model     string        `json:"model,omitempty"` // who answered, if another than the session's
	Finish    string        `json:"finish,omitempty"`
	Usage     *money.Usage  `json:"usage,omitempty"`    // nil when the provider did not report it
	CostUSD   *money.USD    `json:"cost_usd,omitempty"` // nil when the price or the usage is unknown
	Lost      *money.Charge `json:"lost,omitempty"`     // nil for nothing
	ElapsedMS int64         `json:"elapsed_ms"`         // the model call alone, without tool calls
	Error     string        `json:"error,omitempty"`
}

// Text is the payload of text: everything that the model said in one turn.
type Text struct {
	Turn      int    `json:"turn"`
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

// Delta is the payload of delta: a piece of an answer while it streams in.
type Delta struct {
	Kind string `json:"kind"` // text, reasoning or tool_input
	Call string `json:"call,omitempty"`
	Text string `json:"text"`
}

// Retry is the payload of retry.
type Retry struct {
	Turn    int    `json:"turn"`
	Attempt int    `json:"attempt"` // the request that failed, from 1
	WaitMS  int64  `json:"wait_ms"`
	Error   string `json:"error"`

	// From and To are set when the request goes to another model from now on,
	// because the provider of the one before is down. Attempt and WaitMS are 0
	// then.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// CallStatus is where a tool call stands in its life.
type CallStatus string

// The statuses of a tool call: pending and running, then one of the others.
const (
	CallPending   CallStatus = "pending"
	CallRunning   CallStatus = "running"
	CallCompleted CallStatus = "completed"
	CallError     CallStatus = "error"
	CallDenied    CallStatus = "denied"
)

// Decision is what the permission rules said of a call. Rule is the rule that
// decided and Source where it stands (file:line, or the preset's name).
type Decision struct {
	Effect string `json:"effect"` // allow or deny
	Rule   string `json:"rule"`
	Source string `json:"source"`
}

// Call is the payload of call. Tool and Input are as the model gave them.
type Call struct {
	ID          string          `json:"id"`
	Turn        int             `json:"turn"` // from 1; 0 for what the prompt asked for, before the first
	Tool        string          `json:"tool"`
	Input       json.RawMessage `json:"input,omitempty"` // the arguments; a JSON string holding them when they are no JSON
	Status      CallStatus      `json:"status"`
	Decision    *Decision       `json:"decision,omitempty"` // nil when the call never came to be decided
	Title       string          `json:"title,omitempty"`
	OutputBytes int64           `json:"output_bytes"`
	Truncated   bool            `json:"truncated"`
	Cached      bool            `json:"cached,omitempty"` // the answer is that of the same call before
	Error       string          `json:"error,omitempty"`
	StartedAt   time.Time       `json:"started_at"`
	ElapsedMS   int64           `json:"elapsed_ms"`
}

// Prune is the payload of prune: the model no longer sees the answers of old
// calls, or no more than the beginnings and ends of new ones that are too long
// together. Before and After are estimates of the conversation's tokens.
type Prune struct {
	Answers int   `json:"answers"` // that were taken out or shortened
	Before  int64 `json:"before"`
	After   int64 `json:"after"`
}

// Why a conversation was compacted.
const (
	WindowFull    = "window"  // the model's window would have overflowed
	WindowRefused = "refused" // the provider found the conversation too long
)

// Compaction is the payload of compaction: a summary stands for the older part
// of the conversation from now on. Before and After are estimates of its tokens.
type Compaction struct {
	Turn      int    `json:"turn"`     // the model call that made the summary, which is the turn's text
	Reason    string `json:"reason"`   // WindowFull or WindowRefused
	Messages  int    `json:"messages"` // that the summary stands for
	Before    int64  `json:"before"`
	After     int64  `json:"after"`
	Makeshift bool   `json:"makeshift,omitempty"` // the model gave no summary: it is the shortened conversation itself
}

// Verify is the payload of verify.ended.
type Verify struct {
	Name      string `json:"name"`
	Attempt   int    `json:"attempt"`
	Passed    bool   `json:"passed"`
	ExitCode  int    `json:"exit_code"` // -1 when it was killed or never started
	ElapsedMS int64  `json:"elapsed_ms"`
	Tail      string `json:"tail"` // the end of its output
}

// Change is one path that the job changed, relative to the repository's root.
type Change struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"` // added, modified, deleted
	Added   int    `json:"added"`
	Removed int    `json:"removed"` // lines; both 0 for binary files
}

// Commit is the payload of commit.
type Commit struct {
	Hash    string `json:"hash"`
	Branch  string `json:"branch"`
	Message string `json:"message"`
}

// Published is the payload of published: where a job's commit was pushed.
type Published struct {
	Remote   string `json:"remote"` // URL, without credentials
	Branch   string `json:"branch"`
	Hash     string `json:"hash"`
	Replaced string `json:"replaced,omitempty"` // the commit that the branch had before; empty for a new branch
}

// Outcome is how a job, or a run, ended.
type Outcome string

// The outcomes. Passed and Skipped are the only ones that are no failure.
const (
	Passed    Outcome = "passed"
	Failed    Outcome = "failed"
	Limit     Outcome = "limit"
	Budget    Outcome = "budget"
	Policy    Outcome = "policy"
	Error     Outcome = "error"
	Provider  Outcome = "provider"
	Publish   Outcome = "publish"
	Skipped   Outcome = "skipped"
	Cancelled Outcome = "cancelled"
)

// JobEnd is the payload of job.ended. Turns, usage and cost are the sums over
// the job's sessions.
type JobEnd struct {
	Outcome      Outcome         `json:"outcome"`
	Reason       string          `json:"reason"` // empty for a job that passed, unless it only pushed what an earlier run had committed
	Code         Code            `json:"code,omitempty"`
	ExitCode     Exit            `json:"exit_code"`
	Attempts     int             `json:"attempts"`
	Turns        int             `json:"turns"`
	ElapsedMS    int64           `json:"elapsed_ms"`
	Usage        money.Usage     `json:"usage"`
	CostUSD      *money.USD      `json:"cost_usd"`
	FinalMessage string          `json:"final_message"`
	Output       json.RawMessage `json:"output,omitempty"`
	Patch        string          `json:"patch,omitempty"` // path of the patch below the report directory
}

// Network is the payload of network: a connection that a command of the job
// asked the proxy of its sandbox for.
type Network struct {
	Method string `json:"method"` // CONNECT, or that of a plain HTTP request
	Host   string `json:"host"`
	Port   int    `json:"port"`
	Addr   string `json:"addr,omitempty"` // that was dialled
	Denied bool   `json:"denied"`
	Error  string `json:"error,omitempty"` // why there was no connection
}

// Warning is the payload of warning.
type Warning struct {
	Message string `json:"message"`
}

// RunEnd is the payload of run.ended.
type RunEnd struct {
	Outcome   Outcome `json:"outcome"`
	ExitCode  Exit    `json:"exit_code"`
	ElapsedMS int64   `json:"elapsed_ms"`
}
