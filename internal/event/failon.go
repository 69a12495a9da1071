package event

import (
	"fmt"
	"slices"
)

// FailOn says which ends of jobs make a run's exit code other than 0. Usage,
// policy, credentials, internal faults and signals are never passed over.
type FailOn string

// What a run fails on. The zero value is FailOnAny.
const (
	FailOnAny    FailOn = "any"    // every job that did not pass
	FailOnAll    FailOn = "all"    // only if no job passed
	FailOnVerify FailOn = "verify" // jobs that failed, not those that a limit, the money, a push or the provider ended
	FailOnPolicy FailOn = "policy" // a policy stop alone
	FailOnNever  FailOn = "never"
)

// ParseFailOn reads the name of one; "" is FailOnAny.
func ParseFailOn(name string) (FailOn, error) {
	all := []FailOn{FailOnAny, FailOnAll, FailOnVerify, FailOnPolicy, FailOnNever}
	switch f := FailOn(name); {
	case name == "":
		return FailOnAny, nil
	case slices.Contains(all, f):
		return f, nil
	}
	return "", fmt.Errorf("there is no fail-on %q: use any, all, verify, policy or never", name)
}

// Exit returns the code that a run exits with whose jobs ended with these
// codes; passed says whether any of them passed.
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
