package result

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
)

func TestFlagsForMissingSetupAreQuoted(t *testing.T) {
	rep := &report.Report{Jobs: []report.Job{{Reason: "no"}, {Reason: "command not found: add setup: [npm ci, pip install -r requirements.txt]"}}}
	if got := lacksSetup(rep); got != "--setup 'npm ci' --setup 'pip install -r requirements.txt'" {
		t.Errorf("%s", got)
	}
	for setup, want := range map[bool]bool{false: true, true: false} {
		var log strings.Builder
		Message(false, setup)(world.World{Out: io.Discard, Err: &log, Getenv: func(string) string { return "" }}, rep, "/reports")
		if got := strings.Contains(log.String(), "no setup commands were run: add --setup 'npm ci'"); got != want {
			t.Errorf("setup %t: %s", setup, &log)
		}
	}
}

func TestMessageIsTheDocumentIfThereIsASchema(t *testing.T) {
	rep := &report.Report{Jobs: []report.Job{{FinalMessage: "Done.\n\n"}, {FinalMessage: "Text.", Output: json.RawMessage(`{"n":1}`)}, {}}}
	for _, quiet := range []bool{false, true} {
		var out, log strings.Builder
		Message(quiet, false)(world.World{Out: &out, Err: &log, Getenv: func(string) string { return "" }}, rep, "/reports")
		if out.String() != "Done.\n{\"n\":1}\n" || strings.HasSuffix(log.String(), "reports: /reports\n") == quiet {
			t.Errorf("quiet %t: %q, %q", quiet, &out, &log)
		}
	}
}

func TestForgottenProfilesAreNamedOnce(t *testing.T) {
	advice := permission.CannotChange("readonly")
	rep := &report.Report{Jobs: []report.Job{
		{Task: "a", ReasonCode: event.CodeProfile, Reason: advice},
		{Task: "a", ReasonCode: event.CodeProfile, Reason: advice},
		{Task: "b", Warnings: []string{advice, "another warning"}},
		{Task: "c", Reason: advice},
	}}
	var log strings.Builder
	AdviseProfiles(world.World{Err: &log}, rep)
	if want := "millhand: a: " + advice + "\nmillhand: b: " + advice + "\n"; log.String() != want {
		t.Errorf("%s", cmp.Diff(want, log.String()))
	}
}

// The log of a GitHub step has annotations at the lines of manifests, which are relative to the directory of the run. The action
// annotates itself.
func TestFailuresAreAnnotatedRelativeToTheCheckout(t *testing.T) {
	rep := &report.Report{Run: report.Run{Manifest: []string{"ci/m.yaml"}}, Jobs: []report.Job{{ID: "one", Outcome: event.Failed, Reason: "it failed"}}}
	for format, want := range map[string]string{"github": ",file=work/ci/m.yaml::it failed", "console": ""} {
		var out strings.Builder
		w := world.World{Err: &out, Out: io.Discard, Getenv: func(name string) string { return map[string]string{"GITHUB_WORKSPACE": "/checkout"}[name] }}
		log, err := view.New(io.Discard, view.Options{Format: format, Level: "info"}, w.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		Annotate(w, log, rep, "/checkout/work")
		if got := out.String(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q", format, got)
		}
		out.Reset()
		w.Err = action.NewLog(&out)
		if Annotate(w, log, rep, "/checkout/work"); out.Len() > 0 {
			t.Errorf("the action: %s", &out)
		}
	}
}

func TestTheActionPrintsNoReasonTwice(t *testing.T) {
	rep := &report.Report{Jobs: []report.Job{{ID: "one", Reason: "it failed"}}}
	if brief := withoutReasons(rep); brief.Jobs[0].Reason != "" || rep.Jobs[0].Reason != "it failed" {
		t.Errorf("%q, of the report %q", brief.Jobs[0].Reason, rep.Jobs[0].Reason)
	}
}
