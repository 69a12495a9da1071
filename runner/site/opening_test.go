package site

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// opened prepares a job as a run does, possibly beside its first request.
func (s *stage) opened(ctx context.Context, j *Job) (*Site, *ending.Stop) {
	s.t.Helper()
	p, end := j.Prepare(ctx)
	if p != nil {
		s.t.Cleanup(func() { s.release(p) })
	}
	return p, end
}

// Only a job whose first request needs none of its files gets them beside it.
func TestWhichSitesAreOpenedBesideTheFirstRequest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage, *tasks.Plan, *tasks.Job)
		beside bool
	}{
		"a worktree":       {func(*stage, *tasks.Plan, *tasks.Job) {}, true},
		"a clean own tree": {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Commit = nil }, true},
		"a dirty own tree": {func(s *stage, p *tasks.Plan, j *tasks.Job) {
			j.Commit, p.AllowDirty = nil, true
			writeFile(t, filepath.Join(s.repo, "new"), "x\n")
		}, false},
		"setup":             {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Setup = []string{"true"} }, false},
		"verify":            {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Verify = verify("true") }, false},
		"a script":          {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Script = &tasks.TaskScript{} }, false},
		"a mention":         {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Mentions = []tasks.Mention{{Name: "a"}} }, false},
		"a hook":            {func(_ *stage, p *tasks.Plan, _ *tasks.Job) { p.Hooks = []tasks.Hook{hookOf(tasks.JobEnd, "true")} }, false},
		"an MCP server":     {func(_ *stage, p *tasks.Plan, _ *tasks.Job) { p.MCP = []tasks.MCPServer{{Remote: &tasks.Remote{}}} }, false},
		"a language server": {func(_ *stage, p *tasks.Plan, _ *tasks.Job) { p.LSP = &tasks.LSP{} }, false},
		"a plugin":          {func(_ *stage, p *tasks.Plan, _ *tasks.Job) { p.Scripts.Plugins = []tasks.ScriptFile{{}} }, false},
		"a filter":          {func(s *stage, _ *tasks.Plan, _ *tasks.Job) { s.cleaned("tr a-z A-Z") }, false},
		"Git LFS":           {func(s *stage, _ *tasks.Plan, _ *tasks.Job) { s.cleaned("git-lfs clean -- %f") }, true},
		"a directory": {func(s *stage, _ *tasks.Plan, j *tasks.Job) {
			s.commit(map[string]string{"web/b": "b\n"})
			j.Repo.Dir = filepath.Join(s.repo, "web")
		}, false},
		"a copy": {func(_ *stage, _ *tasks.Plan, j *tasks.Job) {
			j.Repo = tasks.Repo{Name: "n", Kind: tasks.RepoCopy, Dir: t.TempDir()}
		}, false},
		"a repository of nothing": {func(_ *stage, _ *tasks.Plan, j *tasks.Job) {
			j.Repo.Dir = t.TempDir()
			git(t, j.Repo.Dir, "init", "-q")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			plan, spec := &tasks.Plan{}, s.job("a")
			c.change(s, plan, &spec)
			p, end := s.opened(t.Context(), s.begin(plan, spec))
			if end != nil {
				t.Fatalf("%+v", *end)
			}
			if p.OpenedBeside() != c.beside || p.Complete() == c.beside {
				t.Errorf("beside: %t, complete: %t", p.OpenedBeside(), p.Complete())
			}
			if end := p.Settled(); end != nil || !p.Usable() || p.Tree == nil || p.Before == nil && p.Base != "" {
				t.Errorf("in the end: %+v, usable: %t", end, p.Usable())
			}
		})
	}
}

// A worktree is made once the request has been sent. Its path and the time limit of the job are there before.
func TestAWorktreeOpensBesideTheFirstRequest(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{"a": "one\n", "opencode.json": "{}\n"})
	spec := s.job("a")
	spec.Limits.Time = time.Hour
	j := s.begin(&tasks.Plan{}, spec)
	p, end := s.opened(t.Context(), j)
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	dir := filepath.Join(s.opts.Work, "trees", "a")
	if p.Dir != dir || p.Ref != "main" || p.Tree != nil || exists(dir) || p.Readable() || p.Usable() || j.TimeLimit.Left() <= time.Minute {
		t.Errorf("before: %s, ref %s, readable %t, usable %t, left %v", p.Dir, p.Ref, p.Readable(), p.Usable(), j.TimeLimit.Left())
	}
	if end := p.BeforeAgent(t.Context()); end != nil || p.Tree != nil {
		t.Errorf("the state of the start is noted without files: %+v", end)
	}
	if p.Requested(); p.Settled() != nil {
		t.Fatalf("%+v", *p.Settled())
	}
	if read(t, filepath.Join(dir, "a")) != "one\n" || !p.Readable() || !p.Usable() || p.Before == nil || p.Space.Dir() != dir {
		t.Error("it is not complete")
	}
	if !strings.HasPrefix(s.warnings(), "opencode.json in repo is for OpenCode and not read") {
		t.Errorf("warnings: %s", s.warnings())
	}
	if end := p.WaitFor(); end != nil || len(s.of(event.PhaseStarted)) > 0 {
		t.Errorf("a call that need not wait: %+v", end)
	}
}

// A clean tree of the user's is known without a search, and can be read meanwhile.
func TestTheOwnTreeOpensBesideTheFirstRequest(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{"a": "one\n", ".gitignore": "*.log\n"})
	writeFile(t, filepath.Join(s.repo, "users.log"), "x\n")
	spec := s.job("a")
	spec.Commit, spec.Limits.Time = nil, time.Hour
	j := s.begin(&tasks.Plan{}, spec)
	p, end := s.opened(t.Context(), j)
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	if want := git(t, s.repo, "rev-parse", "HEAD^{tree}"); p.Initial != want || p.Before == nil || p.Ignored == nil || !p.Readable() || p.Usable() || j.TimeLimit.Left() <= time.Minute {
		t.Errorf("the state is %s, want %s; readable %t, usable %t", p.Initial, want, p.Readable(), p.Usable())
	}
	if end := p.Settled(); end != nil {
		t.Fatalf("%+v", *end)
	}
	writeFile(t, filepath.Join(s.repo, "a"), "two\n")
	writeFile(t, filepath.Join(s.repo, "agent.log"), "x\n")
	want(t, "changes", []string{"a"}, changed(t, p))
	f, err := p.Diff.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	paths, err := p.Diff.Paths(t.Context(), f)
	if want(t, "paths with ignored ones", []string{"a", "agent.log"}, paths); err != nil {
		t.Error(err)
	}
}

// What a preflight found some time ago can have changed.
func TestAnOldStatusOfTheOwnTreeIsNotUsed(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Commit = nil
	j := s.begin(&tasks.Plan{}, spec)
	j.Start.Clean.At = j.Start.Clean.At.Add(-freshStatus)
	writeFile(t, filepath.Join(s.repo, "users"), "x\n")
	p, end := s.opened(t.Context(), j)
	if end != nil || p.OpenedBeside() {
		t.Fatalf("%+v, beside the request: %t", end, p.OpenedBeside())
	}
	want(t, "changes", nil, changed(t, p))
	s.release(p)
	j.Start.Clean.At = j.Start.Clean.At.Add(-freshStatus)
	if err := os.Remove(filepath.Join(s.repo, "users")); err != nil {
		t.Fatal(err)
	}
	if p, end = s.opened(t.Context(), j); end != nil || p.OpenedBeside() || p.Before != p.Committed || p.Initial != git(t, s.repo, "rev-parse", "HEAD^{tree}") {
		t.Errorf("a clean tree has a state of its own: %+v", end)
	}
}

// A session without a call needs no files: none are made, or what was made is removed.
func TestWaivedSitesLeaveNothing(t *testing.T) {
	t.Run("released immediately", func(t *testing.T) { // as after a panic
		s := setUp(t)
		p, end := s.opened(t.Context(), s.begin(&tasks.Plan{}, s.job("a")))
		if end != nil {
			t.Fatalf("%+v", *end)
		}
		p.Requested()
		s.release(p)
		if exists(filepath.Join(s.opts.Work, "trees", "a")) || len(p.Origin.Worktrees()) > 0 || s.warnings() != "" || !p.Complete() {
			t.Errorf("left; warnings %q", s.warnings())
		}
	})
	for name, started := range map[string]bool{"before the start": false, "after it": true} {
		s := setUp(t)
		p, end := s.opened(t.Context(), s.begin(&tasks.Plan{}, s.job("a")))
		if end != nil {
			t.Fatalf("%+v", *end)
		}
		if started {
			p.Requested()
		}
		waived := p.Waive()
		if waived == p.Usable() || !waived && !started || p.Settled() != nil || waived != (p.Before == nil) || len(s.ended) > 0 {
			t.Errorf("%s: waived %t, usable %t, %+v, ended %v", name, waived, p.Usable(), p.Settled(), s.ended)
		}
		s.release(p)
		if exists(filepath.Join(s.opts.Work, "trees", "a")) || s.warnings() != "" {
			t.Errorf("%s: left; warnings %q", name, s.warnings())
		}
	}
}

// A site that can't be completed ends its job in the middle of the request, with its own reason.
func TestAnOpeningThatFailsEndsTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(*stage, *Job)
		code   event.Code
		text   string
	}{
		"no worktree": {func(s *stage, _ *Job) { writeFile(s.t, filepath.Join(s.opts.Work, "trees"), "in the way") }, event.CodeRepository, "prepare the workspace: "},
		"a panic":     {func(_ *stage, j *Job) { j.run.search = func() { panic("odd") } }, event.CodePanic, "internal error: odd; please report it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			j := s.begin(&tasks.Plan{}, s.job("a"))
			c.breaks(s, j)
			p, end := s.opened(t.Context(), j)
			if end != nil {
				t.Fatalf("%+v", *end)
			}
			stopped(t, "settled", p.Settled(), c.code, c.text)
			stopped(t, "waited for", p.WaitFor(), c.code, c.text)
			if len(s.ended) != 1 || s.ended[0].(event.EndCause).Code != c.code || p.Before != nil || p.Usable() || !p.Complete() { //nolint:errorlint,forcetypeassert // a cause is never wrapped
				t.Errorf("ended by %v, usable: %t", s.ended, p.Usable())
			}
		})
	}
	s := setUp(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	p, end := s.opened(ctx, s.begin(&tasks.Plan{}, s.job("a")))
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	cancel(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	if stopped(t, "after a signal", p.Settled(), event.CodeInterrupted, "SIGINT"); p.Settled() == nil || exists(filepath.Join(s.opts.Work, "trees", "a")) {
		t.Error("it is opened after a signal")
	}
}

// The search for private files of the system starts with the first request, or immediately if commands start before it.
func TestTheSearchForPrivateFilesBegins(t *testing.T) {
	for name, c := range map[string]struct {
		level sandbox.Level
		setup bool
		early bool
		late  bool
	}{
		"no sandbox":     {sandbox.None, true, false, false},
		"with a request": {sandbox.Full, false, false, true},
		"with setup":     {sandbox.Full, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.opts.Level = c.level
			root := t.TempDir()
			s.opts.System = sandbox.NewPrivate(root)
			spec := s.job("a")
			if c.setup {
				spec.Setup = []string{"true"}
			}
			j := s.begin(&tasks.Plan{}, spec)
			found := func() bool { // a search that has ended does not see a later file
				j.run.searching.Wait()
				file := filepath.Join(root, "key")
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				return len(j.run.Private.Paths()) == 0
			}
			j.run.PrepareSearch()
			if !c.early && c.late {
				(&Site{Workdir: Workdir{job: j}}).Requested()
			}
			if got := found(); got != (c.early || c.late) {
				t.Errorf("it has begun: %t", got)
			}
		})
	}
}

// A call that waits long for the files of its job is reported.
func TestALongWaitForTheCheckoutIsReported(t *testing.T) {
	s := setUp(t)
	j := s.begin(&tasks.Plan{}, s.job("a"))
	started := false
	o := &opening{by: j, done: make(chan struct{}), start: func() { started = true }}
	go func() {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && len(s.of(event.PhaseStarted)) == 0; {
			time.Sleep(time.Millisecond)
		}
		o.end = &ending.Stop{Code: event.CodeRepository, Detail: "no disk"}
		close(o.done)
	}()
	stopped(t, "waited for", (&Site{opening: o}).WaitFor(), event.CodeRepository, "no disk")
	began, ended := s.of(event.PhaseStarted), s.of(event.PhaseEnded)
	if len(began) != 1 || len(ended) != 1 || began[0].Phase.Name != event.CheckoutPhase || ended[0].Phase.ElapsedMS < longWait.Milliseconds() || ended[0].Phase.Error != "no disk" || !started {
		t.Errorf("started %t: %+v, %+v", started, began, ended)
	}
	if end := (&Site{opening: o}).WaitFor(); end != o.end || len(s.of(event.PhaseStarted)) != 1 {
		t.Error("no wait is reported")
	}
	if end := (&Site{}).WaitFor(); end != nil {
		t.Errorf("a site that was opened before the request: %+v", *end)
	}
}
