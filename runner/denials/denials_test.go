package denials

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/runner/history"
)

func TestAdviceOnProfiles(t *testing.T) {
	call := func(p permission.Profile, tool, subject string) event.Call {
		d := p.Decide(permission.Need(permission.ForTool(tool), subject))
		c := event.Call{Tool: tool, Status: event.CallDenied, Decision: &event.Decision{Rule: d.Rule, Source: d.Source}}
		if d.Allowed() {
			c.Status = event.CallCompleted
		}
		return c
	}
	for _, c := range []struct {
		profile, calls  string
		warns, changing string // what the advice contains, also of a task that asks for changes
	}{
		{"readonly", "write a", "can't change files", "can't change files"},
		{"readonly", "read a", "", ""},
		{"readonly", "write a, read a", "can't change files", "can't change files"},
		{"readonly", "write a, read .env", "", ""},
		{"edit", "bash make", "set profile: build", "set profile: build"},
		{"edit", "bash make, write a", "set profile: build", "set profile: build"},
		{"review", "bash make", "can't change files", "can't change files"},
		{"review", "bash make, bash ls", "", "can't change files"},
		{"review", "bash ls, bash make", "can't change files", "can't change files"},
		{"review", "bash make, write a, bash ls", "can't change files", "can't change files"},
	} {
		p, ok := permission.Preset(c.profile)
		if !ok {
			t.Fatal(c.profile)
		}
		now, past := &Calls{}, &history.Past{}
		for i, text := range strings.Split(c.calls, ", ") {
			tool, subject, _ := strings.Cut(text, " ")
			one := call(p, tool, subject)
			now.See(p, one)
			one.Turn = i + 1
			past.Emit(event.Event{Type: event.CallUpdated, Job: "a", Session: "s", Call: &one})
		}
		earlier := &Calls{}
		earlier.Recall(p, past.Job("a"))
		for what, d := range map[string]*Calls{"this process": now, "an earlier process": earlier} {
			for changing, want := range map[bool]string{false: c.warns, true: c.changing} {
				if got := d.Advice(p, changing); (got == "") != (want == "") || !strings.Contains(got, want) {
					t.Errorf("%s, %s in %s, changing %v: %q, want %q", c.profile, c.calls, what, changing, got, want)
				}
			}
		}
	}
}
