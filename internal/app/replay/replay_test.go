package replay

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/history"
)

func TestTheFirstDifferenceOfTwoTexts(t *testing.T) {
	for _, c := range [][3]string{
		{"a\nb", "a\nc", `line 2 was "b", is "c"`},
		{"a", "a\nb", `line 2 was nothing, is "b"`},
		{"a\nb", "a", `line 2 was "b", is nothing`},
		{"", "x", `line 1 was "", is "x"`},
		{"a\x1b[31m", "a", `line 1 was "a\x1b[31m", is "a"`},
		{strings.Repeat("x", 500) + "a", strings.Repeat("x", 500) + "b", ""},
		{"a", "a", "equal"},
	} {
		got := firstDifference(c[0], c[1])
		if c[2] != "" && got != c[2] || len(got) > 2*maxText+100 || !strings.HasPrefix(got, "line ") && got != "equal" {
			t.Errorf("%q and %q: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestDifferencesOfCalls(t *testing.T) {
	allowed, denied := &event.Decision{Effect: "allow", Rule: "r"}, &event.Decision{Effect: "deny", Rule: "q"}
	call := func(tool string, status event.CallStatus, d *event.Decision) report.Call {
		return report.Call{Tool: tool, Title: "t", Status: status, Decision: d}
	}
	then := call("bash", event.CallCompleted, allowed)
	for name, c := range map[string]struct {
		now     report.Call
		was, is string
		want    []string
	}{
		"equal":             {then, "x", "x", nil},
		"another tool":      {call("read", event.CallCompleted, allowed), "x", "y", []string{"call 1: now read t"}},
		"a denial":          {call("bash", event.CallDenied, denied), "x", "y", []string{"call 1: completed, now denied, deny by q"}},
		"an error":          {call("bash", event.CallError, nil), "x", "y", []string{"call 1: completed, now error"}},
		"another rule":      {call("bash", event.CallCompleted, &event.Decision{Effect: "allow", Rule: "s"}), "x", "x", []string{"call 1: decision allow by r, now allow by s"}},
		"another result":    {then, "x", "y", []string{`call 1: result: line 1 was "x", is "y"`}},
		"without a result":  {then, "x", "", []string{`call 1: result: line 1 was "x", is ""`}},
		"without decisions": {call("bash", event.CallCompleted, nil), "x", "x", []string{"call 1: decision allow by r, now none"}},
	} {
		if diff := cmp.Diff(c.want, differences("call 1", then, c.now, c.was, c.is)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatVariesBetweenRunsIsNotCompared(t *testing.T) {
	open := func(id, work, dir string) normalizer {
		past := &history.Past{}
		for _, e := range []event.Event{
			{Type: event.RunStarted, Run: &event.Run{ID: id}},
			{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Workspace: work + "/trees/a"}},
		} {
			if err := past.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		return normal(recorded{past, &savedrun.Run{Dir: dir}}, "a")
	}
	a, b := open("20260102-030405-1a2b3c4d", "/tmp/millhand-1a2b3c4d", "/r/one"), open("20260103-030405-5e6f7a8b", "/tmp/millhand-5e6f7a8b", "/r/two")
	was := a.text("/tmp/millhand-1a2b3c4d/trees/a/x.go: run 20260102-030405-1a2b3c4d in /tmp/millhand-1a2b3c4d/home/a, 12.3ms at 10:11:12, http://127.0.0.1:3456/ saved in /r/one/outputs ok 0.3s")
	is := b.text("/tmp/millhand-5e6f7a8b/trees/a/x.go: run 20260103-030405-5e6f7a8b in /tmp/millhand-5e6f7a8b/home/a, 4ms at 10:12:59, http://127.0.0.1:9999/ saved in /r/two/outputs ok 12s")
	if was != is || !strings.HasPrefix(was, "./x.go: run RUN in WORK/home/a, ~") {
		t.Errorf("%s\n%s", was, is)
	}
	if a.text("version 3") == b.text("version 4") {
		t.Error("numbers are not compared")
	}
}

func TestResponsesNameFilesOfTheWorkspaceWherePossible(t *testing.T) {
	m := &journal.Message{Message: model.Message{Role: model.Assistant, Text: "Look.", Calls: []model.ToolCall{
		{ID: "x", Name: "read", Input: `{"filePath":"/tmp/w/trees/a/b.go"}`}, {ID: "y", Name: "bash", Input: "not JSON"},
	}}, Response: &event.Turn{Usage: &money.Usage{Input: 7, Output: 3}}}
	want := turn{Text: "Look.", Calls: []callInTurn{{"read", `{"filePath":"./b.go"}`}, {"bash", "not JSON"}}, Usage: &usageInTurn{Input: 7, Output: 3}, calls: []callInModel{{0, "x"}, {0, "y"}}}
	if diff := cmp.Diff(want, response(m, "/tmp/w/trees/a"), cmp.AllowUnexported(turn{}, callInModel{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
