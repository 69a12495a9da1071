package agent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

func TestFailedVerifyIsFedBack(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Attempts = 3
	spec.Verify = []tasks.Verify{{Name: "fine", Run: "true", Time: time.Minute}, {Name: "has-b", Run: "cat b", Time: time.Minute}}
	p, r, end := s.works(&tasks.Plan{}, spec, `  - {text: first, usage: {input: 10, output: 1}}
  - {expect: ['<check name="has-b" result="exit code 1">\n.*b: No such file'], calls: [{tool: write, args: {filePath: b, content: x}}], usage: {input: 10, output: 1}}
  - {text: second, usage: {input: 10, output: 1}}
`)
	if end != nil || r.Attempts != 2 || r.Final != "second" || r.Totals.Turns != 3 || r.Totals.Usage.Input != 30 || !p.Touched {
		t.Errorf("%+v, %+v", end, r)
	}
	var got []string
	for _, e := range s.of(event.VerifyEnded) {
		verdict := "failed"
		if e.Verify.Passed {
			verdict = "passed"
		}
		got = append(got, strings.Join([]string{e.Session, e.Verify.Name, verdict, strings.Repeat("i", e.Verify.Attempt)}, " "))
	}
	want := []string{"r1/a fine passed i", "r1/a has-b failed i", "r1/a fine passed ii", "r1/a has-b passed ii"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	attempts := s.of(event.AttemptStarted)
	if len(attempts) != 2 || attempts[0].Attempt.Prompt != "Go." || !strings.HasPrefix(attempts[1].Attempt.Prompt, "The verify commands of the task failed") {
		t.Errorf("attempts %+v", attempts)
	}
}

func TestAttemptsEnd(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Attempts = 2
	spec.Verify = []tasks.Verify{{Name: "one", Run: "false", Time: time.Minute}, {Name: "two", Run: "exit 3", Time: time.Minute}}
	_, r, end := s.works(&tasks.Plan{}, spec, "  - text: a\n  - text: b\n")
	if end == nil || *end != (ending.Stop{Code: event.CodeFailed, Detail: "verify one, two failed after 2 attempts"}) || r.Attempts != 2 || r.Final != "b" {
		t.Errorf("%+v, %+v", end, r)
	}
}

func TestSessionThatCannotBeOpened(t *testing.T) {
	s := setUp(t)
	s.uses.OpenModel = func(tasks.Job, string, opened.Notices) (opened.Conversation, error) {
		return opened.Conversation{}, errors.New("no such model")
	}
	p, r, end := s.works(&tasks.Plan{}, s.job("a"), "")
	if end == nil || *end != (ending.Stop{Code: event.CodeNoModel, Detail: "no such model"}) || p.Touched || r.Totals.Cost.USD() == nil {
		t.Errorf("%+v, %+v", end, r)
	}
	if end := sessionFailed(os.ErrExist); end.Code != event.CodeInternal {
		t.Errorf("any other error: %+v", end)
	}
}

func TestUnusedScriptTurnsFailTheJob(t *testing.T) {
	s := setUp(t)
	_, _, end := s.works(&tasks.Plan{}, s.job("a"), "  - text: a\n  - text: never\n")
	if end == nil || end.Code != event.CodeFailed {
		t.Errorf("%+v", end)
	}
}

func TestTheLastAnswerIsTheOutput(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Schema = map[string]any{"type": "object", "required": []any{"fixed"}}
	_, r, end := s.works(&tasks.Plan{}, spec, "  - text: '{\"fixed\": true}'\n")
	if end != nil || string(r.Output) != `{"fixed":true}` && string(r.Output) != `{"fixed": true}` {
		t.Errorf("%+v, %s", end, r.Output)
	}
}

func TestRejectedModelIsCached(t *testing.T) {
	for name, c := range map[string]struct {
		class    model.ErrorClass
		fallback bool
		want     map[string]string
	}{
		"a bad key":            {model.ClassAuth, false, map[string]string{"openai": "no"}},
		"no money":             {model.ClassQuota, false, map[string]string{"openai": "no"}},
		"no such model":        {model.ClassUnknown, false, map[string]string{"openai/m": "no"}},
		"too many requests":    {model.ClassRate, false, map[string]string{}},
		"one of several":       {model.ClassAuth, true, map[string]string{}},
		"an unreadable answer": {model.ClassProtocol, false, map[string]string{}},
	} {
		r := setUp(t).run(&tasks.Plan{})
		spec := tasks.Job{Model: "openai/m"}
		if c.fallback {
			spec.Fallback = []tasks.Model{{}}
		}
		r.refuse(spec, &ending.Stop{Code: event.Code(c.class), Detail: "no"})
		if diff := cmp.Diff(c.want, r.refused); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if refused := r.Refuses("openai/m") != ""; refused != (len(c.want) > 0) {
			t.Errorf("%s: the next job is refused: %t", name, refused)
		}
	}
}

func TestProviderOfAModel(t *testing.T) {
	for name, want := range map[string]string{"openai/gpt": "openai", "script:x.yaml": "script", "a/b:c": "a", "": "", "x": "x"} {
		if got := provider(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// mentionsIn returns the references in a prompt: the texts between the markers.
func mentionsIn(prompt string, of ...tasks.Mention) []tasks.Mention {
	at := 0
	for i := range of {
		mention := "@" + of[i].Name
		if of[i].Command != "" {
			mention = "!`" + of[i].Command + "`"
		}
		of[i].Start = at + strings.Index(prompt[at:], mention)
		of[i].End = of[i].Start + len(mention)
		at = of[i].End
	}
	return of
}

func TestPromptIncludesMentions(t *testing.T) {
	s := setUp(t)
	writeFile(t, filepath.Join(s.repo, "style.md"), "one\ntwo\nthree\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "more")
	spec := s.job("a")
	spec.Prompt = "See @style.md and @style.md, on !`echo main`; give @helper a part, and leave @team/x.go and @nobody."
	spec.Mentions = mentionsIn(spec.Prompt, tasks.Mention{Name: "style.md", First: 2, Last: 2}, tasks.Mention{Name: "style.md"}, tasks.Mention{Command: "echo main"},
		tasks.Mention{Name: "helper"}, tasks.Mention{Name: "team/x.go"}, tasks.Mention{Name: "nobody"})
	plan := &tasks.Plan{Agents: []tasks.Agent{{Name: "helper", Description: "helps"}, {Name: "hidden"}}}
	var asked string
	s.uses.OpenModel = func(tasks.Job, string, opened.Notices) (opened.Conversation, error) {
		return opened.Conversation{Model: requestFunc(func(r model.Request) (model.Response, error) {
			data, err := json.Marshal(r.Messages)
			asked = string(data)
			return model.Response{Text: "ok"}, err
		})}, nil
	}
	if _, _, end := s.works(plan, spec, ""); end != nil {
		t.Fatalf("%+v", *end)
	}
	for _, want := range []string{"See @style.md and @style.md, on main; give @helper", "two", "subagent_type", "and @nobody."} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model is not shown %q:\n%s", want, asked)
		}
	}
	if strings.Contains(asked, "three") || strings.Count(asked, "as returned by the read tool") != 1 {
		t.Errorf("the model is shown lines that were not asked for, or a file twice:\n%s", asked)
	}
	if w := s.warnings(); !strings.Contains(w, "@team/x.go in the prompt: file not found") || strings.Contains(w, "nobody") {
		t.Errorf("warnings: %s", w)
	}
}

// requestFunc is a model implemented by one function of the request.
type requestFunc func(model.Request) (model.Response, error)

func (f requestFunc) Stream(_ context.Context, r model.Request, _ func(model.Delta)) (model.Response, error) {
	return f(r)
}

func TestMissingMentionFailsTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		mention tasks.Mention
		preset  string
		code    event.Code
		detail  string
	}{
		"a denied command": {tasks.Mention{Command: "rm -r x"}, "readonly", event.CodeDenied, "!`rm -r x` in the prompt: "},
		"a missing file":   {tasks.Mention{Name: "./gone", Explicit: true}, "build", event.CodeFailed, "@./gone in the prompt: "},
		"a denied agent":   {tasks.Mention{Name: "helper"}, "", event.CodeDenied, "@helper in the prompt: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Profile, _ = permission.Preset(c.preset)
			spec.Prompt = "Do !`rm -r x` @./gone @helper"
			spec.Mentions = mentionsIn(spec.Prompt, c.mention)
			_, r, end := s.works(&tasks.Plan{Agents: []tasks.Agent{{Name: "helper", Description: "helps"}}}, spec, "  - text: never asked\n")
			if end == nil || end.Code != c.code || !strings.HasPrefix(end.Detail, c.detail) || r.Totals.Turns != 0 {
				t.Errorf("%+v after %d turns", end, r.Totals.Turns)
			}
			for _, e := range s.of(event.SessionEnded) {
				if want := string(c.code.Cause().Outcome); e.SessionInfo.End != want || e.SessionInfo.Reason != end.Detail {
					t.Errorf("the session ended with %+v, want %s", e.SessionInfo, want)
				}
			}
		})
	}
}

func TestSubagentHasItsProfileAndLimits(t *testing.T) {
	s := setUp(t)
	readonly, _ := permission.Preset("readonly")
	plan := &tasks.Plan{Agents: []tasks.Agent{{Name: "look", Description: "looks", Max: &readonly, Turns: 2, Without: []string{"todowrite", "todoread"}, Model: &tasks.Model{ID: "script:other", Name: "other"}}}}
	spec := s.job("a")
	spec.Limits.Turns, spec.Fallback = 5, []tasks.Model{{}}
	j := s.begin(plan, spec)
	w := newWork(j, s.prepared(j))
	var asked tasks.Job
	play := plays(t, "  - text: unused\nagents:\n  look: {turns: [{text: found}, {text: more}]}\n")
	j.run.equipment.OpenModel = func(of tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
		asked = of
		return play(of, child, on)
	}
	spawn := w.spawner("r1/a")
	main, err := w.openSession(t.Context(), w.job.ownSpec(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer main.transcript.Close()
	got, err := spawn(t.Context(), tools.SpawnRequest{Agent: "look", Prompt: "where?"})
	if err != nil || got.Text != "found" || got.TaskID != "a.task-1" || got.Failed != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if asked.Model != "script:other" || asked.ModelName != "other" || asked.Fallback != nil || asked.Limits.Turns != 2 || asked.Agent != "look" {
		t.Errorf("the child is %+v", asked)
	}
	if asked.Profile.Allows("edit", "a") || asked.Profile.Allows("todowrite", "x") || !spec.Profile.Allows("edit", "a") {
		t.Error("the child may do what its agent may not, or the job may not any more")
	}
	if got, err = spawn(t.Context(), tools.SpawnRequest{Agent: "look", Prompt: "and?", TaskID: "a.task-1"}); err != nil || got.Text != "more" {
		t.Errorf("it goes on: %+v, %v", got, err)
	}
	for want, r := range map[string]tools.SpawnRequest{
		"belongs to agent look": {Agent: "other", TaskID: "a.task-1"}, "task a.task-9 not found": {Agent: "look", TaskID: "a.task-9"},
	} {
		if _, err := spawn(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	child := w.sessions.children()[0]
	child.running.Lock()
	if _, err := spawn(t.Context(), tools.SpawnRequest{Agent: "look", TaskID: "a.task-1"}); err == nil || !strings.Contains(err.Error(), "still running") {
		t.Errorf("two calls of one task: %v", err)
	}
	child.running.Unlock()
	w.sessions.closeChildren()
	if ended := s.of(event.SessionEnded); len(ended) != 1 || ended[0].Session != "r1/a.task-1" {
		t.Errorf("sessions that ended: %+v", ended)
	}
}

func TestAgentOnlyRestrictsProfile(t *testing.T) {
	build, _ := permission.Preset("build")
	s := sessionSpec{task: tasks.Job{Profile: build, Limits: tasks.Limits{Turns: 3}}}
	s.take(tasks.Agent{Name: "x", Turns: 9, Restrictions: [][]permission.Rule{{{Permission: "bash", Pattern: "*"}}}})
	if s.task.Agent != "x" || s.task.Limits.Turns != 3 || s.task.Profile.Allows("bash", "ls") || !s.task.Profile.Allows("edit", "a") {
		t.Errorf("%+v", s.task)
	}
	s.task.Limits.Turns = 0
	if s.take(tasks.Agent{Name: "y", Turns: 9}); s.task.Limits.Turns != 9 {
		t.Errorf("%d turns", s.task.Limits.Turns)
	}
	if s.narrowed != "agent x " {
		t.Errorf("narrowed by %q", s.narrowed)
	}
	if s.child() != "" || (sessionSpec{task: s.task, parent: "p"}).child() != "y" {
		t.Error("only a child is known by its agent")
	}
	s.task.Schema = map[string]any{"type": "object"}
	if s.schema() == nil || (sessionSpec{task: s.task, parent: "p"}).schema() != nil {
		t.Error("only the task's own session has a schema to meet")
	}
}

func TestJobLimitsApplyToAllSessions(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	j := s.begin(&tasks.Plan{}, spec)
	w := newWork(j, s.prepared(j))
	j.run.equipment.OpenModel = plays(t, "  - text: one\n")
	for range 2 {
		o, err := w.openSession(t.Context(), w.job.ownSpec(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer o.transcript.Close()
		o.run(t.Context(), "go")
	}
	for most, want := range map[int]bool{2: true, 3: false} {
		j.Spec.Limits.Turns = most
		if end := w.limits(false); (end != nil) != want {
			t.Errorf("after 2 turns of 2 sessions, at most %d: %+v", most, end)
		}
	}
}

func TestWindowIsTheSmallestOfTheModels(t *testing.T) {
	facts := map[string]opened.Facts{"a": {Context: 100, MaxOutput: 20}, "b": {Context: 80, MaxOutput: 30}, "c": {}}
	o := Equipment{Facts: func(m string) opened.Facts { return facts[m] }}
	for first, c := range map[string]struct {
		others            []string
		all, withinLimits int
	}{"a": {[]string{"b", "c"}, 80, 20}, "b": {nil, 80, 30}, "c": {[]string{"a"}, 100, 20}} {
		s := sessionSpec{speaks: first}
		for _, id := range c.others {
			s.task.Fallback = append(s.task.Fallback, tasks.Model{ID: id})
		}
		if all, withinLimits := o.window(s); all != c.all || withinLimits != c.withinLimits {
			t.Errorf("%s: %d, %d", first, all, withinLimits)
		}
	}
	if (Equipment{}).facts("a") != (opened.Facts{}) {
		t.Error("something is known without facts")
	}
}

func TestASecretThatAManifestNames(t *testing.T) {
	o := &Job{opts: &site.Options{Getenv: func(name string) string { return " of " + name + "\n" }}}
	if got := o.secret("KEY"); got != "of KEY" || o.secret("") != "" {
		t.Errorf("%q", got)
	}
}

func TestRetriesAreReportedWithTheirTurn(t *testing.T) {
	s := setUp(t)
	s.uses.OpenModel = func(_ tasks.Job, _ string, on opened.Notices) (opened.Conversation, error) {
		return opened.Conversation{Model: requestFunc(func(model.Request) (model.Response, error) {
			on.Retry(event.Retry{})
			return model.Response{Text: "ok"}, nil
		})}, nil
	}
	if _, _, end := s.works(&tasks.Plan{}, s.job("a"), ""); end != nil {
		t.Fatalf("%+v", *end)
	}
	if made := s.of(event.RequestRetried); len(made) != 1 || made[0].Session != "r1/a" || made[0].Job != "a" || made[0].Retry.Turn != 1 {
		t.Errorf("told %+v", made)
	}
}

func TestADiskLimitEndsTheJob(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Limits.Disk = 1 << 20
	// It runs until it is measured: a short command is measured only if the disk has lost as much, which others that free space hide.
	spec.Verify = []tasks.Verify{{Name: "fill", Run: "head -c 3000000 /dev/zero > big; sleep 600", Time: time.Hour}}
	p, _, _ := s.works(&tasks.Plan{}, spec, "  - text: done\n")
	if end := p.Sandboxes.CheckDiskLimit(t.Context()); end == nil || end.Code != event.CodeLimit || !strings.HasPrefix(end.Detail, "limits.disk: ") {
		t.Errorf("%+v", end)
	}
	if (&site.Sandboxes{}).CheckDiskLimit(t.Context()) != nil {
		t.Error("a job without a sandbox has no bounds")
	}
}

// besides opens the site of a job that only calls run in: its files are made while the model responds.
func (s *stage) besides(plan *tasks.Plan, spec tasks.Job, open openModel) (*site.Site, *ending.Result, *ending.Stop) {
	s.t.Helper()
	s.uses.OpenModel = open
	s.opts.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: s.opts.RunID}})
	j := s.begin(plan, spec)
	ctx, end := context.WithCancel(s.t.Context())
	s.t.Cleanup(end)
	p, stop := j.Prepare(ctx)
	if stop != nil {
		s.t.Fatalf("prepare: %+v", *stop)
	}
	s.t.Cleanup(func() { p.Release(context.WithoutCancel(s.t.Context()), false) })
	r, stop := s.session(j, p)
	return p, r, stop
}

// linksNotes makes the instructions of the repository a symlink to a file.
func linksNotes(s *stage, _ *tasks.Job) {
	s.commit(map[string]string{"notes": "root notes"})
	if err := errors.Join(os.Remove(filepath.Join(s.repo, "AGENTS.md")), os.Symlink("notes", filepath.Join(s.repo, "AGENTS.md"))); err != nil {
		s.t.Fatal(err)
	}
	s.commit(nil)
}

// A job whose session makes no call needs no worktree, unless something shows or changes its files later. Instructions of the
// repository are read from its commit.
func TestASessionWithoutCallsNeedsNoFiles(t *testing.T) {
	for name, c := range map[string]struct {
		set   func(*stage, *tasks.Job)
		turns string
		files bool
	}{
		"no call":        {func(*stage, *tasks.Job) {}, "  - text: done\n", false},
		"a call":         {func(*stage, *tasks.Job) {}, "  - calls: [{tool: read, args: {filePath: AGENTS.md}}]\n  - {expect: [root notes], text: done}\n", true},
		"a command":      {func(*stage, *tasks.Job) {}, "  - calls: [{tool: bash, args: {command: cat AGENTS.md}}]\n  - {expect: [root notes], text: done}\n", true},
		"with a symlink": {linksNotes, "  - text: done\n", true},
		"for users":      {func(s *stage, _ *tasks.Job) { s.opts.Keep = true }, "  - text: done\n", true},
		"in the user's":  {func(_ *stage, j *tasks.Job) { j.Commit = nil }, "  - text: done\n", true},
		"with verify":    {func(_ *stage, j *tasks.Job) { j.Verify = []tasks.Verify{checks("v", "true")} }, "  - text: done\n", true},
		"with repo skills": {func(s *stage, _ *tasks.Job) {
			s.commit(map[string]string{".agents/skills/x/SKILL.md": "---\nname: x\ndescription: d\n---\n"})
		}, "  - text: done\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.commit(map[string]string{"AGENTS.md": "root notes"})
			spec := s.job("a")
			c.set(s, &spec)
			p, r, end := s.besides(&tasks.Plan{}, spec, plays(t, c.turns))
			if end != nil || r.Final != "done" || p.Usable() != c.files {
				t.Errorf("%+v, %+v, usable %t", end, r, p.Usable())
			}
			state, _, err := savedsession.Read(s.opts.Dir, "a")
			if err != nil || !strings.Contains(state.Session.System, "root notes") {
				t.Errorf("%v: the system prompt lacks the notes", err)
			}
		})
	}
}

// What the user changes in their own tree during a session without calls is not the job's.
func TestChangesOfTheUserAreNotTheJobs(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Commit = nil
	p, _, end := s.besides(&tasks.Plan{}, spec, func(tasks.Job, string, opened.Notices) (opened.Conversation, error) {
		return opened.Conversation{Model: requestFunc(func(model.Request) (model.Response, error) {
			writeFile(t, filepath.Join(s.repo, "mine"), "x")
			return model.Response{Text: "done"}, nil
		})}, nil
	})
	if end != nil {
		t.Fatalf("%+v", end)
	}
	if found, err := p.Diff.Find(t.Context()); err != nil || len(found.Changes.Changes) != 0 {
		t.Errorf("%v, %+v", err, found)
	}
}

// The states of turns are saved without a search if only built-in tools wrote, and with one after a command.
func TestStatesOfTurns(t *testing.T) {
	for name, c := range map[string]struct {
		commit bool
		calls  []string
		want   string
	}{
		"files of tools":          {true, []string{"{tool: edit, args: {filePath: one, oldString: '0', newString: '1'}}"}, "one: 1"},
		"a command, then a tool":  {true, []string{"{tool: bash, args: {command: 'echo 2 > two'}}", "{tool: edit, args: {filePath: one, oldString: '0', newString: '1'}}"}, "one: 1, two: 2"},
		"in the user's own files": {false, []string{"{tool: edit, args: {filePath: one, oldString: '0', newString: '1'}}", "{tool: write, args: {filePath: two, content: '2'}}"}, "one: 1, two: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.commit(map[string]string{"one": "0\n"})
			spec := s.job("a")
			if !c.commit {
				spec.Commit = nil
			}
			var turns strings.Builder
			for _, call := range c.calls {
				turns.WriteString("  - calls: [" + call + "]\n")
			}
			s.kill = inCall("r1/a", len(c.calls)+1)
			s.besides(&tasks.Plan{}, spec, plays(t, turns.String()+"  - calls: [{tool: read, args: {filePath: one}}]\n"))
			s.next(history.Order{})
			p, _, end := s.works(&tasks.Plan{}, spec, "  - text: done\n")
			if got := filesIn(p.Dir, "one", "two"); end != nil || got != c.want {
				t.Errorf("%+v, %s", end, got)
			}
		})
	}
}

// A run whose budget is exceeded before the first request of a job has not started it: nothing was done.
func TestBudgetsEndAJob(t *testing.T) {
	const turns = "  - {calls: [{tool: bash, args: {command: 'true'}}], usage: {input: 20000}}\n  - {text: never, usage: {input: 20000}}\n"
	for name, c := range map[string]struct {
		run, job, spent money.USD
		code            event.Code
		turns           int
	}{
		"of the run before":   {100, 0, 100, event.CodeBudget, 0},
		"of the run":          {22000, 0, 0, event.CodeRunBudget, 1},
		"of the job":          {0, 22000, 0, event.CodeOverBudget, 1},
		"neither is exceeded": {1 << 40, 1 << 40, 0, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Limits.CostUSD = c.job
			s.uses.OpenModel = priced(plays(t, turns))
			j := s.begin(&tasks.Plan{Budget: tasks.Budget{CostUSD: c.run}}, spec)
			j.run.budget.SpentBefore(c.spent)
			r, end := s.session(j, s.prepared(j))
			if (end == nil) != (c.code == "") || end != nil && end.Code != c.code || r.Totals.Turns != c.turns {
				t.Errorf("%+v, %+v", end, r)
			}
		})
	}
}

// What earlier processes have spent counts for the limit of the job, unless it is started again.
func TestEarlierCostsCountForTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		order history.Order
		code  event.Code
	}{"resumed": {history.Order{}, event.CodeOverBudget}, "started again": {history.Order{Do: history.Start{}}, ""}} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Limits.CostUSD = 26000
			s.kill, s.uses.OpenModel = inCall("r1/a", 2), priced(plays(t, "  - {calls: [{tool: bash, args: {command: 'true'}}], usage: {input: 20000}}\n  - calls: [{tool: bash, args: {command: 'true'}}]\n"))
			s.works(&tasks.Plan{}, spec, "")
			s.next(c.order)
			s.uses.OpenModel = priced(plays(t, "  - {text: done, usage: {input: 1}}\n"))
			_, r, end := s.works(&tasks.Plan{}, spec, "")
			if (end == nil) != (c.code == "") || end != nil && end.Code != c.code || r.Totals.Cost.Least() < 20000 {
				t.Errorf("%+v, %+v", end, r)
			}
		})
	}
}

// Requests of the final message are separated from the output, and its text is the message without an output schema.
func TestStructuredResults(t *testing.T) {
	schema := map[string]any{"type": "object", "required": []any{"fixed"}}
	const asks = `"requests":[{"comment":"hi"}]`
	for name, c := range map[string]struct {
		job           tasks.Job
		last          session.End
		final, output string
		requests      int
	}{
		"a text":        {tasks.Job{}, session.End{Text: "done"}, "done", "", 0},
		"no text":       {tasks.Job{}, session.End{}, "before", "", 0},
		"an output":     {tasks.Job{Schema: schema}, session.End{Text: "{}", Output: json.RawMessage(`{}`)}, "{}", "{}", 0},
		"no document":   {tasks.Job{Requests: &tasks.Requests{}}, session.End{Text: "done"}, "done", "", 0},
		"with requests": {tasks.Job{Requests: &tasks.Requests{}}, session.End{Text: "x", Output: json.RawMessage(`{"message":"done",` + asks + `}`)}, "done", "", 1},
		"both":          {tasks.Job{Requests: &tasks.Requests{}, Schema: schema}, session.End{Text: "x", Output: json.RawMessage(`{"fixed":true,` + asks + `}`)}, `{"fixed":true}`, `{"fixed":true}`, 1},
	} {
		to := ending.Result{Final: "before", Requests: []event.ForgeRequest{{}}, Output: json.RawMessage("old")}
		Take(c.job, c.last, &to)
		if to.Final != c.final || string(to.Output) != c.output || len(to.Requests) != c.requests {
			t.Errorf("%s: %q, %s, %d requests", name, to.Final, to.Output, len(to.Requests))
		}
		_, message := FinalSchema(c.job)["properties"].(map[string]any)
		if (FinalSchema(c.job) == nil) != (c.job.Schema == nil && c.job.Requests == nil) || message != (c.job.Requests != nil) {
			t.Errorf("%s: schema %v", name, FinalSchema(c.job))
		}
	}
}

// Denied calls of the job's sessions are advice for its profile, those of an earlier process included.
func TestAdviceOnTheProfile(t *testing.T) {
	const denied, done = "  - calls: [{tool: write, args: {filePath: b, content: x}}]\n", "  - text: done\n"
	for name, killed := range map[string]bool{"of this process": false, "of the one before": true} {
		s := setUp(t)
		spec := s.job("a")
		spec.Profile, _ = permission.Preset("readonly")
		spec.Changing = true
		s.uses.OpenModel = plays(t, denied+done)
		if killed {
			s.kill = func(e event.Event) bool { return e.Type == event.CallUpdated && e.Call.Turn == 2 }
			s.works(&tasks.Plan{}, spec, denied+"  - calls: [{tool: read, args: {filePath: b}}]\n")
			s.next(history.Order{})
			s.uses.OpenModel = plays(t, done)
		}
		j := s.begin(&tasks.Plan{}, spec)
		if got := j.Advice(); got != "" {
			t.Errorf("%s, before the session: %s", name, got)
		}
		s.session(j, s.prepared(j))
		if got := j.Advice(); got != permission.CannotChange("readonly") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
