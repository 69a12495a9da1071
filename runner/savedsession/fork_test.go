package savedsession

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// saved returns a report directory with the session of job a, a prompt and a response, and what the run r did.
func saved(t *testing.T) (dir string, past *history.Past) {
	t.Helper()
	var b bytes.Buffer
	w := journal.NewWriter(&b, time.Now, func(line []byte) []byte { return line }, func(err error) { t.Error(err) })
	w.Session(journal.Session{ID: "r/a", Job: "a"})
	w.Message(journal.Message{ID: "m1", Message: model.Message{Role: model.User, Text: "go"}})
	w.Message(journal.Message{ID: "m2", Turn: 1, Response: &event.Turn{Number: 1, Finish: "stop"}, Message: model.Message{Role: model.Assistant, Text: "done"}})
	w.Turn(journal.Turn{Number: 1, After: "m2"})
	dir = t.TempDir()
	write(t, filepath.Join(dir, Path("a")), b.String())
	past = &history.Past{}
	for i, e := range []event.Event{
		{Type: event.RunStarted, Run: &event.Run{ID: "r"}},
		{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Base: "b1"}},
		{Type: event.SessionStarted, Job: "a", Session: "r/a", SessionInfo: &event.Session{}},
		{Type: event.TurnStarted, Job: "a", Session: "r/a", Turn: &event.Turn{Number: 1}},
		{Type: event.TurnEnded, Job: "a", Session: "r/a", Turn: &event.Turn{Number: 1}},
		{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Passed}},
	} {
		e.Seq, e.Time = int64(i+1), time.Unix(int64(i), 0)
		if err := past.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	return dir, past
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAForkStartsFromAMessageThatExists(t *testing.T) {
	dir, past := saved(t)
	for name, c := range map[string]struct {
		job, message, prompt, want string
	}{
		"another job":     {"b", "m1", "", "job b has no session"},
		"no message":      {"a", "m9", "", "use one of m1, m2 (millhand session show r a prints them)"},
		"the end":         {"a", "m2", "", "message m2 ends the conversation: continue it with --prompt PROMPT"},
		"the end, asked":  {"a", "m2", "more", ""},
		"the first":       {"a", "m1", "", ""},
		"the first, else": {"a", "m1", "go on", ""},
	} {
		f, err := NewFork(past, Request{Dir: dir, Job: c.job, Message: c.message, Prompt: c.prompt})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && (f.Job() != "a" || f.from.Base != "b1" || f.from.Prompt != c.prompt) {
			t.Errorf("%s: %+v", name, f.from)
		}
	}
}

func TestAForkHasTheConversationUnderItsOwnName(t *testing.T) {
	from, past := saved(t)
	f, err := NewFork(past, Request{Dir: from, Job: "a", Message: "m2", Prompt: "more"})
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	dir, err := files.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	write(t, filepath.Join(from, States, "x"), "")
	if err := f.Write(dir, "r2", func(line []byte) []byte { return bytes.ReplaceAll(line, []byte("done"), []byte("[redacted]")) }); err != nil {
		t.Fatal(err)
	}
	state, torn, err := Read(dir, "a")
	if err != nil || torn > 0 || state.Session.ID != "r2/a" || len(state.Messages) != 2 || state.Messages[1].Text != "[redacted]" {
		t.Errorf("%v, %d, %+v", err, torn, state)
	}
	run, err := f.History("r2")
	if from := run.Past.ForkedFrom(); err != nil || from == nil || from.Message != "m2" || from.Run != "r" {
		t.Errorf("%v, %+v", err, from)
	}
}

func TestAForkHasABranchOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		commit *tasks.Commit
		want   string
	}{
		"no commit":          {nil, "millhand/a-fork-1"},
		"a branch":           {&tasks.Commit{Branch: "fix"}, "fix-fork-1"},
		"the user's current": {&tasks.Commit{Branch: tasks.CurrentBranch}, "millhand/a-fork-1"},
	} {
		past := &history.Past{}
		if err := past.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: "r2", ForkedFrom: &event.Fork{Run: "r", Job: "a"}}}); err != nil {
			t.Fatal(err)
		}
		plan := &tasks.Plan{Jobs: []tasks.Job{{ID: "b"}, {ID: "a", Commit: c.commit, Needs: []string{"b"}}}}
		plan, err := Narrow(plan, past)
		if err != nil {
			t.Fatal(err)
		}
		j := plan.Jobs[0]
		if len(plan.Jobs) != 1 || j.Commit.Branch != c.want || j.Commit.IfExists != tasks.FailIfExists || j.Needs != nil {
			t.Errorf("%s: %+v", name, plan.Jobs)
		}
		if c.commit != nil && c.commit.IfExists != "" {
			t.Errorf("%s: the job of the other run was changed", name)
		}
	}
	gone := &history.Past{}
	if err := gone.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ForkedFrom: &event.Fork{Job: "a"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Narrow(&tasks.Plan{}, gone); err == nil {
		t.Error("a job that is not in the plan was found")
	}
}

func TestAForkTakesTheNextFreeBranch(t *testing.T) {
	taken := errors.Join(&preflight.Refusal{Job: "a", Code: event.CodeBranchExists, Err: errors.New("exists")})
	plan := func(branch string) *tasks.Plan {
		return &tasks.Plan{Jobs: []tasks.Job{{ID: "a", Commit: &tasks.Commit{Branch: branch}}}}
	}
	p := plan("a-fork-2-fork-9")
	f := &Fork{}
	if next, ok := f.NextBranch(p, taken); !ok || next.Jobs[0].Commit.Branch != "a-fork-2-fork-10" || f.from.Branch != "a-fork-2-fork-10" {
		t.Errorf("%+v", next)
	}
	if p.Jobs[0].Commit.Branch != "a-fork-2-fork-9" {
		t.Error("the plan that was refused is changed")
	}
	other := errors.Join(&preflight.Refusal{Job: "a", Code: event.CodeBase, Err: errors.New("gone")})
	for name, c := range map[string]struct {
		fork    *Fork
		branch  string
		refused error
	}{
		"a given name":   {&Fork{named: true}, "a-fork-1", taken},
		"another reason": {&Fork{}, "a-fork-1", other},
		"too many":       {&Fork{}, "a-fork-99", taken},
		"no fork":        {nil, "a-fork-1", taken},
	} {
		if next, ok := c.fork.NextBranch(plan(c.branch), c.refused); ok {
			t.Errorf("%s: took the next, %+v", name, next)
		}
	}
}

func TestATurnThatDoesNotExistIsAnsweredWithThoseThatDo(t *testing.T) {
	dir, past := saved(t)
	if _, err := RevertTo(past, dir, "a", 7); err == nil || !strings.Contains(err.Error(), "use 0 for the state before the agent, or one of 1") {
		t.Error(err)
	}
}

func TestAnIncompleteLineIsCut(t *testing.T) {
	name, _ := saved(t)
	file := filepath.Join(name, Path("a"))
	complete, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(complete)+`{"type":"mess`)
	dir, err := files.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	_, torn, err := Read(dir, "a")
	if err != nil || torn == 0 {
		t.Fatal(torn, err)
	}
	if err := Cut(dir, "a", torn); err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, complete) {
		t.Errorf("%v: %s", err, now)
	}
	if state, _, err := Read(dir, "none"); state != nil || err != nil {
		t.Errorf("a missing session: %v, %v", state, err)
	}
}
