package event

// TypeInfo describes a type of events.
type TypeInfo struct {
	Type    Type
	Payload string // the field that is set
	Durable bool   // it must be stored before the run continues: what follows has an effect that a kill does not revert
	Doc     string
}

// Types returns the types of events, in the order in which they are usual in a stream.
func Types() []TypeInfo {
	return []TypeInfo{
		{RunStarted, "run", false, "the run started: the plan's jobs and its hash"},
		{JobStarted, "job_start", false, "a job started: sandbox, workspace, base, branch"},
		{PhaseStarted, "phase", false, "a phase of a job (prepare, setup, ...) started"},
		{PhaseEnded, "phase", false, "a phase of a job (prepare, setup, ...) ended"},
		{CommandStarted, "command", false, "a setup or verify command, or a script, started"},
		{CommandEnded, "command", false, "a setup command ended"},
		{BaselineEnded, "baseline", false, "a verify command ended, before the agent starts"},
		{ScriptEnded, "script", false, "the script of a task ended, and the verify commands after it"},
		{SessionStarted, "session_info", false, "a conversation started"},
		{AttemptStarted, "attempt", false, "an attempt started: the turns up to a verify"},
		{TurnStarted, "turn", false, "a model call started"},
		{ModelText, "text", false, "the complete text of the model in a turn, or what was received of a response that was interrupted"},
		{RequestRetried, "retry", false, "a model request failed and is retried"},
		{CallUpdated, "call", false, "a tool call changed its status"},
		{TurnEnded, "turn", false, "a model call and its tool calls ended"},
		{Pruned, "prune", false, "results of old calls were removed from the conversation"},
		{Compacted, "compaction", false, "a summary replaced the older messages of a conversation"},
		{SessionEnded, "session_info", false, "a conversation ended"},
		{VerifyEnded, "verify", false, "a verify command ended"},
		{AblationStarted, "ablation", false, "verify is about to run again without each hunk of the change"},
		{TrialEnded, "trial", false, "the verify commands ended on some of the changes of the job, in a clean checkout"},
		{AblationEnded, "hunks", false, "which hunks of the change the verify commands need, and which of its tests fail without it"},
		{ModelEscalated, "escalation", false, "the attempts of a model are used up, and the next one of the task continues"},
		{ReviewEnded, "review", false, "a review of the changes after an attempt ended"},
		{FilesLeft, "left", false, "files that setup, the baseline, hooks or verify left in the workspace"},
		{ChangesFound, "changes", false, "the changes of the job in its workspace"},
		{CommitStarted, "commit", true, "the job's commit is about to be created; its hash is missing"},
		{Committed, "commit", true, "the job's commit"},
		{PublishStarted, "published", true, "the push of the commit is about to start"},
		{CommitPublished, "published", true, "the commit was pushed; again with the pull request, if the task has one"},
		{PullRequestStarted, "published", true, "the pull request is about to be created; one that the event has is open already"},
		{CommentStarted, "comment", true, "the final message is about to be posted on an issue or pull request, or to replace the comment with the URL"},
		{CommentPosted, "comment", true, "the final message was posted"},
		{ForgeRequestStarted, "forge_request", true, "a change of the forge that the agent has requested is about to be made"},
		{ForgeRequestEnded, "forge_request", true, "a requested change of the forge was made, refused, failed or skipped"},
		{JobEnded, "job_end", true, "a job ended, with its totals"},
		{NetworkRequested, "network", false, "a command requested a connection from the sandbox's proxy; of denied ones the first to each host and port"},
		{ExtensionChanged, "extension", false, "a program beside the model, such as an MCP server, has started, failed or ended, with its totals"},
		{UntrustedRead, "untrusted", true, "the job has read untrusted content, and has lost the rights that after_untrusted names"},
		{RevertStarted, "revert", false, "the files of a job are about to be reverted"},
		{Reverted, "revert", false, "the files of a job have the state after an earlier turn"},
		{WarningIssued, "warning", false, "a warning for the user; not an outcome"},
		{RunEnded, "run_end", true, "the run ended"},
		{Sealed, "seal", true, "the reports were written: the hashes of all files; only with evidence, as the last event"},
	}
}
