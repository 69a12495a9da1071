package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// twoFiles writes two files in two turns, of which the second also reads the first.
const twoFiles = `  - {calls: [{tool: write, args: {filePath: one, content: "1"}}], usage: {input: 10}}
  - {calls: [{tool: bash, args: {command: cat one; echo 2 > two}}], usage: {input: 20}}
`

// turnsOf lists the turns that ended in a process: their numbers, and "lost" for those that a kill interrupted.
func (s *stage) turnsOf() string {
	var all []string
	for _, e := range s.of(event.TurnEnded) {
		text := fmt.Sprint(e.Turn.Number)
		if strings.Contains(e.Turn.Error, "the run was killed") {
			text += " lost"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// promptsOf lists the attempts that started in a process, with the first lines of their prompts.
func (s *stage) promptsOf() string {
	var all []string
	for _, e := range s.of(event.AttemptStarted) {
		line, _, _ := strings.Cut(e.Attempt.Prompt, "\n")
		all = append(all, fmt.Sprintf("%d %s", e.Attempt.Number, line))
	}
	return strings.Join(all, ", ")
}

// A job continues where it was killed: what was done and paid is not repeated, and what was not saved is.
func TestAKilledJobContinues(t *testing.T) {
	for name, c := range map[string]struct {
		kill        func(event.Event) bool
		verify      string
		later       string // turns of the model in the second process
		attempts    int
		prompts     string // of the second process
		turns       string // likewise
		sum         int
		input       int64
		final, left string
	}{
		"before its session": {
			kill: first(event.JobStarted), later: `  - {expect: ["Go[.]"], text: done, usage: {input: 1}}`,
			attempts: 1, prompts: "1 Go.", turns: "1", sum: 1, input: 1, final: "done",
		},
		"in the first request": {
			kill: first(event.TurnStarted), later: `  - {expect: ["Go[.]"], text: done, usage: {input: 1}}`,
			attempts: 1, turns: "1 lost, 2", sum: 2, input: -1, final: "done",
		},
		"in a call": {
			kill: inCall("r1/a", 2), later: `  - {expect: ["^1"], text: done, usage: {input: 1}}`,
			attempts: 1, turns: "2, 3", sum: 3, input: 31, final: "done", left: "one: 1, two: 2",
		},
		"in verify, after the last response": {
			kill: first(event.VerifyEnded), verify: "true", later: "  - text: never",
			attempts: 1, sum: 3, input: 33, final: "first", left: "one: 1, two: 2",
		},
		"before the prompt of another attempt": {
			kill: func(e event.Event) bool { return e.Type == event.AttemptStarted && e.Attempt.Number == 2 }, verify: "test -e three",
			later:    `  - {expect: ["verify commands of the task failed"], calls: [{tool: write, args: {filePath: three, content: "3"}}]}` + "\n  - text: done",
			attempts: 2, prompts: "2 The verify commands of the task failed on your changes. Find the cause, fix it, and finish again.", turns: "4, 5", sum: 5, input: 33, final: "done", left: "one: 1, two: 2, three: 3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.commit(map[string]string{"base": "0"})
			spec := s.job("a")
			spec.Attempts = 2
			if c.verify != "" {
				spec.Verify = []tasks.Verify{checks("v", c.verify)}
			}
			s.kill = c.kill
			s.works(&tasks.Plan{}, spec, twoFiles+"  - {text: first, usage: {input: 3}}\n")
			s.next(history.Order{})
			p, r, end := s.works(&tasks.Plan{}, spec, c.later+"\n")
			if end != nil || r.Attempts != c.attempts || r.Final != c.final || r.Totals.Turns != c.sum || !p.Touched {
				t.Errorf("%+v, %+v", end, r)
			}
			if c.input >= 0 && r.Totals.Usage.Input != c.input {
				t.Errorf("%d tokens, want %d", r.Totals.Usage.Input, c.input)
			}
			if got := s.promptsOf(); got != c.prompts {
				t.Errorf("attempts %q, want %q", got, c.prompts)
			}
			if got := s.turnsOf(); got != c.turns {
				t.Errorf("turns %q, want %q", got, c.turns)
			}
			if got := filesIn(p.Dir, "one", "two", "three"); got != c.left {
				t.Errorf("files %q, want %q", got, c.left)
			}
		})
	}
}

// What verify left before a kill is in the state that is restored, and is no change of the job.
func TestFilesThatVerifyLeftBeforeAKillAreNotTheJobs(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Attempts, spec.Verify = 2, []tasks.Verify{checks("v", "echo x > log; test -e two")}
	spec.Change = tasks.Change{Paths: []string{"one", "two"}}
	s.kill = inCall("r1/a", 3)
	s.works(&tasks.Plan{}, spec, "  - calls: [{tool: write, args: {filePath: one, content: '1'}}]\n  - text: first\n  - calls: [{tool: write, args: {filePath: two, content: '2'}}]\n  - text: never\n")
	s.next(history.Order{})
	p, r, end := s.works(&tasks.Plan{}, spec, "  - text: second\n")
	if end != nil || r.Attempts != 2 || r.Final != "second" {
		t.Errorf("%+v, %+v", end, r)
	}
	if got := filesIn(p.Dir, "one", "two", "log"); got != "one: 1, two: 2, log: x" {
		t.Errorf("files %q", got)
	}
}

// A job that is started again has another conversation. What it has done only has its cost, with the usage of a response that
// was saved before the kill.
func TestAJobStartedAgainHasAnotherConversation(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	s.kill = inCall("r1/a", 2)
	s.works(&tasks.Plan{}, spec, twoFiles)
	s.next(history.Order{Do: history.Start{}})
	p, r, end := s.works(&tasks.Plan{}, spec, `  - {expect: ["^Go[.]$"], text: again, usage: {input: 1}}`+"\n")
	if end != nil || r.Attempts != 1 || r.Totals.Turns != 3 || r.Totals.Usage.Input != 31 || s.turnsOf() != "2 lost, 3" || s.promptsOf() != "1 Go." {
		t.Errorf("%+v, %+v, turns %s, prompts %s", end, r, s.turnsOf(), s.promptsOf())
	}
	if got := filesIn(p.Dir, "one", "two"); got != "" {
		t.Errorf("files of the first conversation: %s", got)
	}
	state, _, err := savedsession.Read(s.opts.Dir, "a")
	if err != nil || len(state.Messages) != 2 {
		t.Errorf("%v, %+v", err, state)
	}
}

// The last line of a journal is incomplete if its process was killed while it wrote it.
func TestAnIncompleteLineOfASession(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	s.kill = inCall("r1/a", 2)
	s.works(&tasks.Plan{}, spec, twoFiles)
	s.next(history.Order{})
	s.breakJournal("a", `{"type":"mess`)
	if _, _, end := s.works(&tasks.Plan{}, spec, "  - text: done\n"); end != nil {
		t.Fatalf("%+v", end)
	}
	if got := s.warnings(); got != "the last line of sessions/a.jsonl is incomplete (13 bytes) and was removed" {
		t.Errorf("warnings: %s", got)
	}
	if state, torn, err := savedsession.Read(s.opts.Dir, "a"); err != nil || torn != 0 || state.Messages[len(state.Messages)-1].Text != "done" {
		t.Errorf("%v, %d, %+v", err, torn, state)
	}
}

// Another prompt continues the conversation and the files of a job that has ended, and has attempts of its own.
func TestAFollowUpPrompt(t *testing.T) {
	for name, c := range map[string]struct {
		revert *event.Revert
		later  string
		left   string
		turns  string
	}{
		"after the end":  {nil, `  - {expect: ["^More[.]$"], calls: [{tool: bash, args: {command: cat two}}]}` + "\n  - {expect: [\"^2\"], text: second}\n", "one: 1, two: 2", "4, 5"},
		"after a revert": {&event.Revert{Turn: 1}, `  - {expect: ["More[.]$"], text: second}` + "\n", "one: 1", "4"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			s.works(&tasks.Plan{}, spec, twoFiles+"  - text: first\n")
			if c.revert != nil {
				s.opts.Emit(event.Event{Type: event.Reverted, Job: "a", Revert: c.revert})
			}
			s.next(history.Order{Do: history.FollowUp{Prompt: "More."}, Job: "a"})
			spec.Verify = []tasks.Verify{checks("v", "test -e two")}
			p, r, end := s.works(&tasks.Plan{}, spec, c.later)
			if failed := c.revert != nil; r.Attempts != 2 || r.Final != "second" || (end != nil) != failed {
				t.Errorf("%+v, %+v", end, r)
			}
			if got := s.promptsOf(); got != "2 More." {
				t.Errorf("attempts %q", got)
			}
			if got := s.turnsOf(); got != c.turns {
				t.Errorf("turns %q, want %q", got, c.turns)
			}
			if got := filesIn(p.Dir, "one", "two"); got != c.left {
				t.Errorf("files %q, want %q", got, c.left)
			}
		})
	}
}

// A fork continues a conversation of another run with the files of its turn.
func TestAForkContinuesACopy(t *testing.T) {
	for name, c := range map[string]struct {
		message, prompt string
		later           string
		prompts, left   string
	}{
		"after a turn":         {"m3", "", "  - {expect: [\"Created one\"], text: other}\n", "1 ", "one: 1"},
		"with another prompt":  {"m3", "Else.", "  - {expect: [\"Else[.]$\"], text: other}\n", "1 Else.", "one: 1"},
		"from its own prompt":  {"m1", "", "  - {expect: [\"^Go[.]$\"], text: other}\n", "1 Go.", ""},
		"from a better prompt": {"m1", "Go on.", "  - {expect: [\"^Go on[.]$\"], text: other}\n", "1 Go on.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			s.works(&tasks.Plan{}, spec, twoFiles+"  - text: first\n")
			s.fork(savedsession.Request{Message: c.message, Prompt: c.prompt})
			p, r, end := s.works(&tasks.Plan{}, spec, c.later)
			if end != nil || r.Attempts != 1 || r.Final != "other" || r.Totals.Turns != 1 {
				t.Errorf("%+v, %+v", end, r)
			}
			if got := s.promptsOf(); got != c.prompts {
				t.Errorf("attempts %q, want %q", got, c.prompts)
			}
			if got := filesIn(p.Dir, "one", "two"); got != c.left {
				t.Errorf("files %q, want %q", got, c.left)
			}
		})
	}
}

// fork makes the next process that of a fork of the run.
func (s *stage) fork(q savedsession.Request) {
	s.t.Helper()
	s.next(history.Order{})
	q.Dir, q.Job = s.opts.Dir.Path(), "a"
	f, err := savedsession.NewFork(s.past, q)
	if err != nil {
		s.t.Fatal(err)
	}
	s.opts.RunID, s.opts.Dir = "r2", s.reports(s.t.TempDir())
	if err := f.Write(s.opts.Dir, "r2", func(line []byte) []byte { return line }); err != nil {
		s.t.Fatal(err)
	}
	if s.opts.History, err = f.History("r2"); err != nil {
		s.t.Fatal(err)
	}
}

func TestAForkWithoutItsSavedFiles(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	s.works(&tasks.Plan{}, spec, twoFiles+"  - text: first\n")
	s.fork(savedsession.Request{Message: "m3"})
	s.loseStates()
	_, r, end := s.works(&tasks.Plan{}, spec, "  - text: never\n")
	if end == nil || end.Code != event.CodeRepository || end.Detail != "the files of turn 1 can't be restored: objects of their saved state are missing" || r.Totals.Turns != 0 {
		t.Errorf("%+v, %+v", end, r)
	}
}

// The user may have changed files of their own tree since the kill: they are copied before the state of the last turn replaces them.
func TestAResumedJobInTheUsersTree(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{"one": "0"})
	spec := s.job("a")
	spec.Commit = nil
	s.kill = inCall("r1/a", 2)
	s.works(&tasks.Plan{}, spec, twoFiles)
	s.next(history.Order{})
	writeFile(t, filepath.Join(s.repo, "one"), "mine")
	_, _, end := s.works(&tasks.Plan{}, spec, `  - {expect: ["^1"], text: done}`+"\n")
	if got := filesIn(s.repo, "one", "two"); end != nil || got != "one: 1, two: 2" {
		t.Errorf("%+v, %s", end, got)
	}
	if got := filesIn(s.opts.Dir.Path(), "replaced/a/one"); got != "replaced/a/one: mine" || !strings.Contains(s.warnings(), "the replaced files are in ") {
		t.Errorf("copied %q; %s", got, s.warnings())
	}
}

// A script that a job has tried is not run again, and the session continues in its stead.
func TestAFollowUpOfAScript(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Script = tasks.NewTaskScript("s.sh", []byte("echo 1 > one"))
	if _, r, end := s.works(&tasks.Plan{}, spec, "  - text: never\n"); end != nil || r.Attempts != 0 {
		t.Fatalf("%+v, %+v", end, r)
	}
	s.opts.Emit(event.Event{Type: event.Committed, Job: "a", Commit: &event.Commit{Hash: git(t, s.repo, "rev-parse", "HEAD")}})
	s.next(history.Order{Do: history.FollowUp{Prompt: "More."}, Job: "a"})
	_, r, end := s.works(&tasks.Plan{}, spec, "  - {expect: [\"^A script has done this task, without a model, and its changes are committed:\\n\\nGo[.]\\n\\nMore[.]$\"], text: done}\n")
	if end != nil || r.Attempts != 1 || len(s.of(event.ScriptEnded)) != 0 {
		t.Errorf("%+v, %+v", end, r)
	}
}

// A job is rebased by a follow-up prompt in a worktree of the new base, to which its changes are applied. Conflict markers that
// are left are a fault.
func TestARebasedJob(t *testing.T) {
	for name, c := range map[string]struct {
		own, base map[string]string
		attempts  int
		later     string
		left      string
		end       string
	}{
		"without a conflict": {map[string]string{"new": "1\n"}, map[string]string{"f": "2\n"}, 1, "  - text: done\n", "f: 2, new: 1", ""},
		"resolved": {
			map[string]string{"f": "1\n"},
			map[string]string{"f": "2\n"},
			2,
			"  - text: done\n  - {expect: [\"Conflict markers are left in f[.] Resolve\"], calls: [{tool: bash, args: {command: echo 3 > f}}]}\n  - text: done\n", "f: 3", "",
		},
		"not resolved": {map[string]string{"f": "1\n", "g/h": "1\n"}, map[string]string{"f": "2\n", "g/h": "2\n"}, 1, "  - text: done\n", "-", "conflict markers are left in f, g/h"},
		"deleted":      {map[string]string{"f": "1\n"}, map[string]string{"f": "2\n"}, 1, "  - calls: [{tool: bash, args: {command: rm f}}]\n  - text: done\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			before := s.commit(map[string]string{"f": "0\n", "g/h": "0\n"})
			git(t, s.repo, "checkout", "-q", "-b", "own")
			commit := s.commit(c.own)
			git(t, s.repo, "checkout", "-q", "main")
			s.commit(c.base)
			spec := s.job("a")
			spec.Attempts = c.attempts
			s.uses.OpenModel = plays(t, c.later)
			j := s.begin(&tasks.Plan{}, spec)
			j.Start.Onto = preflight.Rebase{Commit: commit, Before: before}
			j.History = history.Job{Facts: &history.Facts{}, Intent: history.Rebase{FollowUp: history.FollowUp{Prompt: "Rebase."}}}
			p := s.prepared(j)
			r, end := s.session(j, p)
			if (end == nil) != (c.end == "") || end != nil && (end.Detail != c.end || end.Code != event.CodeFailed) || r.Attempts != c.attempts {
				t.Errorf("%+v, %+v", end, r)
			}
			if got := filesIn(p.Dir, "f", "new"); c.left != "-" && got != c.left {
				t.Errorf("files %q, want %q", got, c.left)
			}
		})
	}
}

// The saved states of the turns before a rebase have another base: they are not restored.
func TestStatesFromBeforeARebase(t *testing.T) {
	saved := func(turns ...int) *continuation {
		state := &journal.State{Turns: []journal.Turn{{Number: 1}}}
		for _, number := range turns {
			state.Turns = append(state.Turns, journal.Turn{Number: number, Tree: "t"})
		}
		return &continuation{state: state}
	}
	onto := preflight.Rebase{Commit: "c", Turn: 2}
	for name, c := range map[string]struct {
		onto    preflight.Rebase
		rebased int // by an earlier process, after this turn; 0 if it was not
		from    *continuation
		want    bool
	}{
		"no rebase":                       {from: saved(2)},
		"a rebase":                        {onto: onto, from: saved(2), want: true},
		"a rebase of a new session":       {onto: onto, want: true},
		"killed after a turn of a rebase": {onto: onto, from: saved(2, 3)},
		"resumed in an earlier one":       {rebased: 2, from: saved(1, 2), want: true},
		"resumed after a turn of it":      {rebased: 2, from: saved(3)},
	} {
		j := &Job{Job: &site.Job{Start: preflight.Start{Onto: c.onto}}}
		if c.rebased > 0 {
			j.History.Facts = &history.Facts{Rebased: c.rebased}
		}
		if got := rebasedAfter(j, c.from); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A response is found although its message was removed from the conversation later.
func TestTheResponseOfATurnIsInTheHistory(t *testing.T) {
	at := func(number int, finish string) journal.Entry {
		return journal.Entry{Message: &journal.Message{Message: model.Message{Role: model.Assistant}, Response: &event.Turn{Number: number, Finish: finish}}}
	}
	state := &journal.State{History: []journal.Entry{at(1, "first"), {Turn: &journal.Turn{Number: 2}}, {Message: &journal.Message{}}, at(2, "old"), at(2, "repeated")}}
	for turn, want := range map[int]string{1: "first", 2: "repeated", 3: ""} {
		got := ""
		if r := responseOf(state, turn); r != nil {
			got = r.Finish
		}
		if got != want {
			t.Errorf("turn %d: %q, want %q", turn, got, want)
		}
	}
	if responseOf(nil, 1) != nil {
		t.Error("a response without a journal")
	}
}

// A journal that can't be read ends the job: nothing is asked again that may have been done.
func TestAJournalThatCantBeRead(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	s.kill = inCall("r1/a", 2)
	s.works(&tasks.Plan{}, spec, twoFiles)
	s.next(history.Order{})
	s.breakJournal("a", "broken\n")
	_, _, end := s.works(&tasks.Plan{}, spec, "  - text: never\n")
	if end == nil || end.Code != event.CodeInternal || !strings.HasPrefix(end.Detail, "resume the job: sessions/a.jsonl: read the session, line ") || len(s.of(event.TurnStarted)) != 0 {
		t.Errorf("%+v", end)
	}
}

// The calls of a turn whose saved files are lost are repeated, without another request.
func TestATurnWithoutItsSavedFiles(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	s.kill = inCall("r1/a", 2)
	s.works(&tasks.Plan{}, spec, twoFiles)
	s.next(history.Order{})
	s.loseStates()
	p, r, end := s.works(&tasks.Plan{}, spec, `  - {expect: ["Created one"], calls: [{tool: bash, args: {command: ls}}]}`+"\n  - {text: done}\n")
	if end != nil || r.Attempts != 1 || s.turnsOf() != "2 lost, 3, 4" || filesIn(p.Dir, "one", "two") != "one: 1" {
		t.Errorf("%+v, %+v, turns %s, files %s", end, r, s.turnsOf(), filesIn(p.Dir, "one", "two"))
	}
}

// loseStates removes the saved states of worktrees.
func (s *stage) loseStates() {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.opts.Dir.Path(), filepath.FromSlash(savedsession.States))); err != nil {
		s.t.Fatal(err)
	}
}

// The files that the next model started from can't be restored: the job ends instead of working on others.
func TestAnEscalatedJobWithoutItsSavedFiles(t *testing.T) {
	s := setUp(t)
	spec := s.escalates()
	s.uses.OpenModel, s.kill = casts(t, map[string]string{"script:x": writesOne, "script:y": writesTwo}), first(event.ModelEscalated)
	s.works(&tasks.Plan{}, spec, "")
	s.next(history.Order{})
	s.loseStates()
	if _, _, end := s.works(&tasks.Plan{}, spec, ""); end == nil || end.Code != event.CodeRepository || len(s.of(event.TurnStarted)) != 0 {
		t.Errorf("%+v", end)
	}
}
