package event

import (
	"cmp"
	"slices"

	"github.com/millhand/millhand/internal/money"
)

// Code is a machine-readable reason why a job did not pass. [Causes] maps each
// code to the outcome and exit code of the job.
type Code string

// The reason codes. The first group is detected before anything is spent.
const (
	CodeRepository    Code = "repository"
	CodeClone         Code = "clone_failed"
	CodeUnsupported   Code = "unsupported"
	CodeFilter        Code = "filtered_paths"
	CodeBase          Code = "no_base"
	CodeBranchExists  Code = "branch_exists"
	CodeBranchForeign Code = "branch_not_ours"
	CodeDirty         Code = "dirty"
	CodeRemote        Code = "no_remote"

	CodeCondition   Code = "condition"
	CodeNeed        Code = "need"
	CodeMaxFailures Code = "max_failures"
	CodeBudget      Code = "budget"
	CodeDeadline    Code = "deadline"
	CodeProvider    Code = "provider"
	CodeNotRun      Code = "not_run"
	CodeRollout     Code = "rollout"

	// Detected before the first model request.
	CodeEnvironment Code = "environment"
	CodeBaseline    Code = "baseline"
	CodeExtension   Code = "extension"

	CodeDoomLoop Code = "doom_loop"
	CodeTextCall Code = "text_call"
	CodeProfile  Code = "profile"

	CodeSecret    Code = "secret_in_change"
	CodeProtected Code = "protected"
	CodeScope     Code = "scope"
	CodeUnneeded  Code = "unneeded"
	CodeReview    Code = "review"
	CodeHook      Code = "before_commit"
	CodeCommit    Code = "commit_failed"
	CodeNested    Code = "nested_repository"
	CodeLease     Code = "push_rejected"
	CodePush      Code = "push_failed"
	CodePull      Code = "pull_request_failed"
	CodeComment   Code = "comment_failed"
	CodeForge     Code = "forge_request_failed"
	CodePanic     Code = "panic"
	CodeMachine   Code = "machine"

	// The classes of failed model requests.
	CodeAuth        Code = "auth"
	CodeModel       Code = "model"
	CodeRequest     Code = "request"
	CodeQuota       Code = "quota"
	CodeContext     Code = "context"
	CodeRate        Code = "rate"
	CodeUnavailable Code = "unavailable"
	CodeProtocol    Code = "protocol"

	// Causes that the outcome identifies: reports leave their reason code empty.
	CodeFailed      Code = "failed"
	CodeDenied      Code = "denied"
	CodeLimit       Code = "limit"
	CodeFailedCalls Code = "failed_calls"
	CodeRunTime     Code = "run_time"
	CodeOverBudget  Code = "over_budget"
	CodeRunBudget   Code = "run_budget"
	CodeNoModel     Code = "no_model"
	CodeInternal    Code = "internal"
	CodeInterrupted Code = "interrupted"
	CodeTerminated  Code = "terminated"
)

// Cause maps a reason code to the end of a job.
type Cause struct {
	Code    Code
	Outcome Outcome
	Exit    Exit
	Doc     string // when it happens, one line
}

// Causes returns the table of causes. For a code that rejects the run before it
// starts, Exit is the exit code of the run.
func Causes() []Cause { return append(named(), unnamed()...) }

// Unnamed reports whether the report's reason code is empty for this cause,
// because the outcome identifies it.
func (c Cause) Unnamed() bool { return slices.Contains(unnamed(), c) }

func named() []Cause {
	return []Cause{
		{CodeRepository, Error, ExitFailed, "the repository can't be opened or written"},
		{CodeClone, Error, ExitFailed, "fetching the repository failed"},
		{CodeUnsupported, Error, ExitUsage, "the repository uses a feature that is not supported: SHA-256, a partial clone, ..."},
		{CodeFilter, Error, ExitUsage, "paths that the job could commit have a filter that can't be applied, or an encoding"},
		{CodeBase, Error, ExitUsage, "the base revision was not found"},
		{CodeBranchExists, Skipped, ExitOK, "the branch already exists"},
		{CodeBranchForeign, Error, ExitUsage, "the branch's last commit was not made by millhand"},
		{CodeDirty, Error, ExitUsage, "a working tree that would be changed in place has uncommitted changes"},
		{CodeRemote, Error, ExitUsage, "remote not found"},

		{CodeCondition, Skipped, ExitOK, "the task's if condition is false"},
		{CodeNeed, Skipped, ExitOK, "a job in needs did not pass"},
		{CodeMaxFailures, Skipped, ExitOK, "max-failures was exceeded before the job started"},
		{CodeBudget, Skipped, ExitBudget, "the run's budget was exceeded before the job started"},
		{CodeDeadline, Skipped, ExitDeadline, "the run timed out before the job started"},
		{CodeProvider, Skipped, ExitAuth, "the provider rejected the credentials of another job"},
		{CodeNotRun, Skipped, ExitFailed, "the report of this job's shard is missing, no worker has started the queued job, or another run has queued it"},
		{CodeRollout, Skipped, ExitOK, "the rollout was stopped before the job started, or a limit on its pull requests was reached"},

		{CodeEnvironment, Error, ExitFailed, "a verify command can't run on the unchanged files: a program, a dependency or the network is missing, or it timed out; or the sandbox can't start commands"},
		{CodeBaseline, Failed, ExitFailed, "the verify commands passed or failed on the unchanged files, against the task's baseline"},

		{CodeExtension, Error, ExitFailed, "an extension, such as an MCP server, did not start, or offers too many tools; or a hook failed"},

		{CodeDoomLoop, Limit, ExitLimit, "the model repeated the same calls"},
		{CodeTextCall, Failed, ExitFailed, "the model wrote a tool call as text twice, so that no tool was run"},
		{CodeProfile, Failed, ExitFailed, "nothing was changed, and another preset allows every call that the profile denied"},

		{CodeSecret, Policy, ExitPolicy, "the changes contain a secret that was not in the repository"},
		{CodeProtected, Policy, ExitPolicy, "paths that the profile may not edit were changed, by the agent or by a command"},
		{CodeScope, Failed, ExitFailed, "the changes exceed the limits of the task's change, or delete tests"},
		{CodeUnneeded, Failed, ExitFailed, "no verify command needs some hunks of the changes, or a new test passes without them, against the task's change.unneeded"},
		{CodeReview, Failed, ExitFailed, "the review did not accept the changes, and the task's review.on_reject is block"},
		{CodeHook, Publish, ExitPublish, "a before_commit hook failed, and nothing was committed"},
		{CodeCommit, Publish, ExitPublish, "the commit failed, or the disk of the repository is full or read-only"},
		{CodeNested, Publish, ExitPublish, "the changes contain a git repository that is no submodule, which can't be committed"},
		{CodeLease, Publish, ExitPublish, "the remote branch moved since the fetch, or the remote rejected the push"},
		{CodePush, Publish, ExitPublish, "the push failed"},
		{CodePull, Publish, ExitPublish, "the branch was pushed, and its pull request could not be created or updated"},
		{CodeComment, Publish, ExitPublish, "the final message could not be posted as a comment"},
		{CodeForge, Publish, ExitPublish, "a change of the forge that the agent has requested failed"},
		{CodePanic, Error, ExitInternal, "internal error (panic)"},
		{CodeMachine, Error, ExitInternal, "the machine lacks open files, processes, memory or disk space that millhand itself requires"},

		{CodeAuth, Provider, ExitAuth, "the API key is missing or rejected"},
		{CodeModel, Provider, ExitAuth, "the model was not found"},
		{CodeRequest, Provider, ExitAuth, "the provider rejected the request, or the endpoint can't be used as configured: certificate, TLS, proxy"},
		{CodeQuota, Provider, ExitAuth, "the account's quota or credit is exhausted"},
		{CodeContext, Limit, ExitLimit, "the conversation exceeds the model's context window"},
		{CodeRate, Provider, ExitUnavailable, "rate limited, after all retries"},
		{CodeUnavailable, Provider, ExitUnavailable, "server or network error, after all retries"},
		{CodeProtocol, Provider, ExitUnavailable, "invalid responses, after all retries"},
	}
}

func unnamed() []Cause {
	return []Cause{
		{CodeFailed, Failed, ExitFailed, "a verify command failed, the agent gave up, or a required change is missing"},
		{CodeDenied, Policy, ExitPolicy, "a rule, the limit on denied calls or a missing sandbox stopped the job"},
		{CodeLimit, Limit, ExitLimit, "a limit of the job on turns, tokens, time or disk was exceeded"},
		{CodeFailedCalls, Limit, ExitLimit, "the limit of the job on consecutive failed calls was exceeded"},
		{CodeRunTime, Limit, ExitDeadline, "the run timed out"},
		{CodeOverBudget, Budget, ExitBudget, "the cost limit of the job was exceeded"},
		{CodeRunBudget, Budget, ExitBudget, "the cost limit of the run was exceeded"},
		{CodeNoModel, Provider, ExitAuth, "the model is not available"},
		{CodeInternal, Error, ExitInternal, "internal error of millhand"},
		{CodeInterrupted, Cancelled, ExitInterrupt, "SIGINT"},
		{CodeTerminated, Cancelled, ExitTerminate, "SIGTERM or SIGHUP"},
	}
}

// Cause returns the code's row of the table. An unknown code comes from a later
// release, and means a failed job.
func (c Code) Cause() Cause {
	for _, row := range Causes() {
		if row.Code == c {
			return row
		}
	}
	return Cause{Code: c, Outcome: Failed, Exit: ExitFailed}
}

// End returns the end of a job for this cause, with the cost of a job that made no
// request. The reason is for people.
func (c Code) End(reason string) JobEnd {
	row := c.Cause()
	end := JobEnd{Outcome: row.Outcome, Reason: reason, Code: c, ExitCode: row.Exit, CostUSD: new(money.USD)}
	if row.Unnamed() {
		end.Code, end.Cause = "", c
	}
	return end
}

// Resumable reports whether the job is continued when its run is resumed: it ended for a
// reason outside of its work, which may be gone.
func (e *JobEnd) Resumable() bool {
	return slices.Contains([]Code{
		CodeRepository, CodeClone, CodeNeed, CodeMaxFailures, CodeBudget, CodeDeadline, CodeProvider, CodeNotRun, CodeRollout,
		CodeEnvironment, CodeHook, CodeCommit, CodeNested, CodePush, CodePull, CodeComment, CodeForge, CodePanic, CodeMachine, CodeAuth, CodeModel, CodeRequest, CodeQuota, CodeRate, CodeUnavailable,
		CodeProtocol, CodeRunTime, CodeRunBudget, CodeNoModel, CodeInternal, CodeInterrupted, CodeTerminated,
	}, cmp.Or(e.Code, e.Cause))
}
