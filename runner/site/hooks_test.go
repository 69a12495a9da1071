package site

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/change"
)

func hookOf(on tasks.HookEvent, line string) tasks.Hook {
	return tasks.Hook{Name: string(on), On: on, Command: []string{"bash", "-c", line}, Time: time.Minute}
}

// withHooks prepares a job with hooks, and runs those of its start.
func (s *stage) withHooks(spec tasks.Job, hooks ...tasks.Hook) (*Site, *ending.Stop) {
	s.t.Helper()
	p := s.prepared(s.begin(&tasks.Plan{Hooks: hooks}, spec))
	return p, JobHooks{Site: p}.SetUp(s.t.Context())
}

// inputOf returns the input that a hook has saved in a file.
func inputOf(t *testing.T, file string) (in hook.Input) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, file)), &in); err != nil {
		t.Error(err)
	}
	return in
}

func TestHooksOfRunsAreNotThoseOfJobs(t *testing.T) {
	plan := &tasks.Plan{Hooks: []tasks.Hook{hookOf(tasks.RunStart, ""), hookOf(tasks.JobStart, ""), hookOf(tasks.RunEnd, ""), hookOf(tasks.JobEnd, "")}}
	var names []string
	for _, h := range append(HooksOf(plan, true), HooksOf(plan, false)...) {
		names = append(names, h.Name)
	}
	want(t, "hooks", []string{"run_start", "run_end", "job_start", "job_end"}, names)
	if (*Site)(nil).HasHooks(tasks.JobEnd) {
		t.Error("a job without a site has hooks")
	}
}

// Hooks of the start run before setup, and what they leave is theirs.
func TestHooksOfTheStart(t *testing.T) {
	s := setUp(t)
	file := filepath.Join(t.TempDir(), "input")
	spec := s.job("a")
	spec.Setup = []string{"cp of-hook of-setup"}
	p, end := s.withHooks(spec, hookOf(tasks.JobStart, "cat >"+file+"; echo >of-hook"))
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	want(t, "left", []string{"hook: of-hook", "setup: of-setup"}, s.left())
	want(t, "changes of the agent", nil, changed(t, p))
	want(t, "input", hook.Input{Version: 1, Event: tasks.JobStart, Run: "r1", Job: "a", Task: "a", Repo: "repo", Dir: p.Dir}, inputOf(t, file))
	if !p.HasHooks(tasks.JobStart) || p.HasHooks(tasks.JobEnd) {
		t.Error("the job has other hooks than its manifest")
	}
}

// A hook that fails ends the job, unless it is optional; the time of the job holds for it.
func TestHooksThatFail(t *testing.T) {
	optional := hookOf(tasks.JobStart, "exit 3")
	optional.Optional = true
	for name, c := range map[string]struct {
		hook   tasks.Hook
		limit  time.Duration
		code   event.Code
		text   string
		warned bool
	}{
		"required":  {hook: hookOf(tasks.JobStart, "echo no >&2; exit 3"), code: event.CodeExtension, text: "hook job_start: exit code 3: no"},
		"optional":  {hook: optional, warned: true},
		"a limit":   {hook: hookOf(tasks.JobStart, "sleep 60"), limit: 200 * time.Millisecond, code: event.CodeLimit, text: "job timed out after 200ms"},
		"a missing": {hook: tasks.Hook{Name: "h", On: tasks.JobStart, Command: []string{"no-such-program-4711"}, Time: time.Minute}, code: event.CodeExtension, text: "no-such-program-4711"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Limits.Time, spec.Setup = c.limit, []string{"echo >after"}
			p, end := s.withHooks(spec, c.hook)
			stopped(t, "job", end, c.code, c.text)
			if warned := strings.Contains(s.warnings(), "exit code 3"); warned != c.warned || exists(filepath.Join(p.Space.Dir(), "after")) != (c.code == "") {
				t.Errorf("warnings %q; setup ran: %t", s.warnings(), !warned)
			}
		})
	}
}

// Hooks before a commit get its paths, and what they change belongs to it.
func TestHooksBeforeACommit(t *testing.T) {
	for name, c := range map[string]struct {
		files  []string
		commit bool
		line   string
		want   []string
		ran    bool
		code   event.Code
	}{
		"changes":    {[]string{"x", "y"}, true, "echo >formatted", []string{"formatted", "x", "y"}, true, ""},
		"no changes": {nil, true, "echo >formatted", nil, false, ""},
		"no commit":  {[]string{"x"}, false, "echo >formatted", []string{"x"}, false, ""},
		"a failure":  {[]string{"x"}, true, "exit 1", []string{"x"}, true, event.CodeHook},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			file := filepath.Join(t.TempDir(), "input")
			spec := s.job("a")
			if !c.commit {
				spec.Commit = nil
			}
			p, end := s.withHooks(spec, hookOf(tasks.BeforeCommit, "cat >"+file+"; "+c.line))
			if end != nil {
				t.Fatalf("%+v", *end)
			}
			for _, name := range c.files {
				writeFile(t, filepath.Join(p.Space.Dir(), name), "x\n")
			}
			stopped(t, "hook", JobHooks{Site: p}.BeforeCommit(t.Context()), c.code, "")
			want(t, "changes", c.want, changed(t, p))
			if exists(file) != c.ran {
				t.Fatalf("it ran: %t", !c.ran)
			}
			if c.ran {
				want(t, "input", c.files, inputOf(t, file).Changes)
			}
		})
	}
	s := setUp(t)
	p, _ := s.withHooks(s.job("a"), hookOf(tasks.BeforeCommit, "true"))
	if err := os.RemoveAll(p.Tree.Root()); err != nil {
		t.Fatal(err)
	}
	stopped(t, "without a tree", JobHooks{Site: p}.BeforeCommit(t.Context()), event.CodeCommit, "find the paths that the job changed")
}

// Hooks of the end report also a job that a signal has ended; their failures change nothing.
func TestHooksOfTheEnd(t *testing.T) {
	s := setUp(t)
	file := filepath.Join(t.TempDir(), "input")
	p, end := s.withHooks(s.job("a"), hookOf(tasks.JobEnd, "cat >"+file+"; exit 1"))
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	JobHooks{Site: p}.End(ctx, &hook.Commit{Hash: "c0ffee", Branch: "b"}, event.CodeEnvironment.End("no make"))
	in := inputOf(t, file)
	if in.Outcome != event.CodeEnvironment.Cause().Outcome || in.Reason != "no make" || in.Code != event.CodeEnvironment || in.ExitCode == nil || *in.Commit != (hook.Commit{Hash: "c0ffee", Branch: "b"}) {
		t.Errorf("input %+v", in)
	}
	JobHooks{}.End(ctx, nil, event.JobEnd{}) // of a job that got no site
	if !strings.Contains(s.warnings(), "hook job_end: exit code 1") || len(s.ended) > 0 {
		t.Errorf("warnings %q, ended %v", s.warnings(), s.ended)
	}
}

// What hooks leave around a call is not the agent's, and their results pass through.
func TestHooksAroundCallsAreWatched(t *testing.T) {
	s := setUp(t)
	p := s.prepared(s.begin(&tasks.Plan{}, s.job("a")))
	p.Diff.Tree = change.New(0)
	put := func(name string) { writeFile(t, filepath.Join(p.Space.Dir(), name), "x\n") }
	all := JobHooks{Site: p}.Watched([]tools.Hook{
		{Rule: "one", Before: func(_ context.Context, c tools.HookCall) (json.RawMessage, error) {
			put("before")
			return json.RawMessage(`"` + c.Tool + `"`), errors.New("denied")
		}},
		{Rule: "two", After: func(_ context.Context, _ tools.HookCall, was tools.HookResult) tools.HookResult {
			put("after")
			was.Output += "more"
			return was
		}},
	})
	if made, err := all[0].Before(t.Context(), tools.HookCall{Tool: "bash"}); string(made) != `"bash"` || err == nil || err.Error() != "denied" || all[0].After != nil {
		t.Errorf("before: %s, %v", made, err)
	}
	if got := all[1].After(t.Context(), tools.HookCall{}, tools.HookResult{Output: "some "}); got.Output != "some more" || all[1].Before != nil {
		t.Errorf("after: %+v", got)
	}
	want(t, "left", []string{"hook: before", "hook: after"}, s.left())
	if err := os.RemoveAll(p.Tree.Root()); err != nil {
		t.Fatal(err)
	}
	all[1].After(t.Context(), tools.HookCall{}, tools.HookResult{})
	if len(s.ended) != 1 || s.ended[0].(event.EndCause).Code != event.CodeCommit { //nolint:errorlint,forcetypeassert // a cause is never wrapped
		t.Errorf("a state that can't be compared: ended by %v", s.ended)
	}
}
