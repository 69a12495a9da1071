package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// Type is the type of an event; the constants are the complete list.
type Type string

// The event types, as the package documentation describes them.
const (
	RunStarted         Type = "run.started"
	JobStarted         Type = "job.started"
	PhaseStarted       Type = "phase.started"
	PhaseEnded         Type = "phase.ended"
	CommandStarted     Type = "command.started"
	CommandEnded       Type = "command.ended"
	BaselineEnded      Type = "baseline.ended"
	ScriptEnded        Type = "script.ended"
	SessionStarted     Type = "session.started"
	AttemptStarted     Type = "attempt.started"
	TurnStarted        Type = "turn.started"
	ModelText          Type = "text"
	RequestRetried     Type = "retry"
	CallUpdated        Type = "call"
	TurnEnded          Type = "turn.ended"
	Pruned             Type = "prune"
	Compacted          Type = "compaction"
	SessionEnded       Type = "session.ended"
	VerifyEnded        Type = "verify.ended"
	ReviewEnded        Type = "review.ended"
	ModelEscalated     Type = "model.escalated"
	FilesLeft          Type = "files.left"
	ChangesFound       Type = "changes"
	CommitStarted      Type = "commit.started"
	Committed          Type = "commit"
	PublishStarted     Type = "publish.started"
	CommitPublished    Type = "published"
	PullRequestStarted Type = "pull_request.started"
	CommentStarted     Type = "comment.started"
	CommentPosted      Type = "comment"
	JobEnded           Type = "job.ended"
	NetworkRequested   Type = "network"
	WarningIssued      Type = "warning"
	ExtensionChanged   Type = "extension"
	UntrustedRead      Type = "untrusted"
	RevertStarted      Type = "revert.started"
	Reverted           Type = "reverted"
	RunEnded           Type = "run.ended"
	Sealed             Type = "sealed"
	AblationStarted    Type = "ablation.started"
	TrialEnded         Type = "trial"
	AblationEnded      Type = "ablation.ended"

	ForgeRequestStarted Type = "forge_request.started"
	ForgeRequestEnded   Type = "forge_request"
)

// Event is one line of the stream. Seq and Time are set by the [Stream] that
// it passes through; a producer leaves them zero.
type Event struct {
	Seq     int64     `json:"seq"`               // from 1, without gaps
	Time    time.Time `json:"time"`              // RFC 3339
	Type    Type      `json:"type"`              // determines the other fields
	Job     string    `json:"job,omitempty"`     // id of the job that it is about
	Session string    `json:"session,omitempty"` // id of the session that it is about
	Prev    string    `json:"prev,omitempty"`    // SHA-256 of the line before, in hexadecimal; empty in the first line, and without evidence

	Run         *Run          `json:"run,omitempty"`
	JobStart    *JobStart     `json:"job_start,omitempty"`
	Phase       *Phase        `json:"phase,omitempty"`
	Command     *Command      `json:"command,omitempty"`
	SessionInfo *Session      `json:"session_info,omitempty"`
	Attempt     *Attempt      `json:"attempt,omitempty"`
	Turn        *Turn         `json:"turn,omitempty"`
	Text        *Text         `json:"text,omitempty"`
	Retry       *Retry        `json:"retry,omitempty"`
	Call        *Call         `json:"call,omitempty"`
	Prune       *Prune        `json:"prune,omitempty"`
	Compaction  *Compaction   `json:"compaction,omitempty"`
	Baseline    *Baseline     `json:"baseline,omitempty"`
	Verify      *Verify       `json:"verify,omitempty"`
	Script      *Script       `json:"script,omitempty"`
	Review      *Review       `json:"review,omitempty"`
	Escalation  *Escalation   `json:"escalation,omitempty"`
	Left        *Left         `json:"left,omitempty"`
	Changes     []Change      `json:"changes,omitempty"`
	LeftOut     []LeftOutPath `json:"left_out,omitempty"` // of Changes
	Commit      *Commit       `json:"commit,omitempty"`
	Published   *Published    `json:"published,omitempty"`
	Comment     *Comment      `json:"comment,omitempty"`
	JobEnd      *JobEnd       `json:"job_end,omitempty"`
	Network     *Network      `json:"network,omitempty"`
	Extension   *Extension    `json:"extension,omitempty"`
	Untrusted   *Untrusted    `json:"untrusted,omitempty"`
	Warning     *Warning      `json:"warning,omitempty"`
	RunEnd      *RunEnd       `json:"run_end,omitempty"`
	Revert      *Revert       `json:"revert,omitempty"`
	Seal        *Seal         `json:"seal,omitempty"`
	Ablation    *Ablation     `json:"ablation,omitempty"`
	Trial       *Trial        `json:"trial,omitempty"`
	Hunks       *Hunks        `json:"hunks,omitempty"`

	ForgeRequest *ForgeRequest `json:"forge_request,omitempty"`
}

// Run is the payload of run.started: the resolved plan, so that a report can
// list jobs that never started.
type Run struct {
	ID       string       `json:"id"`
	Name     string       `json:"name,omitempty"` // of the plan; empty in logs of earlier releases
	Manifest []string     `json:"manifest"`
	PlanHash string       `json:"plan_hash"`
	Version  string       `json:"version"`
	Jobs     []PlannedJob `json:"jobs"`               // of the plan, or of its shard
	Policies []PolicyFile `json:"policies,omitempty"` // that bound the plan
	Sources  []Source     `json:"sources,omitempty"`  // of repositories, with what the forges have listed

	StartedBy *StartedBy `json:"started_by,omitempty"` // nil outside of CI
	Evidence  *Evidence  `json:"evidence,omitempty"`   // nil unless the events are chained

	MaxCostUSD *money.USD  `json:"max_cost_usd,omitempty"` // budget of the run; nil for none
	Prices     *PriceTable `json:"prices,omitempty"`       // that costs were calculated with

	// Invocation is how the run was started, for a process that resumes it.
	Invocation *Invocation `json:"invocation,omitempty"`
	Resumed    *Resumed    `json:"resumed,omitempty"` // nil unless this process resumes the run: the events before are of earlier ones

	ForkedFrom *Fork `json:"forked_from,omitempty"` // nil unless the run continues a session of another run

	// Shard is the shard of the plan that this run executes, nil for the entire
	// plan. Elsewhere has the jobs of the other shards, so that a merge can
	// detect missing ones.
	Shard     *Shard       `json:"shard,omitempty"`
	Elsewhere []PlannedJob `json:"elsewhere,omitempty"` // like Shard

	Rollout *Rollout `json:"rollout,omitempty"` // nil unless the manifest has a rollout; Jobs are those of a wave
}

// StartedBy is the CI job that started a run, as its environment describes it. Texts are
// empty if it does not, and printable.
type StartedBy struct {
	CI     string `json:"ci"`      // github, gitea, gitlab, jenkins, buildkite, circleci or azure
	Actor  string `json:"actor"`   // who started it
	Event  string `json:"event"`   // that triggered it, in the CI's own terms
	RunURL string `json:"run_url"` // address of the workflow run, pipeline or build
	Commit string `json:"commit"`  // that the CI checked out
}

// Resumed is what earlier processes did of a run that is resumed.
type Resumed struct {
	Finished int       `json:"finished"` // jobs that are not run again
	CostUSD  money.USD `json:"cost_usd"` // as far as it is known
}

// Revert is the payload of revert.started, without the commit, and reverted: the files of a job
// have the state after an earlier turn of its session. The next prompt continues from there.
type Revert struct {
	Turn   int    `json:"turn"`             // 0 for the state before the agent started
	Commit string `json:"commit,omitempty"` // that was added to the branch; empty if nothing was committed
}

// Fork is where a run was forked from another: it has one job, whose session starts with a
// copy of a conversation.
type Fork struct {
	Run     string `json:"run"`              // id of the other run
	Dir     string `json:"dir"`              // absolute path of its report directory
	Job     string `json:"job"`              // in both runs
	Message string `json:"message"`          // that was given
	After   string `json:"after,omitempty"`  // last message of the copied conversation; empty if nothing was copied
	Turn    int    `json:"turn"`             // last turn of the copied conversation; 0 for none
	Model   string `json:"model,omitempty"`  // of the copied conversation; empty if nothing was copied
	Prompt  string `json:"prompt,omitempty"` // that continues the conversation; empty to continue without one
	Base    string `json:"base"`             // commit that the job starts from
	Tree    string `json:"tree,omitempty"`   // saved state of the workspace; empty for that of Base
	Branch  string `json:"branch,omitempty"` // of the job's commit

	Children int `json:"children,omitempty"` // subagents of the job in the other run, whose names are not used again

	Left []Left `json:"left,omitempty"` // in the workspace of the job, by others than the agent

	Untrusted *Untrusted `json:"untrusted,omitempty"` // that the copied conversation has read; nil for nothing
	Watched   *Watched   `json:"watched,omitempty"`   // by all processes of that conversation
}

// Invocation is a command line of millhand run.
type Invocation struct {
	Dir  string   `json:"dir"`  // working directory
	Args []string `json:"args"` // after "run"
}

// PriceTable identifies a table of prices.
type PriceTable struct {
	Dated   string `json:"dated"`   // 2006-01-02
	Version string `json:"version"` // of the dataset that it was made from
}

// PolicyFile is a policy file that bound a run, or the built-in policy, whose Path is
// "--untrusted" and whose SHA256 is empty.
type PolicyFile struct {
	Path   string `json:"path"`   // as it was given
	SHA256 string `json:"sha256"` // of the file, in hexadecimal
}

// Shard is one shard of a plan. Index counts from 1.
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

	Hash     string `json:"hash,omitempty"`     // of the task: equal if the job does the same
	Index    int    `json:"place,omitempty"`    // its index in the entire plan, from 1; 0 if unknown
	Shard    int    `json:"shard,omitempty"`    // index of the shard with this job, from 1; 0 without shards
	Location string `json:"location,omitempty"` // the repository as a line of a repository list: a path, "copy:PATH" or a URL, optionally with " ref=REF"
	Findings bool   `json:"findings,omitempty"` // the output of the job has the schema of findings
}

// Sandbox describes how the child processes of a job are confined.
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

	Repository string `json:"repository,omitempty"` // absolute path of the repository with that branch; empty for a remote one
	Tree       string `json:"tree,omitempty"`       // saved state of a tree that is changed without a worktree
	Remote     string `json:"remote,omitempty"`     // URL of the repository without credentials, for a job that commits nothing: others have it in Landing
	BaseRef    string `json:"base_ref,omitempty"`   // branch, tag or commit that Base was resolved from, if it has a name

	Onto    string   `json:"onto,omitempty"`    // commit of the job that is rebased onto Base, or was; empty for none
	Landing *Landing `json:"landing,omitempty"` // nil for a job that commits nothing
	Later   *Later   `json:"later,omitempty"`   // nil for a job that publishes nothing else than its commit
	Watched *Watched `json:"watched,omitempty"` // nil for a job that loses no right after untrusted content
}

// Landing is how a job saves its changes: what millhand publish requires in addition to
// the base, the patch and the commit, also without the manifest and the repository.
type Landing struct {
	Publish string `json:"publish"`             // mode of the manifest
	Remote  string `json:"remote,omitempty"`    // URL without credentials, empty without a remote
	Forge   string `json:"forge,omitempty"`     // kind of its forge: github, gitlab or gitea; empty if unknown
	Lease   string `json:"lease,omitempty"`     // commit that the remote's branch was at; empty for a new branch, or if it was not asked for
	OnBase  bool   `json:"on_base,omitempty"`   // the branch was checked out: it must be at the base
	Below   string `json:"below,omitempty"`     // the workspace in the repository, slash separated
	Branch  string `json:"branch"`              // of the commit
	Message string `json:"message"`             // of the commit
	Author  string `json:"author,omitempty"`    // NAME <EMAIL>; empty for the default
	Exists  string `json:"if_exists,omitempty"` // commit.if_exists
	Sign    string `json:"sign,omitempty"`      // format of the commit's signature; empty for none

	PullRequest *PullRequestSpec `json:"pull_request,omitempty"` // nil for other modes than pr
}

// PullRequestSpec is the pull request of a manifest. Its base is resolved.
type PullRequestSpec struct {
	Fork      string   `json:"fork,omitempty"`      // OWNER/NAME of the fork that has the branch; empty for none
	Base      string   `json:"base"`                // the branch to merge into
	Title     string   `json:"title,omitempty"`     // pull_request.title
	Body      string   `json:"body,omitempty"`      // pull_request.body
	Draft     bool     `json:"draft,omitempty"`     // pull_request.draft
	Labels    []string `json:"labels,omitempty"`    // pull_request.labels
	Reviewers []string `json:"reviewers,omitempty"` // pull_request.reviewers
	Assignees []string `json:"assignees,omitempty"` // pull_request.assignees
	Exists    string   `json:"if_exists,omitempty"` // pull_request.if_exists
}

// Phase is the payload of phase.started (only Name) and phase.ended. Error is empty if
// the phase succeeded.
type Phase struct {
	Name      string `json:"name"`
	ElapsedMS int64  `json:"elapsed_ms"`
	Error     string `json:"error,omitempty"`
}

// CheckoutPhase is the name of the phase in which a tool call waits for the files of the job, in its session. Shorter
// waits are not reported.
const CheckoutPhase = "checkout"

// Kinds of commands of a task.
const (
	SetupCommand  = "setup"
	VerifyCommand = "verify"

	BaselineCommand = "baseline" // a verify command, before the agent starts
)

// Command is the payload of command.started and command.ended: a command of the task, not
// of the agent. ExitCode and ElapsedMS are set only in the latter. Verify commands end with
// verify.ended or baseline.ended, scripts with script.ended.
type Command struct {
	Kind      string `json:"kind"`                 // SetupCommand, VerifyCommand, BaselineCommand or ScriptCommand
	Name      string `json:"name,omitempty"`       // of a verify command
	Run       string `json:"run,omitempty"`        // command line, shortened
	Attempt   int    `json:"attempt,omitempty"`    // of a verify command
	In        string `json:"in,omitempty"`         // InClean; empty for the workspace
	ExitCode  *int   `json:"exit_code,omitempty"`  // of the command, when it has ended
	ElapsedMS int64  `json:"elapsed_ms,omitempty"` // milliseconds, when it has ended
}

// Session is the payload of session.started and session.ended; End and Reason
// are set only in the latter.
type Session struct {
	Agent     string `json:"agent"`
	Parent    string `json:"parent,omitempty"` // session that started this one
	Model     string `json:"model"`
	End       string `json:"end,omitempty"`
	Reason    string `json:"reason,omitempty"`
	FinalText string `json:"final_text,omitempty"` // of the last response
}

// Attempt is the payload of attempt.started. Number counts from 1.
type Attempt struct {
	Number int    `json:"number"` // from 1
	Prompt string `json:"prompt"` // of the task, or what verify reported
}

// Turn is the payload of turn.started (only Number, Request and Reserved) and turn.ended. Usage and
// cost include all requests of the turn, failed ones too.
type Turn struct {
	Number      int           `json:"number"`                 // counts from 1 within its session
	Model       string        `json:"model,omitempty"`        // that responded, if it is not the session's
	ModelServed string        `json:"model_served,omitempty"` // its name in the response; empty if it has none
	Finish      string        `json:"finish,omitempty"`       // why the response ended
	Usage       *money.Usage  `json:"usage,omitempty"`        // nil when the provider did not report it
	CostUSD     *money.USD    `json:"cost_usd,omitempty"`     // nil when the price or the usage is unknown
	Lost        *money.Charge `json:"lost,omitempty"`         // charged for failed requests; nil for nothing
	ElapsedMS   int64         `json:"elapsed_ms"`             // the model call alone, without tool calls
	Error       string        `json:"error,omitempty"`        // of the request

	// Request is an estimate of the request's input, and Reserved what is reserved for the
	// request, nil without a price: what a run that is resumed counts if it was killed before
	// the response.
	Request  *money.Charge `json:"request,omitempty"`
	Reserved *money.USD    `json:"reserved_usd,omitempty"` // like Request
}

// Text is the payload of text: the complete text of the model in one turn.
type Text struct {
	Turn      int    `json:"turn"`                // number of the turn
	Text      string `json:"text,omitempty"`      // of the response
	Reasoning string `json:"reasoning,omitempty"` // of the response, if the provider returns it

	Interrupted bool `json:"interrupted,omitempty"` // the request failed or was canceled before the end of the response
}

// Retry is the payload of retry.
type Retry struct {
	Turn    int    `json:"turn"`    // number of the turn
	Attempt int    `json:"attempt"` // the request that failed, from 1
	WaitMS  int64  `json:"wait_ms"` // until the next request
	Error   string `json:"error"`   // of the request

	// From and To are set if further requests go to another model, because the
	// provider of the previous one is down. Attempt and WaitMS are 0 then.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"` // name of a model, like From

	// Outage is set if the request waits because the provider is down. WaitMS is 0 for a notice, of
	// which a run has one per minute, else how long it has waited. Attempt is 0 if it has not
	// failed itself.
	Outage bool `json:"outage,omitempty"`
}

// Prune is the payload of prune: the results of old calls were removed from the
// conversation, or new results whose total is too long were shortened to their
// start and end. Before and After are estimates of the conversation's tokens.
type Prune struct {
	Results int   `json:"answers"` // number of results that were removed or shortened
	Before  int64 `json:"before"`  // tokens
	After   int64 `json:"after"`   // tokens
}

// Why a conversation was compacted.
const (
	WindowFull    = "window"  // the model's window would have overflowed
	WindowRefused = "refused" // the provider found the conversation too long
)

// Compaction is the payload of compaction: a summary replaced the older messages
// of the conversation. Before and After are estimates of its tokens.
type Compaction struct {
	Turn      int    `json:"turn"`                // the model call that made the summary, which is the turn's text
	Reason    string `json:"reason"`              // WindowFull or WindowRefused
	Messages  int    `json:"messages"`            // number of messages that the summary replaces
	Before    int64  `json:"before"`              // tokens
	After     int64  `json:"after"`               // tokens
	NoSummary bool   `json:"makeshift,omitempty"` // the model returned no summary: the shortened conversation is used instead
}

// Verify is the payload of verify.ended.
type Verify struct {
	Name      string `json:"name"`
	Attempt   int    `json:"attempt"`
	Passed    bool   `json:"passed"`
	ExitCode  int    `json:"exit_code"` // -1 if it was killed or never started
	ElapsedMS int64  `json:"elapsed_ms"`
	Tail      string `json:"tail"`         // what failed in its output and the end, shortened; only the end if it passed
	In        string `json:"in,omitempty"` // InWorkspace or InClean

	TimeoutMS  int64  `json:"timeout_ms,omitempty"`  // milliseconds after which it was killed; 0 if it was not
	OutputPath string `json:"output_path,omitempty"` // file with the complete output, relative to the report directory; empty if Tail is complete, or it passed
}

// Exit describes how the command ended.
func (v *Verify) Exit() string { return ExitText(v.ExitCode, v.TimeoutMS) }

// Output returns the output for readers of the report directory.
func (v *Verify) Output() string { return Excerpt(v.Tail, v.OutputPath) }

// Excerpt returns an excerpt of an output with the path of the file that has the complete
// output. An output without such a file is complete.
func Excerpt(text, path string) string {
	if path == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n(excerpt; the complete output is in " + path + ")\n"
}

// ExitText describes how a command ended, given its exit code, -1 if it has none, and the
// milliseconds after which it was killed, 0 if it was not.
func ExitText(code int, timeout int64) string {
	switch {
	case timeout > 0:
		return fmt.Sprintf("timed out after %s", time.Duration(timeout)*time.Millisecond)
	case code < 0:
		return "killed or not started"
	}
	return fmt.Sprintf("exit code %d", code)
}

// Baseline is the payload of baseline.ended: the result of a verify command before the
// agent starts, on files that no model has changed.
type Baseline struct {
	Name      string `json:"name"`
	Passed    bool   `json:"passed"`
	ExitCode  int    `json:"exit_code"` // -1 if it was killed or never started
	ElapsedMS int64  `json:"elapsed_ms"`
	Tail      string `json:"tail"`             // as in Verify
	In        string `json:"in"`               // InWorkspace or InClean
	Shared    bool   `json:"shared,omitempty"` // the command ran for another job
	Fault     *Fault `json:"fault,omitempty"`  // nil if the environment is not why it failed

	TimeoutMS  int64  `json:"timeout_ms,omitempty"`  // as in Verify
	OutputPath string `json:"output_path,omitempty"` // as in Verify; of this job also if the command ran for another one
}

// Exit describes how the command ended.
func (b *Baseline) Exit() string { return ExitText(b.ExitCode, b.TimeoutMS) }

// Output is as in Verify.
func (b *Baseline) Output() string { return Excerpt(b.Tail, b.OutputPath) }

// Result describes the result in one line.
func (b *Baseline) Result() string {
	if b.Passed {
		return "passed"
	}
	return "failed (" + b.Exit() + ")"
}

// Fault is why a command can't run in its environment, whatever the files are.
type Fault struct {
	Kind     string `json:"kind"`     // program, network or dependency
	Evidence string `json:"evidence"` // line of the output
	Fix      string `json:"fix"`
}

// Where returns " in a clean checkout" for a command that ran in one, "" for others.
func (v *Verify) Where() string {
	if v.In == InClean {
		return " in a clean checkout"
	}
	return ""
}

// Where a verify command ran.
const (
	InWorkspace = "workspace" // the workspace of the job
	InClean     = "clean"     // a fresh checkout of the job's commit
)

// Untracked is a file, or several files of a directory, that no commit of the job
// contains and that its commands created or changed after setup, where verify could read
// it.
type Untracked struct {
	Path  string `json:"path"`  // relative to the repository's root; that of a directory ends with a slash
	Kind  string `json:"kind"`  // added, modified, deleted; of a directory "modified" if its files differ
	Files int    `json:"files"` // 1, or the number of files in the directory
}

// Outcome is the result of a job or a run.
type Outcome string

// The outcomes. All except Passed and Skipped are failures.
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
	Reason       string          `json:"reason"`          // empty for a job that passed, unless it only pushed the commit of an earlier run, or published less than its task asks for
	Code         Code            `json:"code,omitempty"`  // reason_code of the report
	Cause        Code            `json:"cause,omitempty"` // where Code is empty because the outcome identifies it
	ExitCode     Exit            `json:"exit_code"`       // of the run if this job decides it
	Attempts     int             `json:"attempts"`
	Turns        int             `json:"turns"`
	ElapsedMS    int64           `json:"elapsed_ms"`
	Usage        money.Usage     `json:"usage"`
	CostUSD      *money.USD      `json:"cost_usd"`
	FinalMessage string          `json:"final_message"`
	Output       json.RawMessage `json:"output,omitempty"`
	Patch        string          `json:"patch,omitempty"`        // path of the patch below the report directory
	PatchSHA256  string          `json:"patch_sha256,omitempty"` // of the patch, in hexadecimal
	OutputFile   string          `json:"output_file,omitempty"`  // path of the final message below the manifest's directory, or of --output-file

	UntrackedInputs []Untracked `json:"untracked_inputs,omitempty"`
	Refused         []string    `json:"refused,omitempty"` // paths that the patch lacks because git would not commit them; see --resume
}

// Network is the payload of network: a connection that a command of the job
// requested from the proxy of its sandbox. Of the denied ones, each host and port is
// one event.
type Network struct {
	Method string `json:"method"` // CONNECT, or that of a plain HTTP request
	Host   string `json:"host"`
	Port   int    `json:"port"`
	Addr   string `json:"addr,omitempty"`  // dialled address
	Denied bool   `json:"denied"`          // by the profile
	Error  string `json:"error,omitempty"` // why there was no connection
	Fix    string `json:"fix,omitempty"`   // of a denied one: what to write in the manifest
}

// Denial describes a denied connection with its reason and, after a prefix, its fix.
func (n *Network) Denial(who string) string {
	text := "network access denied: " + n.Error
	if !strings.Contains(n.Error, n.Host) {
		text = fmt.Sprintf("network access denied to %s, port %d: %s", n.Host, n.Port, n.Error)
	}
	if n.Fix != "" {
		text += "; " + who + n.Fix
	}
	return text
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

	Rollout *Rollout `json:"rollout,omitempty"` // nil without one
}
