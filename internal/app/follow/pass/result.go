package pass

import "github.com/millhand/millhand/internal/app/follow"

// Result is what a pass has done with a pull request.
type Result string

// The results, beside the actions that do nothing: [follow.Nothing] and [follow.HandsOff].
const (
	ResultRebased   Result = "rebased"
	ResultFixed     Result = "fixed"
	ResultResponded Result = "responded"
	ResultStopped   Result = "stopped"
	ResultFinished  Result = "finished" // the session of an earlier pass
	ResultNotDone   Result = "not done"
	ResultFailed    Result = "failed"
)

// would returns the result of a dry run, given what a pass would do.
func would(do follow.Action) Result { return Result("would " + do) }
