package distillery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/distill"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/tasks"
)

// saveRun returns a directory with the run r of five jobs of task fix, and one of each of others, all of which passed with a patch.
func saveRun(t *testing.T, args []string, others ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files := map[string]string{"m.yaml": "version: 1\n"}
	var events bytes.Buffer
	s := event.NewStream(time.Now, event.JSONL(&events))
	run := &event.Run{ID: "r1", PlanHash: "h"}
	if args != nil {
		run.Invocation = &event.Invocation{Dir: dir, Args: args}
	}
	for i := range 5 {
		run.Jobs = append(run.Jobs, event.PlannedJob{ID: fmt.Sprintf("fix-%d", i), Task: "fix", Repo: fmt.Sprintf("shop%d", i)})
	}
	for _, task := range others {
		run.Jobs = append(run.Jobs, event.PlannedJob{ID: task, Task: task, Repo: "shop"})
	}
	s.Emit(event.Event{Type: event.RunStarted, Run: run})
	for _, j := range run.Jobs {
		files["r/patches/"+j.ID+".patch"] = "patch of " + j.ID
		s.Emit(event.Event{Type: event.JobStarted, Job: j.ID, JobStart: &event.JobStart{Base: "base-" + j.ID}})
		s.Emit(event.Event{Type: event.JobEnded, Job: j.ID, JobEnd: &event.JobEnd{Outcome: event.Passed, Attempts: 1, Patch: "patches/" + j.ID + ".patch"}})
	}
	s.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Passed}})
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	files["r/events.jsonl"] = events.String()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// in returns a world in a directory, and what is printed there.
func in(dir string) (world.World, *bytes.Buffer) {
	var out bytes.Buffer
	return world.World{Dir: dir, Out: &out, Err: &out, Now: time.Now, Getenv: func(string) string { return "" }}, &out
}

// opened returns a distillery of the run in a directory.
func opened(t *testing.T, dir string, o Options) (*distillery, error) {
	t.Helper()
	w, _ := in(dir)
	o.Run = filepath.Join(dir, "r")
	d := &distillery{world: w, given: o}
	return d, d.open(t.Context())
}

// Nothing is run if the accepted patches, their task or the file of the script are not clear.
func TestWhatCantBeDistilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		others []string
		change func(t *testing.T, dir string, o *Options)
		want   string
	}{
		"no run":          {[]string{"m.yaml"}, nil, func(t *testing.T, dir string, _ *Options) { t.Helper(); os.RemoveAll(filepath.Join(dir, "r")) }, "it must be a directory with events.jsonl, or an id in .millhand/runs"},
		"two tasks":       {[]string{"m.yaml"}, []string{"other"}, nil, "the run has 2 tasks: choose one with --task: fix, other"},
		"an unknown task": {[]string{"m.yaml"}, nil, func(_ *testing.T, _ string, o *Options) { o.Task = "nope" }, `task "nope" not found in the run; it has fix`},
		"few patches":     {[]string{"m.yaml"}, []string{"other"}, func(_ *testing.T, _ string, o *Options) { o.Task = "other" }, "task other has too few accepted patches (1): a script needs one to be made from, and 3 to be tried with"},
		"a foreign patch": {[]string{"m.yaml"}, nil, func(_ *testing.T, _ string, o *Options) { o.Patches = []string{"/x/other.patch"} }, "--patch /x/other.patch: other is no job of task fix that passed with changes"},
		"a missing patch": {[]string{"m.yaml"}, nil, func(_ *testing.T, _ string, o *Options) { o.Patches = []string{"/nowhere/fix-1.patch"} }, "read the patch of job fix-1: "},
		"a lost patch": {[]string{"m.yaml"}, nil, func(t *testing.T, dir string, _ *Options) {
			t.Helper()
			os.Remove(filepath.Join(dir, "r/patches/fix-2.patch"))
		}, "read the patch of job fix-2: "},
		"no merged patch":  {[]string{"m.yaml"}, nil, func(_ *testing.T, _ string, o *Options) { o.Merged = true }, "task fix has too few accepted patches (0)"},
		"an old run":       {nil, nil, nil, "earlier releases can't be resumed"},
		"a prompt":         {[]string{"-p", "fix it"}, nil, nil, "the run has no manifest, whose task could use a script; nothing was run"},
		"an existing file": {[]string{"m.yaml"}, nil, func(t *testing.T, dir string, _ *Options) { t.Helper(); write(t, filepath.Join(dir, "fix.py"), "") }, "fix.py exists: remove it, or set --output FILE; nothing was run"},
		"an existing output": {[]string{"m.yaml"}, nil, func(t *testing.T, dir string, o *Options) {
			t.Helper()
			o.Output = filepath.Join(dir, "own.sh")
			write(t, o.Output, "")
		}, "own.sh exists: remove it, or set --output FILE; nothing was run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := saveRun(t, c.args, c.others...)
			var o Options
			if c.change != nil {
				c.change(t, dir, &o)
			}
			_, err := opened(t, dir, o)
			var f fault.Error
			if !errors.As(err, &f) || f.Kind != event.ExitUsage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// The jobs of the task are divided into those that the model gets, and at least three others. The session and the trial are those
// of the run, without what limits it to some jobs.
func TestWhatIsDistilled(t *testing.T) {
	t.Parallel()
	dir := saveRun(t, []string{"m.yaml", "--only", "fix", "--max-failures", "2", "--fail-on", "never", "--record", "x", "--model", "openai/m", "--jobs", "9"}, "other")
	own := filepath.Join(t.TempDir(), "fix-0.patch")
	write(t, own, "changed by a person")
	files := []string{own}
	for i := range 4 {
		files = append(files, filepath.Join(dir, fmt.Sprintf("r/patches/fix-%d.patch", i+1)))
	}
	o := Options{Task: "fix", Parallel: 3, Of: *invocation.New()}
	o.Of.Plan.MaxCost, o.Of.JSON = 2*money.Dollar, true
	for name, c := range map[string]struct {
		patches       []string
		model         string
		first, wanted string // patch of fix-0, and the model
	}{
		"all jobs":       {nil, "", "patch of fix-0", "openai/m"},
		"named patches":  {files, "", "changed by a person", "openai/m"},
		"another model":  {nil, "anthropic/n", "patch of fix-0", "anthropic/n"},
		"four of a file": {files[:4], "", "changed by a person", "openai/m"},
	} {
		o := o
		o.Patches, o.Of.Plan.Model = c.patches, c.model
		d, err := opened(t, dir, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		held, first := 0, ""
		for _, e := range d.examples {
			if e.HeldOut {
				held++
			}
			if e.Job == "fix-0" {
				first = string(e.Patch)
			}
			if e.Base != "base-"+e.Job || !strings.HasPrefix(e.Repo, "shop") {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if n := len(d.examples); held != distill.Least || first != c.first || n != 5 && (n != 4 || len(c.patches) != 4) {
			t.Errorf("%s: %d examples, %d held out, %s", name, n, held, first)
		}
		p := d.options.Plan
		if p.Model != c.wanted || p.Only != nil || p.MaxCost != 2*money.Dollar || p.Parallel != 3 || d.options.Record != "" || !d.options.NoBaseline || d.options.MaxFailures != 0 || d.options.FailOn != "" || !d.options.JSON {
			t.Errorf("%s: %+v", name, d.options)
		}
		if d.file != filepath.Join(dir, "fix") {
			t.Errorf("%s: the script is written to %s", name, d.file)
		}
	}
}

// A script that is given was made from none of the patches: each of them tries it.
func TestAScriptThatIsGiven(t *testing.T) {
	t.Parallel()
	dir := saveRun(t, []string{"m.yaml"})
	file := filepath.Join(dir, "fix.sh")
	write(t, file, "#!/bin/sh\n")
	d, err := opened(t, dir, Options{Script: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.makeScript(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.script.File != "fix.sh" || d.script.Text != "#!/bin/sh\n" || slices.ContainsFunc(d.examples, func(e distill.Example) bool { return !e.HeldOut }) {
		t.Errorf("%+v, %+v", d.script, d.examples)
	}
	if d.result.Run != "r" || d.result.Task != "fix" || d.result.Examples == nil || *d.result.CostUSD != 0 {
		t.Errorf("%+v", d.result)
	}
	d.given.Script = filepath.Join(dir, "nope.sh")
	if err := d.makeScript(t.Context()); err == nil || !strings.Contains(err.Error(), "nope.sh") {
		t.Errorf("%v", err)
	}
}

// The session only reads, in the repository of the first example; the trial only runs the script, on the base of each.
func TestPlansOfTheSessionAndTheTrial(t *testing.T) {
	t.Parallel()
	w, _ := in(t.TempDir())
	d := &distillery{
		world: w, given: Options{Task: "fix"}, script: tasks.NewTaskScript("fix.sh", []byte("true")),
		examples: []distill.Example{{Job: "fix-1", Base: "b1", Patch: []byte("+one")}, {Job: "fix-0", Base: "b0", HeldOut: true}},
	}
	plan := &tasks.Plan{
		Jobs:  []tasks.Job{{ID: "fix-0", Prompt: "Fix it."}, {ID: "fix-1", Prompt: "Fix it.", Verify: []tasks.Verify{{Run: "make test"}}, Attempts: 5, RequireChanges: true}, {ID: "other"}},
		Hooks: []tasks.Hook{{On: tasks.JobStart}, {On: tasks.AfterCommit}}, Tools: []tasks.CustomTool{{Name: "t"}},
	}
	asks, err := d.askFor(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	j := asks.Jobs[0]
	if len(asks.Jobs) != 1 || j.ID != "distill" || j.Repo.Ref != "b1" || j.Attempts != 1 || len(j.Verify) > 0 || j.Schema == nil || len(asks.Tools)+len(asks.Hooks) > 0 || j.Profile.MayChange() {
		t.Errorf("%+v", j)
	}
	for _, text := range []string{"Fix it.", "make test", "+one"} {
		if !strings.Contains(j.Prompt, text) {
			t.Errorf("the prompt lacks %q", text)
		}
	}
	tries, err := d.tryIn(plan)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range tries.Jobs {
		got = append(got, fmt.Sprint(j.ID, " ", j.Repo.Ref, " ", j.Commit.Branch, " ", j.Publish, " ", j.Script.Text, " ", j.Script.Alone, " ", j.Script.MustChange))
	}
	if diff := cmp.Diff([]string{"fix-1 b1 millhand/distill patch true true true", "fix-0 b0 millhand/distill patch true true false"}, got); diff != "" || len(tries.Hooks) != 1 {
		t.Errorf("%d hooks (-want +got)\n%s", len(tries.Hooks), diff)
	}
	gone := &tasks.Plan{Jobs: plan.Jobs[:1]}
	const want = "job fix-1 of the run is not in its manifest any more"
	if _, err := d.askFor(t.Context(), gone); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if _, err := d.tryIn(gone); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// A script that is accepted is written once; one that is given is where it was. Each result is saved and printed.
func TestResults(t *testing.T) {
	t.Parallel()
	trials := []distill.Trial{{Job: "fix-0", Repo: "shop0", Result: distill.Same}, {Job: "fix-1", Repo: "shop1", HeldOut: true, Result: distill.Left, Reason: "exit\ncode 1"}}
	const table = "RESULT  JOB    REPO   PATCH     REASON\nsame    fix-0  shop0  example   -\nleft    fix-1  shop1  held out  exit code 1\n\n"
	for name, c := range map[string]struct {
		given   Options
		about   string
		verdict distill.Verdict
		exists  bool // the file
		want    string
		exit    event.Exit
	}{
		"accepted":       {Options{}, "Replaces a.", distill.Verdict{Accepted: true}, false, table + "script fix.sh: accepted; 2 trials, cost $2.00\nReplaces a.\nwrote DIR/out/fix.sh: read it, commit it next to the manifest, and set script: of task fix\nreports: DIR/d\n", event.ExitOK},
		"not accepted":   {Options{}, "", distill.Verdict{Reason: "it is wrong"}, false, table + "script fix.sh: not accepted: it is wrong; 2 trials, cost $2.00\nreports: DIR/d\n", event.ExitFailed},
		"given":          {Options{Script: "x"}, "", distill.Verdict{Accepted: true}, true, table + "script fix.sh: accepted; 2 trials, cost $2.00\nreports: DIR/d\n", event.ExitOK},
		"written before": {Options{}, "", distill.Verdict{Accepted: true}, true, "", event.ExitUsage},
		"as JSON":        {Options{Of: invocation.Options{JSON: true}}, "", distill.Verdict{Accepted: true}, false, "", event.ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, out := in(dir)
			file := filepath.Join(dir, "out", "fix.sh")
			if c.exists {
				write(t, file, "of a person")
			}
			if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
				t.Fatal(err)
			}
			c.given.Task = "fix"
			d := &distillery{world: w, given: c.given, file: file, reports: filepath.Join(dir, "d"), script: tasks.NewTaskScript("fix.sh", []byte("true\n"))}
			d.result = distillation{Task: "fix", About: c.about, Trials: trials, CostUSD: new(2 * money.Dollar), Verdict: c.verdict}
			err := d.finish()
			var f fault.Error
			if errors.As(err, &f); err == nil && c.exit != event.ExitOK || err != nil && f.Kind != c.exit {
				t.Errorf("%v, want exit code %d", err, c.exit)
			}
			printed := strings.ReplaceAll(out.String(), dir, "DIR")
			if c.given.Of.JSON {
				var r distillation
				if err := json.Unmarshal([]byte(printed), &r); err != nil || r.File != "DIR/out/fix.sh" || r.SHA256 != d.script.SHA256 || r.Script != "distilled.sh" || !r.Accepted {
					t.Errorf("%v: %s", err, printed)
				}
			} else if diff := cmp.Diff(c.want, printed); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			script, err := os.ReadFile(file)
			if wrote := err == nil && string(script) == "true\n"; wrote != (c.verdict.Accepted && !c.exists) {
				t.Errorf("the file has %q, %v", script, err)
			}
			for name, saved := range map[string]bool{"distilled.sh": true, "distill.json": c.exit != event.ExitUsage} {
				if _, err := os.Stat(filepath.Join(dir, "d", name)); (err == nil) != saved {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// Without pull requests no patch is merged, and no forge is asked.
func TestJobsWithoutPullRequestsAreNotMerged(t *testing.T) {
	t.Parallel()
	w, _ := in(t.TempDir())
	if jobs, err := mergedJobs(t.Context(), w, t.TempDir(), []report.Job{{ID: "a"}}); jobs != nil || err != nil {
		t.Errorf("%v, %v", jobs, err)
	}
}
