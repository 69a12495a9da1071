package event

// TypeInfo describes a type of events.
type TypeInfo struct {
	Type    Type
	Payload string // the field that is set
	Doc     string
}

// Types returns the types of events, in the order in which they are usual in a stream.
func Types() []TypeInfo {
	return []TypeInfo{
		{RunStarted, "run", "the run started: the plan's jobs and its hash"},
		{JobStarted, "job_start", "a job started: sandbox, workspace, base, branch"},
		{PhaseStarted, "phase", "a phase of a job (prepare, setup, ...) started"},
		{PhaseEnded, "phase", "a phase of a job (prepare, setup, ...) ended"},
		{CommandStarted, "command", "a setup or verify command, or a script, started"},
		{CommandEnded, "command", "a setup command ended"},
		{BaselineEnded, "baseline", "a verify command ended, before the agent starts"},
		{ScriptEnded, "script", "the script of a task ended, and the verify commands after it"},
		{SessionStarted, "session_info", "a conversation started"},
		{AttemptStarted, "attempt", "an attempt started: the turns up to a verify"},
		{TurnStarted, "turn", "a model call started"},
		{ModelText, "text", "the complete text of the model in a turn, or what was received of a response that was interrupted"},
		{RequestRetried, "retry", "a model request failed and is retried"},
		{CallUpdated, "call", "a tool call changed its status"},
		{TurnEnded, "turn", "a model call and its tool calls ended"},
		{Pruned, "prune", "results of old calls were removed from the conversation"},
		{Compacted, "compaction", "a summary replaced the older messages of a conversation"},
		{SessionEnded, "session_info", "a conversation ended"},
		{VerifyEnded, "verify", "a verify command ended"},
		{FilesLeft, "left", "files that setup, the baseline, hooks or verify left in the workspace"},
		{ChangesFound, "changes", "the changes of the job in its workspace"},
		{CommitStarted, "commit", "the job's commit is about to be created; its hash is missing"},
		{Committed, "commit", "the job's commit"},
		{PublishStarted, "published", "the push of the commit is about to start"},
		{CommitPublished, "published", "the commit was pushed; again with the pull request, if the task has one"},
		{PullRequestStarted, "published", "the pull request is about to be created; one that the event has is open already"},
		{CommentStarted, "comment", "the final message is about to be posted on an issue or pull request, or to replace the comment with the URL"},
		{CommentPosted, "comment", "the final message was posted"},
		{JobEnded, "job_end", "a job ended, with its totals"},
		{NetworkRequested, "network", "a command requested a connection from the sandbox's proxy; of denied ones the first to each host and port"},
		{ExtensionChanged, "extension", "a program beside the model, such as an MCP server, has started, failed or ended, with its totals"},
		{RevertStarted, "revert", "the files of a job are about to be reverted"},
		{Reverted, "revert", "the files of a job have the state after an earlier turn"},
		{WarningIssued, "warning", "a warning for the user; not an outcome"},
		{RunEnded, "run_end", "the run ended"},
		{Sealed, "seal", "the reports were written: the hashes of all files; only with evidence, as the last event"},
	}
}
