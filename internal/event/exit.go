package event

import "slices"

// Exit is a process exit code. The constants are the complete list; [Exits]
// documents each.
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
	Outcome Outcome // of a run that exits with it
	Doc     string  // Markdown, one line
}

// Exits returns the table of exit codes, in the order of docs/cli.md.
func Exits() []ExitDoc {
	const signals = "SIGINT, SIGTERM (or SIGHUP): commands were killed, patches and reports written"
	return []ExitDoc{
		{ExitOK, Passed, "every selected job passed"},
		{ExitFailed, Failed, "a job failed: a verify command failed, the agent gave up, or a required change is missing"},
		{ExitUsage, Error, "invalid usage or manifest; nothing was spent"},
		{ExitPolicy, Policy, "stopped by policy: denial limit exceeded, required sandbox not available, or a secret in the changes; or a limit stopped a rollout"},
		{ExitLimit, Limit, "turn, token, time or disk limit of a job exceeded; partial work is saved"},
		{ExitBudget, Budget, "cost limit of a job or of the run exceeded; after that of the run, no more jobs were started"},
		{ExitAuth, Provider, "credentials missing or rejected, model not found, or the endpoint can't be used as configured: certificate, TLS, proxy"},
		{ExitPublish, Publish, "git error or failed push after successful work; the patch is saved"},
		{ExitInternal, Error, "internal error, the machine lacks open files, processes, memory or disk space, or the result could not be written to standard output"},
		{ExitUnavailable, Provider, "provider unavailable or rate limited after all retries; try again later"},
		{ExitDeadline, Limit, "the run timed out"},
		{ExitInterrupt, Cancelled, signals},
		{ExitTerminate, Cancelled, signals},
	}
}

// severity orders the codes by precedence: a run exits with the first of them
// that occurred. A signal ends the entire run, so it comes first.
func severity() []Exit {
	return []Exit{
		ExitInterrupt, ExitTerminate, ExitInternal, ExitPolicy, ExitAuth, ExitBudget,
		ExitUnavailable, ExitDeadline, ExitLimit, ExitPublish, ExitFailed,
	}
}

// Worst returns the exit code of a run whose jobs ended with these codes;
// ExitOK if there are none.
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

// OutcomeOf returns the outcome of a run that exits with this code.
func (x Exit) OutcomeOf() Outcome {
	for _, row := range Exits() {
		if row.Exit == x {
			return row.Outcome
		}
	}
	return Error
}
