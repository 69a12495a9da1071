package inspection

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/testing/sitetest"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/trials"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/change"
)

// inspected opens the site of a job, runs a command in it as if a session had, and returns what is inspected.
func inspected(t *testing.T, s *sitetest.Stage, spec tasks.Job, does string) Of {
	t.Helper()
	j, at := s.Open(spec)
	at.Diff.Tree = &change.Tracker{}
	o := Of{Job: j, Site: at, Trials: trials.Results{}}
	run := exec.Command("sh", "-c", does)
	run.Dir = at.Space.Dir()
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return o
}

// Each fault is found, is in the prompt of the next attempt, and is the stop of a job without one; only what git would not
// commit is left to the commit.
func TestEachFaultIsFound(t *testing.T) {
	t.Parallel()
	none := ending.Stop{}
	for name, c := range map[string]struct {
		does     string
		change   func(*tasks.Job)
		feedback string
		stop     ending.Stop
	}{
		"none":          {"echo 1 > one", func(*tasks.Job) {}, "", none},
		"no change":     {"true", func(j *tasks.Job) { j.Change.Paths = []string{"base"} }, "", none},
		"a verify":      {"rm base", func(*tasks.Job) {}, `<check name="v1" result="exit code 1">`, ending.Stop{Code: event.CodeFailed, Detail: "verify v1 failed after 3 attempts"}},
		"beyond scope":  {"echo 1 > one", func(j *tasks.Job) { j.Change.Paths = []string{"base"} }, "Your changes exceed", ending.Stop{Code: event.CodeScope, Detail: "the changes exceed the task's change limits: one: may not be changed (paths: base)"}},
		"a denied path": {"echo 1 > one", denying("one"), `<denied path="one"`, ending.Stop{Code: event.CodeProtected, Detail: `the job changed paths that its profile may not edit: one, by rule edit: {"one": deny} (m.yaml)`}},
		"a nested repository": {
			"git init -q sub && echo 1 > sub/one", func(*tasks.Job) {}, `<refused path="sub"`, none,
		},
		"a nested repository without a commit": {"git init -q sub && echo 1 > sub/one", func(j *tasks.Job) { j.Commit = nil }, "", none},
		"unneeded":                             {"echo 1 > one", accounting(tasks.UnneededFail), `<unneeded at="one [(]added`, ending.Stop{Code: event.CodeUnneeded, Detail: "no verify command needs 1 hunk of the changes: one (added)"}},
		"unneeded, with a warning":             {"echo 1 > one", accounting(tasks.UnneededWarn), "", none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sitetest.New(t, map[string]string{"base": "0\n"})
			spec := s.Job("test -e base")
			c.change(&spec)
			o := inspected(t, s, spec, c.does)
			f, end := o.Faults(t.Context(), spec.Profile, 3)
			if end != nil {
				t.Fatalf("%+v", end)
			}
			text := f.Feedback(s.Options.Dir)
			if f.None() != (c.feedback == "") || !strings.Contains(text, strings.ReplaceAll(c.feedback, "[(]", "(")) || (text == "") != f.None() || len(f.Ran) != 1 {
				t.Errorf("none %t, %d ran: %s", f.None(), len(f.Ran), text)
			}
			stop := o.Stop(f, 3)
			if stop == nil {
				stop = &none
			}
			if *stop != c.stop {
				t.Errorf("%+v", stop)
			}
			if ablates := spec.Ablate.Time > 0; (f.Hunks != nil) != ablates || (len(s.Warnings()) > 0) != (spec.Ablate.Unneeded == tasks.UnneededWarn) {
				t.Errorf("%+v, warnings: %s", f.Hunks, s.Warnings())
			}
		})
	}
}

func denying(path string) func(*tasks.Job) {
	return func(j *tasks.Job) {
		j.Profile.Rules = append(j.Profile.Clone().Rules, permission.Rule{Permission: "edit", Pattern: path, Source: "m.yaml"})
	}
}

func accounting(u tasks.Unneeded) func(*tasks.Job) {
	return func(j *tasks.Job) { j.Ablate = tasks.Ablate{Time: time.Minute, Jobs: 1, Unneeded: u} }
}

// Conflict markers count only for a job that is rebased, and only where a text is read: not in links, pipes and large files.
func TestConflictMarkersAreFoundInFiles(t *testing.T) {
	const markers = "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"
	s := sitetest.New(t, map[string]string{"base": "0\n"})
	o := inspected(t, s, s.Job(), "true")
	dir := o.Site.Space.Dir()
	for name, text := range map[string]string{
		"first": markers, "later": "x\n" + markers, "half": "<<<<<<< a\n", "quoted": "> <<<<<<< a\n> >>>>>>> b\n", "large": markers + strings.Repeat("x", maxMarked), "elsewhere": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("first", filepath.Join(dir, "symlink")), os.Remove(filepath.Join(dir, "base")), syscall.Mkfifo(filepath.Join(dir, "base"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if f, end := o.Faults(t.Context(), o.Job.Spec.Profile, 1); end != nil || len(f.marked) > 0 {
		t.Errorf("without a rebase: %v, %+v", f.marked, end)
	}
	o.Job.Start.Onto.Commit = o.Site.Base
	f, end := o.Faults(t.Context(), o.Job.Spec.Profile, 1)
	if end != nil || strings.Join(f.marked, " ") != "first later" {
		t.Errorf("%v, %+v", f.marked, end)
	}
	if stop := o.Stop(f, 1); stop == nil || stop.Detail != "conflict markers are left in first, later" || !strings.Contains(f.Feedback(s.Options.Dir), stop.Detail[1:]) {
		t.Errorf("%+v; %s", stop, f.Feedback(s.Options.Dir))
	}
}

// What is wrong already is reported without trials, which would show nothing else.
func TestFaultsPrecedeTrials(t *testing.T) {
	s := sitetest.New(t, map[string]string{"base": "0\n"})
	spec := s.Job("false")
	accounting(tasks.UnneededFail)(&spec)
	f, end := inspected(t, s, spec, "echo 1 > one").Faults(t.Context(), spec.Profile, 1)
	if end != nil || f.None() || f.Hunks != nil || len(s.Of(event.AblationStarted)) > 0 {
		t.Errorf("%+v, %+v", f, end)
	}
}

// What the job changed is searched for once only if nothing else can change files meanwhile.
func TestChangesAreSearchedForOnceOfAJobAlone(t *testing.T) {
	for _, alone := range []bool{false, true} {
		s := sitetest.New(t, map[string]string{"base": "0\n"})
		o := inspected(t, s, s.Job(), "echo 1 > one")
		o.Alone = alone
		first, err := o.Changes(t.Context())
		if err != nil || len(first.Changes.Changes) != 1 {
			t.Fatalf("%+v, %v", first, err)
		}
		if again, err := o.Changes(t.Context()); err != nil || (again == first) != alone {
			t.Errorf("alone %t: the same %t, %v", alone, again == first, err)
		}
	}
}

// Each step of an inspection that can't be done is the end of the job: nothing is taken for right that was not examined.
func TestAnInspectionThatCanNotBeDone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*tasks.Job){
		"verify":        func(j *tasks.Job) { j.Verify = []tasks.Verify{{Name: "v", Run: "true", Time: time.Minute}} },
		"denied paths":  denying("one"),
		"the scope":     func(j *tasks.Job) { j.Commit, j.Change.Paths = nil, []string{"base"} },
		"hunks":         func(j *tasks.Job) { accounting(tasks.UnneededFail)(j); j.Commit = nil },
		"refused paths": func(*tasks.Job) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sitetest.New(t, map[string]string{"base": "0\n"})
			spec := s.Job()
			change(&spec)
			o := inspected(t, s, spec, "echo 1 > one")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(late)
			if f, end := o.Faults(ctx, spec.Profile, 1); end == nil || end.Code != event.CodeDeadline || !f.None() {
				t.Errorf("%+v", end)
			}
		})
	}
	s := sitetest.New(t, map[string]string{"base": "0\n"})
	spec := s.Job("test -e base")
	accounting(tasks.UnneededWarn)(&spec)
	ctx, cancel := context.WithCancelCause(t.Context())
	emit := s.Options.Emit
	s.Options.Emit = func(e event.Event) {
		if emit(e); e.Type == event.AblationStarted {
			cancel(late)
		}
	}
	if f, end := inspected(t, s, spec, "echo 1 > one").Faults(ctx, spec.Profile, 1); end == nil || end.Code != event.CodeDeadline || f.Hunks != nil || len(s.Warnings()) > 0 {
		t.Errorf("an account that was not completed: %+v, %s", end, s.Warnings())
	}
}

// late is the cause of the end of a job in time.
var late = event.EndCause{Code: event.CodeDeadline, Reason: "late"}

// Changes are searched for only if a rule, a limit, a commit or a rebase needs them, and each of these, like verify, needs its context.
func TestNothingIsSearchedForWithoutNeed(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	for name, c := range map[string]struct {
		lines  []string
		change func(*Of)
		ends   bool
	}{
		"no need":  {nil, func(*Of) {}, false},
		"verify":   {[]string{"true"}, func(*Of) {}, true},
		"a rebase": {nil, func(o *Of) { o.Job.Start.Onto.Commit = o.Site.Base }, true},
	} {
		s := sitetest.New(t, nil)
		spec := s.Job(c.lines...)
		spec.Commit = nil
		o := inspected(t, s, spec, "true")
		c.change(&o)
		if f, end := o.Faults(ctx, permission.Profile{}, 1); !f.None() || (end != nil) != c.ends || end != nil && end.Code != event.CodeDeadline {
			t.Errorf("%s: %+v", name, end)
		}
	}
}

// A program that can't be started is no fault of the changes.
func TestAVerifyCommandThatCanNotRun(t *testing.T) {
	s := sitetest.New(t, map[string]string{"base": "0\n"})
	spec := s.Job("true")
	o := inspected(t, s, spec, "true")
	if err := os.Rename(o.Site.Space.Dir(), o.Site.Space.Dir()+".gone"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Rename(o.Site.Space.Dir()+".gone", o.Site.Space.Dir()) })
	if f, end := o.Faults(t.Context(), spec.Profile, 1); end == nil || !f.None() {
		t.Errorf("%+v, %+v", f, end)
	}
}

// Verify commands can change files: what was known of the workspace is searched for again.
func TestVerifyCommandsCountAsChanges(t *testing.T) {
	s := sitetest.New(t, map[string]string{"base": "0\n"})
	spec := s.Job("true")
	o := inspected(t, s, spec, "true")
	o.Site.Diff.Tree.Written()
	if _, end := o.Faults(t.Context(), spec.Profile, 1); end != nil || o.Site.Diff.Tree.Unchanged() {
		t.Errorf("they changed nothing, %+v", end)
	}
}
