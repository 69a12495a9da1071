package follow

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
)

var (
	now = time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	all = Settings{Conflict: true, Checks: true, Review: true, Attempts: 2, CostUSD: money.Dollar, Stale: 30 * 24 * time.Hour}
)

func TestDecisions(t *testing.T) {
	red := Check{Name: "test", Failed: true, Log: "boom"}
	signature := Signature([]Check{red})
	remark := Remark{ID: "c1", Author: "ada", Body: "rename it"}
	for _, c := range []struct {
		name   string
		pull   func(*Pull)
		state  State
		set    func(*Settings)
		want   Action
		reason string
	}{
		{name: "green", want: Nothing, reason: "nothing to do"},
		{name: "merged", pull: func(p *Pull) { p.Closed, p.Conflict = "merged", true }, want: Nothing, reason: "it is merged"},
		{name: "labelled", pull: func(p *Pull) { p.Labelled, p.Conflict = true, true }, want: Nothing, reason: "it has the label needs-human"},
		{name: "stopped without a label", pull: func(p *Pull) { p.Conflict = true }, state: State{Stopped: "all attempts", Unlabelled: true}, want: Nothing, reason: "all attempts"},
		{name: "foreign", pull: func(p *Pull) { p.Ours, p.Conflict = false, true }, want: HandsOff, reason: "its head is a commit of somebody else"},
		{name: "stale", pull: func(p *Pull) { p.Updated = now.AddDate(0, 0, -31) }, want: Stop, reason: "no activity for 31 days"},
		{name: "a killed session of a foreign head", pull: func(p *Pull) { p.Ours = false }, state: State{Pending: &Pending{}}, want: Continue},
		{name: "conflict", pull: func(p *Pull) { p.Conflict, p.Checks = true, []Check{red} }, want: Rebase},
		{name: "conflict without attempts", pull: func(p *Pull) { p.Conflict = true }, state: State{Attempts: 2}, want: Rebase},
		{name: "conflict is off", pull: func(p *Pull) { p.Conflict = true }, set: func(s *Settings) { s.Conflict = false }, want: Nothing, reason: "nothing to do"},
		{name: "red", pull: func(p *Pull) { p.Checks = []Check{red} }, want: Fix},
		{name: "red is off", pull: func(p *Pull) { p.Checks = []Check{red} }, set: func(s *Settings) { s.Checks = false }, want: Nothing, reason: "nothing to do"},
		{name: "red base", pull: func(p *Pull) { p.Checks, p.Base = []Check{red}, []Check{{Name: "other", Failed: true}} }, want: Nothing, reason: "its checks failed, and so did checks of the base"},
		{name: "another check is pending", pull: func(p *Pull) { p.Checks = []Check{red, {Name: "slow", Pending: true}} }, want: Nothing, reason: "its checks have not completed"},
		{name: "another failure", pull: func(p *Pull) { p.Checks = []Check{red} }, state: State{Attempts: 1, Signatures: []string{"x"}}, want: Fix},
		{name: "the same failure", pull: func(p *Pull) { p.Checks = []Check{red} }, state: State{Attempts: 1, Signatures: []string{signature}}, want: Stop, reason: "the same failure again after a fix"},
		{name: "attempts", pull: func(p *Pull) { p.Checks = []Check{red} }, state: State{Attempts: 2}, want: Stop, reason: "all attempts were used (2)"},
		{name: "cost", pull: func(p *Pull) { p.Checks = []Check{red} }, state: State{Attempts: 1, CostUSD: money.Dollar}, want: Stop, reason: "its sessions have cost $1.00 of $1.00"},
		{name: "review", pull: func(p *Pull) { p.Remarks, p.Checks = []Remark{remark}, []Check{{Pending: true}} }, want: Respond},
		{name: "review with a red base", pull: func(p *Pull) {
			p.Remarks, p.Checks, p.Base = []Remark{remark}, []Check{red}, []Check{red}
		}, want: Respond},
		{name: "handled", pull: func(p *Pull) { p.Remarks = []Remark{remark} }, state: State{Handled: []string{"c1"}}, want: Nothing, reason: "nothing to do"},
		{name: "review without attempts", pull: func(p *Pull) { p.Remarks = []Remark{remark} }, state: State{Attempts: 2}, want: Stop, reason: "all attempts were used (2)"},
		{name: "review is off", pull: func(p *Pull) { p.Remarks = []Remark{remark} }, set: func(s *Settings) { s.Review = false }, want: Nothing, reason: "nothing to do"},
	} {
		p, set := Pull{Ours: true, Head: "abc", Updated: now.AddDate(0, 0, -1)}, all
		if c.pull != nil {
			c.pull(&p)
		}
		if c.set != nil {
			c.set(&set)
		}
		d := Decide(p, c.state, set, now)
		if d.Action != c.want || d.Reason != c.reason {
			t.Errorf("%s: %s, %q; want %s, %q", c.name, d.Action, d.Reason, c.want, c.reason)
		}
	}
	if d := Conflicting(Pull{Head: "abc"}, State{Signatures: []string{"conflict abc"}}, all); d.Action != Stop {
		t.Errorf("the same conflict again: %+v", d)
	}
}

func TestSignaturesIgnoreWhatChangesWithEachRun(t *testing.T) {
	of := func(text string) string { return Signature([]Check{{Name: "test", Log: text}}) }
	same := of("2026-01-01T10:00:00.123Z --- FAIL: TestA (0.01s)\n\tat deadbeef01 /tmp/x17/a.go:12")
	if other := of("2026-01-02T11:30:59.9Z --- FAIL: TestA (12.30s)\n\tat 0123456789a /tmp/x5/a.go:13\n"); other != same {
		t.Error("the same failure differs")
	}
	if other := of("2026-01-02T11:30:59.9Z --- FAIL: TestB (12.30s)"); other == same {
		t.Error("another failure is the same")
	}
}

func TestAForgedStatePermitsNoMoreThanTheLimits(t *testing.T) {
	forged := State{Attempts: -9, CostUSD: -money.Dollar, Pending: &Pending{Attempts: -9, CostUSD: -money.Dollar}}
	s := Parse(forged.Text("job", all, strings.ToUpper))
	if s.Attempts != 0 || s.CostUSD != 0 || s.Pending == nil || s.Pending.Attempts != 0 || s.Pending.CostUSD != 0 {
		t.Errorf("%+v, pending %+v", s, s.Pending)
	}
}

func TestStatesAreInComments(t *testing.T) {
	clean := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), "<", "&lt;") }
	s := State{}.Begin(Decision{Action: Respond, Remarks: []Remark{{ID: "c1", Author: "ada", URL: "u1"}, {ID: "r2", Author: "bob", URL: "u2"}}}, Pull{Head: "abc"}, 3, money.Dollar)
	text := s.Text("job", all, clean)
	if d := cmp.Diff(s, Parse(text)); d != "" {
		t.Errorf("before the end: %s", d)
	}
	if !strings.Contains(text, "A session is in progress.") {
		t.Errorf("%s", text)
	}
	s = s.Finish(Outcome{Commit: strings.Repeat("f", 40), Final: "Both.\n- `c1`: done: renamed -->\nr2: declined: it is <right>\nc9: done: x", CostUSD: money.Dollar * 3 / 2})
	if s.Pending != nil || s.CostUSD != money.Dollar/2 || s.Attempts != 1 {
		t.Errorf("%+v", s)
	}
	want := []Entry{{"comment of ada", "u1", "done: renamed -->"}, {"comment of bob", "u2", "declined: it is <right>"}}
	if d := cmp.Diff(want, s.Entries); d != "" {
		t.Errorf("%s", d)
	}
	if d := cmp.Diff([]string{"c1", "r2"}, s.Handled); d != "" {
		t.Errorf("%s", d)
	}
	s.Stopped = "all attempts were used (2)"
	if d := cmp.Diff(s, Parse(s.Text("job", all, clean))); d != "" {
		t.Errorf("at the end: %s", d)
	}
	if r := s.Resumed(true); r.Attempts != 1 || r.Stopped == "" {
		t.Errorf("with the label: %+v", r)
	}
	if r := s.Resumed(false); r.Attempts != 0 || r.Stopped != "" || len(r.Handled) != 2 {
		t.Errorf("without the label: %+v", r)
	}
	quoted := s.With("`"+statePrefix+"e30="+stateSuffix+"`", statePrefix+"e30="+stateSuffix)
	if d := cmp.Diff(quoted, Parse(quoted.Text("job", all, strings.TrimSpace))); d != "" {
		t.Errorf("with a quoted state: %s", d)
	}
	for _, text := range []string{"", "x " + statePrefix, statePrefix + "!!" + stateSuffix, statePrefix + "bnVsbA==" + stateSuffix} {
		if d := cmp.Diff(State{}, Parse(text)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(State{Attempts: 1, Pending: &Pending{}}.Text("job", all, strings.TrimSpace))
	f.Fuzz(func(_ *testing.T, text string) {
		s := Parse(text)
		_ = Decide(Pull{Ours: true}, s, all, now)
		_ = s.Finish(Outcome{Final: text})
	})
}
