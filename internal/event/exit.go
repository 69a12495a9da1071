package event

import "slices"

// Exit is a process exit code. The constants are millhand's whole table.
type Exit int

// The exit codes. README and the contract with users' scripts have the same
// table.
const (
	ExitOK          Exit = 0   // every selected job passed
	ExitFailed      Exit = 1   // a job failed: verification, the agent gave up, a required change is missing
	ExitUsage       Exit = 2   // usage or manifest invalid; nothing was spent
	ExitPolicy      Exit = 3   // a denial limit passed, the sandbox required is absent, or a change holds a secret
	ExitLimit       Exit = 4   // a job's turn, token or time limit
	ExitBudget      Exit = 5   // a money cap, of a job or the run
	ExitAuth        Exit = 6   // credentials missing or refused, model unknown
	ExitPublish     Exit = 7   // git or publishing failed after good work
	ExitInternal    Exit = 70  // a fault of millhand
	ExitUnavailable Exit = 75  // provider unavailable or rate limited after retries
	ExitDeadline    Exit = 124 // the run's deadline
	ExitInterrupt   Exit = 130 // SIGINT
	ExitTerminate   Exit = 143 // SIGTERM
)

// severity is the order in which one code of several becomes the run's: the
// first that occurred wins. A signal ends the whole run, so it comes first.
func severity() []Exit {
	return []Exit{
		ExitInterrupt, ExitTerminate, ExitInternal, ExitPolicy, ExitAuth, ExitBudget,
		ExitUnavailable, ExitDeadline, ExitLimit, ExitPublish, ExitFailed,
	}
}

// Worst returns the code with which a run of jobs that ended with these codes
// exits; ExitOK if there are none.
func Worst(codes []Exit) Exit {
	for _, c := range severity() {
		if slices.Contains(codes, c) {
			return c
		}
	}
	for _, c := range codes {
		if c != ExitOK {
			return c
		}
	}
	return ExitOK
}

// OutcomeOf returns the outcome of a whole run that exits with this code.
func (x Exit) OutcomeOf() Outcome {
	switch x {
	case ExitOK:
		return Passed
	case ExitFailed:
		return Failed
	case ExitPolicy:
		return Policy
	case ExitLimit, ExitDeadline:
		return Limit
	case ExitBudget:
		return Budget
	case ExitAuth, ExitUnavailable:
		return Provider
	case ExitPublish:
		return Publish
	case ExitInterrupt, ExitTerminate:
		return Cancelled
	default:
		return Error
	}
}
