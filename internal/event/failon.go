package event

import (
	"fmt"
	"slices"
)

// FailOn selects the outcomes of jobs that make the exit code of a run nonzero.
// Usage errors, policy stops, credentials, internal errors and signals always do.
type FailOn string

// The values of FailOn. The zero value means FailOnAny.
const (
	FailOnAny    FailOn = "any"    // every job that did not pass
	FailOnAll    FailOn = "all"    // only if no job passed
	FailOnVerify FailOn = "verify" // jobs with outcome failed, not those ended by a limit, a budget, a push or the provider
	FailOnPolicy FailOn = "policy" // only policy stops
	FailOnNever  FailOn = "never"
)

// ParseFailOn parses a value; "" means FailOnAny.
func ParseFailOn(name string) (FailOn, error) {
	all := []FailOn{FailOnAny, FailOnAll, FailOnVerify, FailOnPolicy, FailOnNever}
	switch f := FailOn(name); {
	case name == "":
		return FailOnAny, nil
	case slices.Contains(all, f):
		return f, nil
	}
	return "", fmt.Errorf("invalid fail-on %q: use any, all, verify, policy or never", name)
}

// Exit returns the exit code of a run whose jobs ended with these codes; passed
// reports whether any of them passed.
func (f FailOn) Exit(codes []Exit, passed bool) Exit {
	worst := Worst(codes)
	masked := []Exit{ExitLimit, ExitBudget, ExitPublish, ExitUnavailable, ExitDeadline, ExitFailed}
	switch {
	case f == "" || f == FailOnAny || !slices.Contains(masked, worst):
		return worst
	case f == FailOnAll && !passed:
		return worst
	case f == FailOnVerify && slices.Contains(codes, ExitFailed):
		return ExitFailed
	}
	return ExitOK
}
