package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/runner/agent"
	"github.com/millhand/millhand/runner/delivery"
	"github.com/millhand/millhand/runner/site"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/tasks"
)

// phasesOf lists the phases of a job that ended, with a ! for failed ones.
func (s *stage) phasesOf(job string) string {
	var names []string
	for _, e := range s.of(event.PhaseEnded) {
		if e.Job == job {
			name := e.Phase.Name
			if e.Phase.Error != "" {
				name += "!"
			}
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func TestThePhasesOfAJob(t *testing.T) {
	fails := []tasks.Verify{{Name: "no", Run: "false", Time: time.Minute}}
	for name, c := range map[string]struct {
		change  func(*tasks.Job)
		phases  string
		outcome event.Outcome
		patch   bool
		branch  string // the subject of its last commit
	}{
		"passed":              {func(*tasks.Job) {}, "prepare setup baseline session disk changes commit publish", event.Passed, true, "a: Go"},
		"setup failed":        {func(j *tasks.Job) { j.Setup = []string{"echo x > by-setup; false"} }, "prepare setup!", event.Failed, false, ""},
		"verify failed":       {func(j *tasks.Job) { j.Verify = fails }, "prepare setup baseline session!", event.Failed, true, ""},
		"verify failed, wip":  {func(j *tasks.Job) { j.Verify, j.Commit.WIP = fails, true }, "prepare setup baseline session!", event.Failed, true, ""},
		"at a limit":          {func(j *tasks.Job) { j.Limits.Turns = 1 }, "prepare setup baseline session!", event.Limit, true, ""},
		"at a limit, wip":     {func(j *tasks.Job) { j.Limits.Turns, j.Commit.WIP = 1, true }, "prepare setup baseline session!", event.Limit, true, "wip: a: Go"},
		"a change is missing": {func(j *tasks.Job) { *j = protecting(*j, "a"); j.RequireChanges = true }, "prepare setup baseline session disk changes!", event.Failed, false, ""},
		"a change is denied": {func(j *tasks.Job) {
			*j = protecting(*j, "by-*")
			j.Commit.Include = []string{"setup"}
			j.Setup = []string{"echo x > by-setup"}
		}, "prepare setup baseline session!", event.Policy, true, ""},
		"a program is missing": {func(j *tasks.Job) {
			j.Verify = []tasks.Verify{{Name: "v", Run: "no-such-program-4711", Time: time.Minute}}
		}, "prepare setup baseline!", event.Error, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.opts.Equipment.OpenModel = plays(t, writes)
			spec := s.job("a")
			spec.Limits.Turns = 9
			c.change(&spec)
			end := s.begin(&tasks.Plan{}, spec).execute(t.Context())
			if got := s.phasesOf("a"); got != c.phases || end.Outcome != c.outcome {
				t.Errorf("%s after %s: %s", end.Outcome, got, end.Reason)
			}
			if (end.Patch == "patches/a.patch") != c.patch {
				t.Errorf("the patch is %q", end.Patch)
			}
			subject := ""
			if git(t, s.repo, "branch", "--list", "millhand/a") != "" {
				subject = git(t, s.repo, "log", "-1", "--format=%s", "millhand/a")
			}
			if subject != c.branch {
				t.Errorf("the branch has %q", subject)
			}
			if _, err := os.Stat(filepath.Join(s.opts.Work, "trees", "a")); !os.IsNotExist(err) {
				t.Errorf("the worktree is left: %v", err)
			}
		})
	}
}

// What setup changes of tracked files is not the job's, which is a warning, as is what verify could read.
func TestFilesThatSetupChangesAreNamed(t *testing.T) {
	s := setUp(t)
	writeFile(t, filepath.Join(s.repo, "b"), "one\n")
	writeFile(t, filepath.Join(s.repo, ".gitignore"), "*.log\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "file")
	s.opts.Equipment.OpenModel = plays(t, "  - {calls: [{tool: write, args: {filePath: a.log, content: x}}]}\n"+writes)
	spec := s.job("a")
	spec.Setup = []string{"echo two >b"}
	spec.Verify = []tasks.Verify{{Name: "v", Run: "true", Time: time.Minute}}
	end := s.begin(&tasks.Plan{}, spec).execute(t.Context())
	if end.Outcome != event.Passed || git(t, s.repo, "show", "--format=", "--name-only", "millhand/a") != "a" {
		t.Errorf("%+v", end)
	}
	for _, want := range []string{"tracked files that setup changed are not among the job's changes: b;", "verify could read new or changed files that are not in the job's changes: a.log"} {
		if !strings.Contains(s.warnings(), want) {
			t.Errorf("warnings %s, want %q", s.warnings(), want)
		}
	}
}

// The final message that can't be written fails a passed job, and is a warning of one that has failed: its own reason counts.
func TestAFinalMessageThatCantBeWritten(t *testing.T) {
	for verify, reason := range map[string]string{"true": "write the final message to d/out.txt: ", "echo no; false": "verify v failed after 1 attempt: no"} {
		s := setUp(t)
		s.opts.Redact = redact.New(nil)
		s.opts.Equipment.OpenModel = plays(t, strings.Replace(writes, "content: x", "content: "+token, 1))
		spec, dir := s.job("a"), t.TempDir()
		writeFile(t, filepath.Join(dir, "d"), "in the way")
		spec.Output = tasks.OutputFile{Dir: dir, Path: "d/out.txt"}
		spec.Verify = []tasks.Verify{{Name: "v", Run: verify, Time: time.Minute}}
		if verify == "true" {
			s.opts.Equipment.OpenModel = plays(t, writes)
		}
		end := s.begin(&tasks.Plan{}, spec).execute(t.Context())
		if end.Outcome != event.Failed || !strings.HasPrefix(end.Reason, reason) || end.FinalMessage != "ok" || end.OutputFile != "" {
			t.Errorf("%+v", end)
		}
		if failed := verify != "true"; strings.Contains(s.warnings(), "write the final message to d/out.txt: ") != failed || strings.Contains(s.warnings(), "the changes contain secrets") != failed {
			t.Errorf("%s: warnings %s", verify, s.warnings())
		}
	}
}

func TestTheDocumentsListThePhases(t *testing.T) {
	var names []string
	for _, p := range (&job{Job: &agent.Job{Job: &site.Job{}}}).phases(&progress{}) {
		names = append(names, p.name)
	}
	for file, before := range map[string]string{"../ARCHITECTURE.md": "lists: ", "doc.go": "phases ("} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "//", "")), " ")
		if list := before + strings.Join(names, ", "); !strings.Contains(words, list) {
			t.Errorf("%s lacks %q", file, list)
		}
	}
}

func TestTheEndOfAJobSumsUp(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	end := s.begin(&tasks.Plan{}, s.job("a")).execute(t.Context())
	if len(end.PatchSHA256) != 64 {
		t.Errorf("the checksum of the patch is %q", end.PatchSHA256)
	}
	end.CostUSD, end.PatchSHA256 = nil, ""
	want := event.JobEnd{Outcome: event.Passed, Attempts: 1, Turns: 2, FinalMessage: "ok", Patch: "patches/a.patch"}
	want.Usage.Input, want.Usage.Output = 20, 2
	if diff := cmp.Diff(want, end); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var started []event.Type
	for _, e := range s.events {
		if e.Job != "a" {
			t.Errorf("an event of no job: %+v", e)
		}
		started = append(started, e.Type)
	}
	if slices.Index(started, event.JobStarted) > slices.Index(started, event.AttemptStarted) {
		t.Errorf("the order is %v", started)
	}
}

func TestUnsavedWorktreeIsKept(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	writeFile(t, filepath.Join(s.opts.Dir.Path(), "patches"), "in the way")
	var left []string
	s.opts.Trees.Left = func(tree string) { left = append(left, tree) }
	spec := s.job("a")
	spec.Verify = []tasks.Verify{{Name: "no", Run: "false", Time: time.Minute}}
	end := s.begin(&tasks.Plan{}, spec).execute(t.Context())
	tree := filepath.Join(s.opts.Work, "trees", "a")
	if text, err := os.ReadFile(filepath.Join(tree, "a")); string(text) != "x" || end.Outcome != event.Failed || end.Patch != "" {
		t.Errorf("%+v; the file is %q, %v", end, text, err)
	}
	if diff := cmp.Diff([]string{tree}, left); diff != "" || !strings.Contains(s.warnings(), "they are in "+tree) {
		t.Errorf("warnings: %s (-want +got):\n%s", s.warnings(), diff)
	}
}

func TestUnsavedWork(t *testing.T) {
	for name, c := range map[string]struct {
		p    progress
		want bool
	}{
		"no attempt":   {progress{site: &site.Site{}}, false},
		"not measured": {progress{site: &site.Site{Touched: true}}, true},
		"a patch":      {progress{site: &site.Site{Touched: true}, delivery: &delivery.Delivery{Patch: "x"}}, false},
		"nothing":      {progress{site: &site.Site{Touched: true}, delivery: &delivery.Delivery{}}, true},
	} {
		if got := c.p.unsaved(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A job that has read untrusted content commits nothing where only a patch is allowed, and its end gives the reason.
func TestAMarkLimitsWhatLands(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	spec := s.job("a")
	spec.Publish, spec.FromEvent = tasks.PublishBranch, "event.title"
	spec.AfterUntrusted = &tasks.AfterUntrusted{Publish: tasks.PublishPatch, Source: "m.yaml:3"}
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}})
	if end := s.of(event.JobEnded)[0].JobEnd; exit != event.ExitOK || !strings.Contains(end.Reason, "publish.mode branch is limited to patch") || end.Patch == "" || len(s.of(event.Committed)) > 0 {
		t.Errorf("exit %d, %+v", exit, end)
	}
}
