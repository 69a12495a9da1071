package event_test

import (
	"testing"

	"github.com/millhand/millhand/internal/event"
)

func TestFailOnExit(t *testing.T) {
	const ok, failed, policy, limit, publish, auth = event.ExitOK, event.ExitFailed, event.ExitPolicy, event.ExitLimit, event.ExitPublish, event.ExitAuth
	for _, c := range []struct {
		failOn event.FailOn
		codes  []event.Exit
		passed bool
		want   event.Exit
	}{
		{"", []event.Exit{ok, failed}, true, failed},
		{event.FailOnAny, []event.Exit{ok, limit}, true, limit},
		{event.FailOnAll, []event.Exit{ok, failed}, true, ok},
		{event.FailOnAll, []event.Exit{limit, failed}, false, limit},
		{event.FailOnAll, []event.Exit{ok, failed}, false, failed}, // the ok is a job that was left out
		{event.FailOnAll, []event.Exit{ok, policy}, true, policy},
		{event.FailOnVerify, []event.Exit{ok, limit, publish}, true, ok},
		{event.FailOnVerify, []event.Exit{limit, failed}, true, failed},
		{event.FailOnVerify, []event.Exit{auth, failed}, true, auth},
		{event.FailOnPolicy, []event.Exit{failed, limit}, true, ok},
		{event.FailOnPolicy, []event.Exit{failed, policy}, true, policy},
		{event.FailOnNever, []event.Exit{failed, limit, publish, event.ExitBudget, event.ExitDeadline, event.ExitUnavailable}, false, ok},
		{event.FailOnNever, []event.Exit{event.ExitInternal}, false, event.ExitInternal},
		{event.FailOnNever, []event.Exit{event.ExitTerminate, ok}, true, event.ExitTerminate},
	} {
		if got := c.failOn.Exit(c.codes, c.passed); got != c.want {
			t.Errorf("fail-on %q of %v (any passed: %v) is %d, want %d", c.failOn, c.codes, c.passed, got, c.want)
		}
	}
}

func TestParseFailOn(t *testing.T) {
	for _, name := range []string{"any", "all", "verify", "policy", "never"} {
		if f, err := event.ParseFailOn(name); err != nil || string(f) != name {
			t.Errorf("%s: got %q, %v", name, f, err)
		}
	}
	if f, err := event.ParseFailOn(""); err != nil || f != event.FailOnAny {
		t.Errorf("the empty name: got %q, %v", f, err)
	}
	if _, err := event.ParseFailOn("some"); err == nil {
		t.Error("an unknown name was accepted")
	}
}
