package invocation

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/history"
)

// of returns the options that arguments set, without checking them.
func of(t *testing.T, args ...string) *Options {
	t.Helper()
	o := New()
	others, _, err := option.Read(o.Fields(), args)
	if err != nil {
		t.Fatal(err)
	}
	o.Plan.Manifests = others
	return o
}

func TestOptionsThatExcludeEachOtherAreRefused(t *testing.T) {
	t.Parallel()
	const replay = "--replay can't be combined with --resume, --dry-run, --json, --record and -p"
	for args, want := range map[string]string{
		"m.yaml":                             "",
		"m.yaml --dry-run --json --record f": "",
		"m.yaml --only-failed":               "--only-failed and --accept-changes require --resume RUN",
		"m.yaml --accept-changes":            "--only-failed and --accept-changes require --resume RUN",
		"--resume r --only-failed":           "",
		"--resume r --accept-changes m.yaml": "",
		"--resume r --dry-run":               "--dry-run can't be combined with --resume",
		"--resume r -p Look":                 "",
		"--replay r m.yaml":                  "",
		"--replay r --resume r":              replay,
		"--replay r --dry-run":               replay,
		"--replay r --json":                  replay,
		"--replay r --record f":              replay,
		"--replay r -p Look":                 replay,
		"-p Look":                            "",
		"-p Look m.yaml":                     `run -p accepts no manifest, got "m.yaml"; quote the prompt, or remove -p`,
		"m.yaml --commit":                    "--commit requires -p PROMPT; of a task in a manifest, set the key instead",
	} {
		o := of(t, strings.Fields(args)...)
		err := o.Parse(o.Plan.Manifests)
		if got := errorText(err); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// They are those of the run with --resume and --replay, where no manifest is looked for.
func TestArgumentsAreManifests(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{"a.yaml b.yaml": {"a.yaml", "b.yaml"}, "--resume r": nil, "--replay r": nil, "--resume r c.yaml": {"c.yaml"}} {
		o := of(t, strings.Fields(args)...)
		given := o.Plan.Manifests
		o.Plan.Manifests = nil
		if err := o.Parse(given); err != nil || !cmp.Equal(o.Plan.Manifests, want) {
			t.Errorf("%s: %q, %v", args, o.Plan.Manifests, err)
		}
	}
	o := of(t)
	o.Plan.Dir = t.TempDir()
	if err := o.Parse(nil); err == nil || !strings.Contains(err.Error(), "run requires a manifest, and millhand.yaml was not found") {
		t.Errorf("without a manifest: %v", err)
	}
}

// Package load refuses those that an untrusted manifest could redirect.
func TestAllFilesOfOptionsAreChecked(t *testing.T) {
	t.Parallel()
	o := of(t, "--report-dir", "r", "--record", "f", "--sources", "s", "-p", "Look", "--output-schema", "o.json", "--output-file", "out")
	if err := o.Parse(nil); err != nil {
		t.Fatal(err)
	}
	want := []load.Path{{Flag: "--report-dir", Path: "r"}, {Flag: "--record", Path: "f"}, {Flag: "--sources", Path: "s"}, {Flag: "--output-schema", Path: "o.json"}, {Flag: "--output-file", Path: "out"}}
	if diff := cmp.Diff(want, o.Plan.Paths); diff != "" {
		t.Error(diff)
	}
}

func TestAPromptBecomesTheManifestOfANewRun(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	w := world.World{Dir: t.TempDir(), In: strings.NewReader(""), Now: func() time.Time { return now }}
	o := of(t, "-p", "Look at it.", "--commit")
	if err := o.UsePrompt(t.Context(), w); err != nil || !strings.HasPrefix(o.ID, "20260203-040506-") || !strings.Contains(string(o.Plan.Prompt), "Look at it.") || !strings.Contains(string(o.Plan.Prompt), o.ID) {
		t.Errorf("%q, %s, %v", o.ID, o.Plan.Prompt, err)
	}
	if o = of(t, "-p", "-"); o.UsePrompt(t.Context(), w) == nil {
		t.Error("an empty prompt is accepted")
	}
	for _, args := range []string{"m.yaml", "-p - --resume r"} {
		if o = of(t, strings.Fields(args)...); o.UsePrompt(t.Context(), w) != nil || o.ID != "" || o.Plan.Prompt != nil {
			t.Errorf("%s: %q, %s", args, o.ID, o.Plan.Prompt)
		}
	}
}

// started is a run that was started with arguments in a new directory.
func started(t *testing.T, args ...string) *event.Run {
	t.Helper()
	return &event.Run{ID: "r", Invocation: &event.Invocation{Dir: t.TempDir(), Args: args}}
}

func TestAResumedRunHasItsOwnOptionsExceptThoseOfThisProcess(t *testing.T) {
	t.Parallel()
	run := started(t, "m.yaml", "--model", "openai/a", "--jobs", "2", "--max-cost", "5", "--max-failures", "3", "--json", "--quiet", "--log-level", "error", "--record", "rec", "--after", "r0", "--fail-on", "verify", "--keep")
	now := of(t, "--resume", "r", "--only-failed", "--accept-changes", "--log-format", "json", "--log-level", "debug")
	now.FollowUp = FollowUp{Job: "j", Prompt: "Again."}
	got, err := Resumed(*now, run)
	if err != nil {
		t.Fatal(err)
	}
	if got.Plan.Model != "openai/a" || got.Plan.Parallel != 2 || got.Plan.MaxCost != 5*money.Dollar || got.MaxFailures != 3 || !got.Keep || got.FailOn == event.FailOnAny || !cmp.Equal(got.After, []string{"r0"}) || got.Plan.Run != "r" {
		t.Errorf("options of the run: %+v", got)
	}
	if got.JSON || got.Log.Quiet || got.Log.Format != "json" || got.Log.Level != "debug" || !got.OnlyFailed || !got.AcceptChanges || got.FollowUp != now.FollowUp || got.Resume != "" {
		t.Errorf("options of this process: %+v", got)
	}
	if got.Record != run.Invocation.Dir+"/rec" || got.Invocation != run.Invocation || got.Plan.Sources.Recorded != run || got.Plan.Sources.Only {
		t.Errorf("%+v", got)
	}
	// More jobs and money can be given, and without --accept-changes forges are not asked for other repositories.
	run.ForkedFrom = &event.Fork{Run: "other"}
	if got, err = Resumed(*of(t, "--resume", "r", "--jobs", "7", "--max-cost", "9"), run); err != nil || got.Plan.Parallel != 7 || got.Plan.MaxCost != 9*money.Dollar || !got.Plan.Sources.Only {
		t.Errorf("%+v, %v", got.Plan, err)
	}
	if got.Record != "" {
		t.Errorf("a fork writes to the recording of the other run, %s", got.Record)
	}
}

func TestARunWhoseFlagsAreNotKnownIsNotResumed(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]*event.Run{"of another version": started(t, "m.yaml", "--flag-of-another-version"), "that exclude each other": started(t, "m.yaml", "--only-failed")} {
		if _, err := Resumed(*New(), run); err == nil || !strings.HasPrefix(err.Error(), "the flags that the run was started with: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	unknown, known := started(t, "m.yaml", "--unknown"), of(t)
	known.Invocation = &event.Invocation{Args: []string{"--jobs", "2"}}
	if err := SameFlags(*known, unknown); err == nil || err.Error() != "the flags that the run was started with: unknown flag --unknown" {
		t.Errorf("%v", err)
	}
	known.Invocation = unknown.Invocation
	if err := SameFlags(*known, started(t)); err == nil || err.Error() != "unknown flag --unknown" {
		t.Errorf("%v", err)
	}
	for name, err := range map[string]error{"another command": SameFlags(*New(), unknown), "another release": SameFlags(*known, &event.Run{})} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A manifest that is named would be ignored.
func TestARunOfAPromptIsResumedWithoutManifests(t *testing.T) {
	t.Parallel()
	if _, err := Resumed(*of(t, "--resume", "r", "m.yaml"), started(t, "-p", "Look.")); err == nil || err.Error() != `the run has a prompt (-p) and accepts no manifest, got "m.yaml"` {
		t.Errorf("%v", err)
	}
}

func TestAReopenedRunHasItsPrompt(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c := clock.Clock{Now: time.Now, Sleep: clock.Wait}
	out, err := rundir.Claim(t.Context(), t.TempDir(), "report", "r", c)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := savedrun.Reopened{Out: out, Past: &history.Past{}}
	r.Past.Run = started(t, "-p", "Look.")
	if _, err := Of(r); err == nil {
		t.Error("a run whose prompt is missing is reopened")
	}
	out.KeepManifest([]byte("version: 1\n"))
	if err := out.Begin("r", sandbox.None, nil, 1); err != nil {
		t.Fatal(err)
	}
	if o, err := Of(r); err != nil || !strings.HasSuffix(string(o.Plan.Prompt), "version: 1\n") || *o.Prompt.Text != "Look." {
		t.Errorf("%s, %v", o.Plan.Prompt, err)
	}
	r.Past.Run = started(t, "m.yaml")
	if o, err := Of(r); err != nil || o.Plan.Prompt != nil || !cmp.Equal(o.Plan.Manifests, []string{"m.yaml"}) {
		t.Errorf("%+v, %v", o.Plan, err)
	}
}

func TestTheInterruptedRunOfARolloutIsResumed(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := of(t, "m.yaml", "--jobs", "3", "--max-cost", "2", "--json", "--verbose", "--log-format", "json", "--model", "openai/a", "--record", "f")
	o.Plan.Dir = "/work"
	got := Again(world.World{Err: &log}, *o, "/work/.millhand/runs/r1")
	want := New()
	want.Resume, want.JSON, want.Verbose, want.Log = "/work/.millhand/runs/r1", true, true, o.Log
	want.Plan.Dir, want.Plan.Manifests, want.Plan.Parallel, want.Plan.MaxCost = "/work", []string{"m.yaml"}, 3, 2*money.Dollar
	if diff := cmp.Diff(*want, got, cmp.AllowUnexported(load.Prompt{})); diff != "" {
		t.Error(diff)
	}
	if log.String() != "continuing run r1 of the rollout, which was killed or interrupted\n" {
		t.Errorf("log %q", &log)
	}
	log.Reset()
	o.Log.Quiet = true
	if Again(world.World{Err: &log}, *o, "r1"); log.Len() > 0 {
		t.Errorf("quiet: %s", &log)
	}
}
