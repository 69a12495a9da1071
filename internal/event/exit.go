package event

import "slices"

// Exit is a process exit code. The constants are all that millhand exits with;
// [Exits] says what each means.
type Exit int

// The exit codes.
const (
	ExitOK          Exit = 0
	ExitFailed      Exit = 1
	ExitUsage       Exit = 2
	ExitPolicy      Exit = 3
	ExitLimit       Exit = 4
	ExitBudget      Exit = 5
	ExitAuth        Exit = 6
	ExitPublish     Exit = 7
	ExitInternal    Exit = 70
	ExitUnavailable Exit = 75
	ExitDeadline    Exit = 124
	ExitInterrupt   Exit = 130
	ExitTerminate   Exit = 143
)

// ExitDoc documents an exit code.
type ExitDoc struct {
	Exit    Exit
	Outcome Outcome // of a whole run that exits with it
	Doc     string  // Markdown, one line
}

// Exits returns the table of exit codes, in the order of README.
func Exits() []ExitDoc {
	const signals = "SIGINT, SIGTERM (or SIGHUP): commands killed, patches and reports written"
	return []ExitDoc{
		{ExitOK, Passed, "every selected job passed"},
		{ExitFailed, Failed, "a job failed: verification, the agent gave up, a required change is missing"},
		{ExitUsage, Error, "usage or manifest invalid; nothing was spent"},
		{ExitPolicy, Policy, "policy stop: the limit on denials passed, the sandbox required is absent, or a change holds a secret"},
		{ExitLimit, Limit, "a job's turn, token or time limit; partial work is kept"},
		{ExitBudget, Budget, "a money cap, of a job or the run; the rest was not started"},
		{ExitAuth, Provider, "credentials missing or refused, model unknown"},
		{ExitPublish, Publish, "git or a push failed after good work; the patch is kept"},
		{ExitInternal, Error, "internal fault"},
		{ExitUnavailable, Provider, "provider unavailable or rate limited after retries: try again later"},
		{ExitDeadline, Limit, "the run's deadline"},
		{ExitInterrupt, Cancelled, signals},
		{ExitTerminate, Cancelled, signals},
	}
}

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
	for _, row := range Exits() {
		if row.Exit == x {
			return row.Outcome
		}
	}
	return Error
}
