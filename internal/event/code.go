package event

// Code is why a job did not pass, in one word that scripts can branch on.
// [Causes] says how a job ends for each.
type Code string

// The reason codes. The first group is found before anything is spent.
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

	CodeDoomLoop Code = "doom_loop"

	CodeSecret Code = "secret_in_change"
	CodeCommit Code = "commit_failed"
	CodeLease  Code = "push_rejected"
	CodePush   Code = "push_failed"
	CodePanic  Code = "panic"

	// What a provider did: the classes of failed model requests.
	CodeAuth        Code = "auth"
	CodeModel       Code = "model"
	CodeRequest     Code = "request"
	CodeQuota       Code = "quota"
	CodeContext     Code = "context"
	CodeRate        Code = "rate"
	CodeUnavailable Code = "unavailable"
	CodeProtocol    Code = "protocol"

	// Causes whose outcome says it all: reports leave their reason code empty.
	CodeFailed      Code = "failed"
	CodeDenied      Code = "denied"
	CodeLimit       Code = "limit"
	CodeRunTime     Code = "run_time"
	CodeOverBudget  Code = "over_budget"
	CodeNoModel     Code = "no_model"
	CodeInternal    Code = "internal"
	CodeInterrupted Code = "interrupted"
	CodeTerminated  Code = "terminated"
)

// Cause says how a job ends for one reason.
type Cause struct {
	Code    Code
	Outcome Outcome
	Exit    Exit
	Doc     string // when it happens, one line
}

// Unnamed reports whether the report's reason code is empty for this cause,
// because the outcome says it all.
func (c Cause) Unnamed() bool {
	switch c.Code {
	case CodeFailed, CodeDenied, CodeLimit, CodeRunTime, CodeOverBudget, CodeNoModel, CodeInternal, CodeInterrupted, CodeTerminated:
		return true
	default:
		return false
	}
}

// Causes returns the table of causes. Codes that only refuse a run, before any
// job ends, have the exit code of that.
func Causes() []Cause {
	return []Cause{
		{CodeRepository, Error, ExitFailed, "the repository can't be opened or written"},
		{CodeClone, Error, ExitFailed, "the repository could not be fetched"},
		{CodeUnsupported, Error, ExitUsage, "the repository needs what millhand does not support: SHA-256, extensions.worktreeConfig, ..."},
		{CodeFilter, Error, ExitUsage, "paths that the job could commit are under a clean filter or LFS"},
		{CodeBase, Error, ExitUsage, "the revision to start from does not exist"},
		{CodeBranchExists, Skipped, ExitOK, "the branch exists already"},
		{CodeBranchForeign, Error, ExitUsage, "the branch's last commit is not millhand's"},
		{CodeDirty, Error, ExitUsage, "a tree that would be worked on in place has uncommitted changes"},
		{CodeRemote, Error, ExitUsage, "there is no remote to push to"},

		{CodeCondition, Skipped, ExitOK, "the task's if does not hold"},
		{CodeNeed, Skipped, ExitOK, "a job that this one needs did not pass"},
		{CodeMaxFailures, Skipped, ExitOK, "too many jobs had failed before"},
		{CodeBudget, Skipped, ExitBudget, "the run's budget was exceeded before"},
		{CodeDeadline, Skipped, ExitDeadline, "the run timed out before"},
		{CodeProvider, Skipped, ExitAuth, "the provider refused the credentials of another job"},
		{CodeNotRun, Skipped, ExitFailed, "the shard that has this job is missing"},

		{CodeDoomLoop, Limit, ExitLimit, "the model made the same calls over and over"},

		{CodeSecret, Policy, ExitPolicy, "the work holds a secret that was not in the repository before"},
		{CodeCommit, Publish, ExitPublish, "the work could not be committed"},
		{CodeLease, Publish, ExitPublish, "the remote's branch moved since it was looked at, or the remote refused the push"},
		{CodePush, Publish, ExitPublish, "the push failed"},
		{CodePanic, Error, ExitInternal, "a fault of millhand"},

		{CodeAuth, Provider, ExitAuth, "the key is missing or refused"},
		{CodeModel, Provider, ExitAuth, "the model was not found"},
		{CodeRequest, Provider, ExitAuth, "the provider refuses the request"},
		{CodeQuota, Provider, ExitAuth, "the account has no money left"},
		{CodeContext, Limit, ExitLimit, "the conversation is too long for the model"},
		{CodeRate, Provider, ExitUnavailable, "too many requests, after all retries"},
		{CodeUnavailable, Provider, ExitUnavailable, "server or network fault, after all retries"},
		{CodeProtocol, Provider, ExitUnavailable, "invalid responses, after all retries"},

		{CodeFailed, Failed, ExitFailed, "the job's own work: a verification failed, the agent gave up, a required change is missing"},
		{CodeDenied, Policy, ExitPolicy, "a rule, the limit on denied calls or a missing sandbox stopped the job"},
		{CodeLimit, Limit, ExitLimit, "a limit of the job on turns, tokens, time or disk was exceeded"},
		{CodeRunTime, Limit, ExitDeadline, "the run timed out"},
		{CodeOverBudget, Budget, ExitBudget, "a money cap, of the job or the run, was exceeded"},
		{CodeNoModel, Provider, ExitAuth, "the model can't be opened"},
		{CodeInternal, Error, ExitInternal, "an error of millhand or its machine"},
		{CodeInterrupted, Cancelled, ExitInterrupt, "SIGINT"},
		{CodeTerminated, Cancelled, ExitTerminate, "SIGTERM or SIGHUP"},
	}
}

// Cause returns the code's row of the table. A code that is not in it is that of
// a later release, and means a failed job.
func (c Code) Cause() Cause {
	for _, row := range Causes() {
		if row.Code == c {
			return row
		}
	}
	return Cause{Code: c, Outcome: Failed, Exit: ExitFailed}
}

// End returns the end of a job for this cause, with the reason in words.
func (c Code) End(reason string) JobEnd {
	row := c.Cause()
	if row.Unnamed() {
		c = ""
	}
	return JobEnd{Outcome: row.Outcome, Reason: reason, Code: c, ExitCode: row.Exit}
}
