package pulls

// Result is what has become of a job's branch or of its pull request.
type Result string

// The results of publishing. A job whose result is ResultPending is published unless that is a dry run.
const (
	ResultPublished Result = "published"
	ResultPending   Result = "would publish"
	ResultUnchanged Result = "unchanged"
	ResultSkipped   Result = "skipped"
)

// The results of an order for pull requests. What would be done is the result of a dry run.
const (
	ResultNone        Result = "none" // the job has no pull request
	ResultMerged      Result = "merged"
	ResultWouldMerge  Result = "would merge"
	ResultNotReady    Result = "not ready"
	ResultClosed      Result = "closed"
	ResultWouldClose  Result = "would close"
	ResultNotClosed   Result = "not closed"
	ResultReverted    Result = "reverted"
	ResultWouldRevert Result = "would revert"
	ResultNotReverted Result = "not reverted"
)

// ResultFailed is the result of either, with the error as the reason.
const ResultFailed Result = "failed"
