package runner

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/access"
)

func TestCommandsOfTheManifestsAuthor(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New([]string{"held-by-millhand-1234"})
	j := s.begin(&tasks.Plan{}, s.job("a"))
	p := s.prepared(j)
	for line, want := range map[string]event.Verify{
		"pwd":                                  {Passed: true, Tail: p.space.Dir() + "\n"},
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
		got, err := p.command(t.Context(), p.sandboxes.own, line, limit)
		got.ElapsedMS = 0
		if omitted, tail, ok := strings.Cut(got.Tail, " lines omitted)\n"); ok && strings.HasPrefix(omitted, "... (") && len(got.Tail) <= commands.ExcerptBytes {
			got.Tail = tail[len(tail)-len(want.Tail):]
		}
		if diff := cmp.Diff(want, got.Verify); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", line, err, diff)
		}
	}
	p.sandboxes.own.Env = []string{"PATH=/nowhere"}
	if got, err := p.command(t.Context(), p.sandboxes.own, "true", time.Minute); err != nil || got.Passed || got.ExitCode != -1 || got.Tail == "" {
		t.Errorf("a command that can't be started: %+v, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ending.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	if _, err := p.command(ctx, p.sandboxes.own, "true", time.Minute); err == nil {
		t.Error("it runs after a signal")
	}
}

func TestSetupStopsAtFirstFailure(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	if end := (setup{p}).run(t.Context()); end != nil {
		t.Errorf("none at all: %+v", end)
	}
	j.spec.Setup = []string{"echo 1 >> ran", "echo broken; exit 2", "echo 3 >> ran"}
	end := setup{p}.run(t.Context())
	if end == nil || *end != (ending.Stop{Code: event.CodeFailed, Detail: "setup command \"echo broken; exit 2\" failed (exit code 2):\nbroken\n"}) {
		t.Errorf("%+v", end)
	}
	j.spec.Setup = []string{"grep -q 3 ran"}
	if end := (setup{p}).run(t.Context()); end == nil || end.Detail != "setup command \"grep -q 3 ran\" failed (exit code 1)" {
		t.Errorf("one after it ran: %+v", end)
	}
	j.spec.Setup, j.spec.Limits.Time = []string{"sleep 100"}, time.Minute
	p.prepared = j.opts.Now().Add(-time.Minute)
	if end := (setup{p}).run(t.Context()); end == nil || end.Code != event.CodeLimit {
		t.Errorf("without time: %+v", end)
	}
	p.prepared = j.opts.Now().Add(100*time.Millisecond - time.Minute)
	if end := (setup{p}).run(t.Context()); end == nil || *end != (ending.Stop{Code: event.CodeLimit, Detail: `setup command "sleep 100": job timed out after 1m0s`}) {
		t.Errorf("with too little time: %+v", end)
	}
}

func TestJobTimeoutStartsAtPrepare(t *testing.T) {
	began := time.Now()
	j := &siteJob{spec: tasks.Job{Limits: tasks.Limits{Time: time.Hour}}, opts: &SiteOptions{Now: time.Now}}
	for _, ago := range []time.Duration{59 * time.Minute, 61 * time.Minute} {
		ctx, cancel := (&site{job: j, prepared: began.Add(-ago)}).inTime(t.Context())
		defer cancel()
		if ended := ctx.Err() != nil; ended != (ago > time.Hour) {
			t.Errorf("prepared %v ago, the job has ended: %t", ago, ended)
		}
	}
	if left, again := j.timeLimit.left(began.Add(59*time.Minute), began, time.Hour); left != time.Minute || again != left {
		t.Errorf("%v left, to be examined after %v", left, again)
	}
	j.spec.Limits.Time = 0
	ctx, cancel := (&site{job: j, prepared: began.Add(-time.Hour)}).inTime(t.Context())
	defer cancel()
	if ctx.Err() != nil {
		t.Error("the job ended without a limit")
	}
}

func TestTheFeedbackOfAFailedVerify(t *testing.T) {
	reports, err := files.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer reports.Close()
	got := faults{failed: []commands.Ran{
		{Verify: event.Verify{Name: "test", ExitCode: 1, Tail: "FAIL\n"}},
		{Verify: event.Verify{Name: "lint", ExitCode: -1}},
		{Verify: event.Verify{Name: "slow", ExitCode: -1, TimeoutMS: 1500, Tail: "begun\n", OutputPath: "outputs/a/command-1.txt"}},
	}}.feedback(reports)
	for _, want := range []string{"<check name=\"test\" result=\"exit code 1\">\nFAIL\n</check>\n", "<check name=\"lint\" result=\"killed\">\n\n</check>\n", "<check name=\"slow\" result=\"timed out after 1.5s\">\nbegun\n(excerpt; the complete output is in " + reports.Path() + "/outputs/a/command-1.txt)\n</check>\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
}

func TestTamperingTakesPrecedence(t *testing.T) {
	j := &siteJob{}
	ended := 0
	j.end = func(error) { ended++ }
	other := &ending.Stop{Code: event.CodeFailed, Detail: "other"}
	if got := j.checkGuard(other); got != other || j.checkGuard(nil) != nil {
		t.Errorf("%+v without tampering", got)
	}
	first := &permission.Error{Decision: permission.Decision{Request: permission.Need(permission.Git, ".git/config"), Why: "a command changed it"}}
	j.fail(first)
	j.fail(&permission.Error{Decision: permission.Decision{Why: "later"}})
	if got := j.checkGuard(other); got.Code != event.CodeDenied || ended != 2 || got.Detail != first.Decision.By() {
		t.Errorf("%+v; ended %d times", got, ended)
	}
}

func TestTheRepositorysNotes(t *testing.T) {
	s := setUp(t)
	for name, text := range map[string]string{"AGENTS.md": "root\n", "web/app/AGENTS.md": "app \xff\n", "web/CLAUDE.md": "not read\n", "web/app/x": "x\n"} {
		mkdirFor(t, filepath.Join(s.repo, name))
		writeFile(t, filepath.Join(s.repo, name), text)
	}
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "more")
	spec := s.job("a")
	spec.Repo.Dir = filepath.Join(s.repo, "web", "app")
	j := s.begin(&tasks.Plan{}, spec)
	w := newWork(j, s.prepared(j))
	notes := func(profile permission.Profile) string {
		var all []string
		for _, n := range w.repositoryNotes(sessionSpec{task: tasks.Job{Profile: profile}}) {
			all = append(all, n.Name+": "+n.Text)
		}
		return strings.Join(all, "")
	}
	if got := notes(spec.Profile); got != "../../AGENTS.md: root\nAGENTS.md: app \uFFFD\n" {
		t.Errorf("%q", got)
	}
	denied := spec.Profile.Clone()
	denied.Rules = append(denied.Rules, permission.Rule{Permission: "read", Pattern: "*AGENTS.md"})
	if got := notes(denied); got != "../CLAUDE.md: not read\n" {
		t.Errorf("without AGENTS.md: %q", got)
	}
	prompt := w.system(sessionSpec{task: spec, speaks: "script:x"}, access.Scratch{})
	for _, want := range []string{w.site.space.Dir(), "root\n", "a separate worktree, created from HEAD; the runner commits to branch millhand/a; the workspace is its directory web/app"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the system prompt lacks %q", want)
		}
	}
}

func TestWorkspaceGitState(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Commit = nil
	writeFile(t, filepath.Join(s.repo, "mine"), "x\n")
	j := s.begin(&tasks.Plan{AllowDirty: true}, spec)
	w := newWork(j, s.prepared(j))
	if got := w.gitState(); got != "branch main; 1 path had uncommitted changes before you started" {
		t.Errorf("%q", got)
	}
	git(t, s.repo, "checkout", "-q", "--detach")
	if got := w.gitState(); got != "no branch is checked out; 1 path had uncommitted changes before you started" {
		t.Errorf("%q", got)
	}
	git(t, s.repo, "checkout", "-q", "--orphan", "new")
	if got := w.gitState(); got != "branch new, no commits yet" {
		t.Errorf("%q", got)
	}
}

func TestTotalsAddUpOverSessions(t *testing.T) {
	if got := (&sessions{}).totals(); got.Cost.USD() == nil || got.Cost.Least() != 0 || got.Turns != 0 {
		t.Errorf("no sessions: %+v", got)
	}
	if since(nil, new(money.USD(1))) != nil || since(new(money.USD(1)), nil) != nil || *since(new(money.USD(1)), new(money.USD(3))) != 2 {
		t.Error("what was spent between two sums")
	}
}
