package event

// Code is why a job did not pass, in one word that scripts can branch on. Jobs
// that failed by their own work (a verification, the agent gave up) have none.
type Code string

// The reason codes. The first group is found before anything is spent.
const (
	CodeRepository    Code = "repository"      // the repository can't be opened or written
	CodeClone         Code = "clone_failed"    // the repository could not be fetched
	CodeUnsupported   Code = "unsupported"     // the repository needs what millhand does not do: SHA-256, extensions.worktreeConfig, ...
	CodeFilter        Code = "filtered_paths"  // paths that the job could commit are under a clean filter or LFS
	CodeBase          Code = "no_base"         // the revision to start from does not exist
	CodeBranchExists  Code = "branch_exists"   // the branch is there already
	CodeBranchForeign Code = "branch_not_ours" // the branch's last commit is not millhand's
	CodeDirty         Code = "dirty"           // a tree that would be worked on in place has uncommitted changes
	CodeRemote        Code = "no_remote"       // there is nowhere to push to

	CodeCondition   Code = "condition"    // the task's if does not hold
	CodeNeed        Code = "need"         // a job that this one needs did not pass
	CodeMaxFailures Code = "max_failures" // too many jobs had failed before
	CodeBudget      Code = "budget"       // the run's money was spent before
	CodeDeadline    Code = "deadline"     // the run's time was over before
	CodeProvider    Code = "provider"     // the provider refused the credentials of another job
	CodeNotRun      Code = "not_run"      // the shard that has this job is missing

	CodeDoomLoop Code = "doom_loop" // the model made the same calls over and over

	CodeSecret Code = "secret_in_change" // the work holds a secret that was not in the repository before
	CodeCommit Code = "commit_failed"    // the work could not be committed
	CodeLease  Code = "push_rejected"    // the remote's branch moved since it was looked at, or the remote refused the push
	CodePush   Code = "push_failed"      // the push did not go through
	CodePanic  Code = "panic"            // a fault of millhand

	// What a provider did: the classes of failed model requests.
	CodeAuth        Code = "auth"        // the key is missing or refused
	CodeModel       Code = "model"       // there is no such model
	CodeRequest     Code = "request"     // the provider refuses what was sent
	CodeQuota       Code = "quota"       // the account has no money left
	CodeContext     Code = "context"     // the conversation is too long for the model
	CodeRate        Code = "rate"        // too many requests, after all retries
	CodeUnavailable Code = "unavailable" // server or network fault, after all retries
	CodeProtocol    Code = "protocol"    // answers that can't be understood, after all retries
)
