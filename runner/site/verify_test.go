package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

func TestCommandsOfTheManifestsAuthor(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New([]string{"held-by-millhand-1234"})
	j := s.begin(&tasks.Plan{}, s.job("a"))
	p := s.prepared(j)
	for line, want := range map[string]event.Verify{
		"pwd":                                  {Passed: true, Tail: p.Space.Dir() + "\n"},
		"echo out; echo err >&2; exit 3":       {ExitCode: 3, Tail: "out\nerr\n"},
		"echo held-by-millhand-1234":           {Passed: true, Tail: redact.Mark + "\n"},
		`printf '\377'`:                        {Passed: true, Tail: "\uFFFD"},
		"trap 'exit 0' TERM; sleep 100 & wait": {ExitCode: -1, Tail: "(command timed out after 100ms)", TimeoutMS: 100},
		"kill -9 $$":                           {ExitCode: -1},
		"echo begun; exec sleep 100":           {ExitCode: -1, Tail: "begun\n(command timed out after 100ms)", TimeoutMS: 100},
		"seq 20000":                            {Passed: true, Tail: "20000\n"},
	} {
		limit := time.Minute
		if strings.Contains(line, "sleep") {
			limit = 100 * time.Millisecond
		}
		got, err := p.command(t.Context(), p.Sandboxes.Own, line, limit)
		for strings.HasPrefix(line, "echo begun") && !strings.HasPrefix(got.Tail, "begun") && limit < time.Minute { // a busy machine starts it late
			limit *= 4
			got, err = p.command(t.Context(), p.Sandboxes.Own, line, limit)
			want.Tail, want.TimeoutMS = fmt.Sprintf("begun\n(command timed out after %s)", limit), limit.Milliseconds()
		}
		got.ElapsedMS = 0
		if omitted, tail, ok := strings.Cut(got.Tail, " lines omitted)\n"); ok && strings.HasPrefix(omitted, "... (") && len(got.Tail) <= commands.ExcerptBytes {
			got.Tail = tail[len(tail)-len(want.Tail):]
		}
		if diff := cmp.Diff(want, got.Verify); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", line, err, diff)
		}
	}
	p.Sandboxes.Own.Env = []string{"PATH=/nowhere"}
	if got, err := p.command(t.Context(), p.Sandboxes.Own, "true", time.Minute); err != nil || got.Passed || got.ExitCode != -1 || got.Tail == "" {
		t.Errorf("a command that can't be started: %+v, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	if _, err := p.command(ctx, p.Sandboxes.Own, "true", time.Minute); err == nil {
		t.Error("it runs after a signal")
	}
}

// What verify commands result in is an event of the job's own session, and what they leave is theirs.
func TestVerifyReportsEachCommand(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Verify = verify("echo fine; echo >left", "echo broken; exit 3", strings.Repeat("true;", 200))
	p := s.prepared(s.begin(&tasks.Plan{}, spec))
	ran, end := Verifier{Site: p}.All(t.Context(), 2)
	if end != nil || len(ran) != 3 {
		t.Fatalf("%+v, %+v", ran, end)
	}
	started, ended := s.of(event.CommandStarted), s.of(event.VerifyEnded)
	for i, c := range []event.Verify{
		{Name: "v1", Passed: true, Tail: "fine\n", In: event.InWorkspace, Attempt: 2},
		{Name: "v2", ExitCode: 3, Tail: "broken\n", In: event.InWorkspace, Attempt: 2},
		{Name: "v3", Passed: true, In: event.InWorkspace, Attempt: 2},
	} {
		c.ElapsedMS = ran[i].ElapsedMS
		want(t, c.Name, c, ran[i].Verify)
		want(t, "event of "+c.Name, c, *ended[i].Verify)
		if b := started[i]; b.Command.Kind != event.VerifyCommand || b.Command.Name != c.Name || b.Command.Attempt != 2 || b.Command.In != "" || b.Session != "r1/a" || ended[i].Session != "r1/a" || b.Job != "a" {
			t.Errorf("the start of %s is reported as %+v", c.Name, b)
		}
	}
	if long := started[2].Command.Run; !strings.HasSuffix(long, "…") || len(long) > MaxCommand+len("…") {
		t.Errorf("a command of 1000 bytes is reported as %q", long)
	}
	want(t, "left", []string{"verify: left"}, s.left())
}

// The agent's commands must not prepare a result of verify: each command gets the private files of setup.
func TestVerifyGetsThePrivateFilesOfSetup(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Setup = []string{"echo of setup >$TMPDIR/f"}
	spec.Verify = verify("cat $TMPDIR/f; ls $TMPDIR; echo >$TMPDIR/left", "ls $TMPDIR")
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	if end := ending.First(t.Context(), JobHooks{Site: p}.SetUp, j.AfterSetup); end != nil {
		t.Fatalf("%+v", *end)
	}
	agents := filepath.Join(s.opts.Work, "tmp", "a", "f")
	writeFile(t, agents, "of the agent\n")
	ran, end := Verifier{Site: p}.All(t.Context(), 1)
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	want(t, "first", "of setup\nf\n", ran[0].Tail)
	want(t, "second", "f\n", ran[1].Tail)
	want(t, "for the agent", "of the agent\n", read(t, agents))
}

// The copies of private files cost time and disk: only jobs whose commands use them have some.
func TestPrivateFilesAreCopiedForVerifyInTheWorkspace(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*tasks.Job)
		copied bool
	}{
		"no commands":          {func(*tasks.Job) {}, false},
		"verify":               {func(j *tasks.Job) { j.Verify = verify("true") }, true},
		"verify of a commit":   {func(j *tasks.Job) { j.Verify = inClean(verify("true")) }, false},
		"a script as an agent": {func(j *tasks.Job) { j.Script = &tasks.TaskScript{} }, true},
	} {
		s := setUp(t)
		spec := s.job("a")
		c.change(&spec)
		j := s.begin(&tasks.Plan{}, spec)
		s.prepared(j)
		if end := j.AfterSetup(t.Context()); end != nil {
			t.Errorf("%s: %+v", name, *end)
		}
		if copied := exists(filepath.Join(s.opts.Work, "aside", "a", "setup0")); copied != c.copied {
			t.Errorf("%s: copied %t", name, copied)
		}
	}
	s := setUp(t)
	spec := s.job("a")
	spec.Verify = verify("true")
	j := s.begin(&tasks.Plan{}, spec)
	s.prepared(j)
	writeFile(t, filepath.Join(s.opts.Work, "aside", "a", "setup0", "in the way"), "")
	stopped(t, "a copy that fails", j.AfterSetup(t.Context()), event.CodeInternal, "copy the private directories")
}

// Files that verify could read and that the commit lacks can be why it passes, so that they are reported: those that
// changed since setup.
func TestUntrackedInputsOfVerify(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{".gitignore": "*.log\n"})
	spec := s.job("a")
	spec.Setup, spec.Verify = []string{"echo >setup.log"}, verify("test -e agent.log")
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	if end := ending.First(t.Context(), JobHooks{Site: p}.SetUp, p.BeforeAgent); end != nil {
		t.Fatalf("%+v", *end)
	}
	writeFile(t, filepath.Join(p.Space.Dir(), "agent.log"), "x\n")
	if ran, end := (Verifier{Site: p}).All(t.Context(), 1); end != nil || !ran[0].Passed {
		t.Fatalf("%+v, %+v", ran, end)
	}
	if got := p.UntrackedInputs(); len(got) != 1 || got[0].Path != "agent.log" {
		t.Errorf("untracked inputs %+v", got)
	}
}

// Verify commands that could not run do not judge the change.
func TestVerifyCommandsThatCouldNotRun(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Verify = verify("true")
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	ran, end := Verifier{Site: p}.All(interrupted, 1)
	if stopped(t, "after a signal", end, event.CodeInterrupted, "SIGINT"); end == nil || ran != nil {
		t.Errorf("%+v, %+v", ran, end)
	}
	if err := os.RemoveAll(filepath.Join(s.opts.Work, "tmp", "a")); err != nil {
		t.Fatal(err)
	}
	_, end = Verifier{Site: p}.All(t.Context(), 1)
	stopped(t, "without private directories", end, event.CodeInternal, "replace the private directories")
	stopped(t, "with a full disk", j.NotVerified(t.Context(), syscall.ENOSPC), event.CodeMachine, "the disk of TMPDIR is full")
	stopped(t, "a fault", j.NotVerified(t.Context(), errors.New("odd")), event.CodeInternal, "odd")
}

// Setup has variables that no other command has, and its events have each command's result.
func TestSetupCommandsAreReported(t *testing.T) {
	s := setUp(t)
	s.opts.Getenv = func(name string) string {
		if name == "SITE_TOKEN" {
			return "value"
		}
		return os.Getenv(name)
	}
	spec := s.job("a")
	spec.SetupEnv = []string{"SITE_TOKEN"}
	spec.Setup = []string{"echo ${SITE_TOKEN-none} >got", "echo ${SITE_TOKEN-none} >>got"}
	spec.Verify = verify("echo ${SITE_TOKEN-none}")
	p := s.prepared(s.begin(&tasks.Plan{}, spec))
	if end := (JobHooks{Site: p}).SetUp(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	want(t, "setup got", "value\nvalue\n", read(t, filepath.Join(p.Space.Dir(), "got")))
	want(t, "left", []string{"setup: got"}, s.left())
	started, ended := s.of(event.CommandStarted), s.of(event.CommandEnded)
	if len(started) != 2 || len(ended) != 2 {
		t.Fatalf("events %+v, %+v", started, ended)
	}
	want(t, "start", event.Command{Kind: event.SetupCommand, Run: spec.Setup[1]}, *started[1].Command)
	if c := ended[1].Command; c.Run != spec.Setup[1] || c.ExitCode == nil || *c.ExitCode != 0 {
		t.Errorf("the end is %+v", c)
	}
	if ran, end := (Verifier{Site: p}).All(t.Context(), 1); end != nil || ran[0].Tail != "none\n" {
		t.Errorf("verify got %+v, %+v", ran, end)
	}
}

// A file of the own tree that a model may have changed must not read the variables of setup.
func TestSetupVariablesAreWithheldFromOutputOfModels(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Commit, spec.SetupEnv, spec.Setup = nil, []string{"PATH", "SITE_TOKEN"}, []string{"true"}
	plan := &tasks.Plan{AllowDirty: true}
	writeFile(t, filepath.Join(s.repo, "dirty"), "x\n")
	p := s.prepared(s.begin(plan, spec))
	if end := (Setup{Workdir: &p.Workdir, Within: p.Sandboxes.Own}).Run(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	want(t, "warnings", "setup commands don't get setup_env (PATH, SITE_TOKEN): there are uncommitted changes (dirty)", s.warnings())
}

// A failed setup command names what the environment lacks.
func TestSetupNamesWhatIsMissing(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Setup = []string{"no-such-program-4711"}
	p := s.prepared(s.begin(&tasks.Plan{}, spec))
	stopped(t, "setup", Setup{Workdir: &p.Workdir, Within: p.Sandboxes.Own}.Run(t.Context()), event.CodeFailed, "(program missing)")
	if err := os.RemoveAll(p.Tree.Root()); err != nil {
		t.Fatal(err)
	}
	writeFile(t, p.Tree.Root(), "in the way")
	stopped(t, "without a workspace", Setup{Workdir: &p.Workdir, Within: p.Sandboxes.Own}.Run(t.Context()), event.CodeInternal, "confine the setup commands")
}

// A signal before a setup command starts is why the job ends, not what could not be opened after it.
func TestASignalBeforeSetup(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Setup = []string{"echo >ran"}
	p := s.prepared(s.begin(&tasks.Plan{}, spec))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	if stopped(t, "setup", Setup{Workdir: &p.Workdir, Within: p.Sandboxes.Own}.Run(ctx), event.CodeInterrupted, "interrupted by SIGINT"); exists(filepath.Join(p.Space.Dir(), "ran")) || len(s.of(event.CommandStarted)) > 0 {
		t.Error("a command has started")
	}
}

// A job without setup commands gets no sandbox for them.
func TestWithoutSetupCommandsNothingIsOpened(t *testing.T) {
	s := setUp(t)
	p, end := s.begin(&tasks.Plan{}, s.job("a")).OpenSite(t.Context())
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	t.Cleanup(func() { s.release(p) })
	if end := (Setup{Workdir: &p.Workdir, Within: p.Sandboxes.Own}).Run(t.Context()); end != nil || exists(filepath.Join(s.opts.Work, "home", "a")) {
		t.Errorf("%+v", end)
	}
}

func TestSetupStopsAtFirstFailure(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	if end := (Setup{Workdir: &p.Workdir, Within: p.Sandboxes.Own}).Run(t.Context()); end != nil {
		t.Errorf("none at all: %+v", end)
	}
	j.Spec.Setup = []string{"echo 1 >> ran", "echo broken; exit 2", "echo 3 >> ran"}
	end := Setup{Workdir: &p.Workdir, Within: p.Sandboxes.Own}.Run(t.Context())
	if end == nil || *end != (ending.Stop{Code: event.CodeFailed, Detail: "setup command \"echo broken; exit 2\" failed (exit code 2):\nbroken\n"}) {
		t.Errorf("%+v", end)
	}
	j.Spec.Setup = []string{"grep -q 3 ran"}
	if end := (Setup{Workdir: &p.Workdir, Within: p.Sandboxes.Own}).Run(t.Context()); end == nil || end.Detail != "setup command \"grep -q 3 ran\" failed (exit code 1)" {
		t.Errorf("one after it ran: %+v", end)
	}
	j.Spec.Setup, j.TimeLimit.limit = []string{"sleep 100"}, time.Minute
	j.TimeLimit.started = j.opts.Now().Add(-time.Minute)
	if end := (Setup{Workdir: &p.Workdir, Within: p.Sandboxes.Own}).Run(t.Context()); end == nil || end.Code != event.CodeLimit {
		t.Errorf("without time: %+v", end)
	}
	for left := 100 * time.Millisecond; left < time.Minute; left *= 4 { // a busy machine starts it late
		j.TimeLimit.started = j.opts.Now().Add(left - time.Minute)
		if end = (Setup{Workdir: &p.Workdir, Within: p.Sandboxes.Own}).Run(t.Context()); end != nil && strings.HasPrefix(end.Detail, "setup command") {
			break
		}
	}
	if end == nil || *end != (ending.Stop{Code: event.CodeLimit, Detail: `setup command "sleep 100": job timed out after 1m0s`}) {
		t.Errorf("with too little time: %+v", end)
	}
}
