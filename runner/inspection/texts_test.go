package inspection

import (
	"reflect"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/landing"
)

// Only what was denied may be undone.
func TestWhatAnAttemptMayUndo(t *testing.T) {
	readonly, _ := permission.Preset("readonly")
	deny := permission.Decision{Request: permission.Request{Subjects: []string{"src/a"}}}
	f := Faults{barred: []permission.Decision{deny}, refused: []state.Refusal{{Path: "app/sub", Reason: state.NestedRepository}, {Path: "app/fifo", Reason: "other"}}}
	p := f.Returned(readonly, "app")
	for path, want := range map[string]bool{"src/a": true, "src/b": false} {
		if p.Allows("edit", path) != want {
			t.Errorf("edit %s: %t", path, !want)
		}
	}
	if !p.Allows(permission.Git, "sub/.git") || p.Allows(permission.Git, "fifo/.git") {
		t.Error("not only the nested repository can be made a directory")
	}
}

func TestTheFeedbackOfAFailedVerify(t *testing.T) {
	reports, err := files.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer reports.Close()
	got := Faults{failed: []commands.Ran{
		{Verify: event.Verify{Name: "test", ExitCode: 1, Tail: "FAIL\n"}},
		{Verify: event.Verify{Name: "lint", ExitCode: -1}},
		{Verify: event.Verify{Name: "slow", ExitCode: -1, TimeoutMS: 1500, Tail: "begun\n", OutputPath: "outputs/a/command-1.txt"}},
	}}.Feedback(reports)
	for _, want := range []string{"<check name=\"test\" result=\"exit code 1\">\nFAIL\n</check>\n", "<check name=\"lint\" result=\"killed\">\n\n</check>\n", "<check name=\"slow\" result=\"timed out after 1.5s\">\nbegun\n(excerpt; the complete output is in " + reports.Path() + "/outputs/a/command-1.txt)\n</check>\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
}

// Each kind of fault has a text: without one, a script that failed would count as one that made its changes.
func TestEachFaultIsInTheSummary(t *testing.T) {
	t.Parallel()
	all := map[string]Faults{
		"verify": {failed: []commands.Ran{{Verify: event.Verify{Name: "vet"}}}}, "barred": {barred: []permission.Decision{{Request: permission.Need("edit", "a")}}},
		"scope": {over: make([]landing.Excess, 1)}, "git": {refused: []state.Refusal{{Path: "a"}}}, "conflicts": {marked: []string{"a"}},
		"unneeded": {unneeded: true, Hunks: &event.Hunks{List: []event.Hunk{{Path: "a", State: "unneeded"}}}},
	}
	if kinds := reflect.TypeFor[Faults]().NumField() - 2; len(all) != kinds { // without the commands that ran, and the account
		t.Errorf("%d of %d kinds", len(all), kinds)
	}
	names := map[string]string{"verify": "verify vet failed", "barred": "may not edit: a, by rule  ()", "git": "can't be committed: a", "conflicts": "left in a", "unneeded": "1 hunk of the changes: a ()"}
	for name, f := range all {
		if f.None() || f.Summary() == "" || !strings.HasSuffix(f.Summary(), names[name]) {
			t.Errorf("%s: none %t, %q", name, f.None(), f.Summary())
		}
	}
}
