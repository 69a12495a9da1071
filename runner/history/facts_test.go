package history

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// The facts of a job follow from its events.
func TestFactsOfAJob(t *testing.T) {
	type facts struct {
		base, first, prompt, replacing, commit, remote string
		attempts, before, rebased, turns               int
		ended, commented                               bool
		spent                                          money.USD // in dollars
		seconds                                        int       // that the job has run
	}
	for name, want := range map[string]facts{
		"killed in a turn":             {base: "b0", first: "b0", prompt: "do", attempts: 1, turns: 1, spent: 2, seconds: 2},
		"killed between two attempts":  {base: "b0", first: "b0", prompt: "fix it", attempts: 2, turns: 1, spent: 1, seconds: 4},
		"killed before publish":        {base: "b0", first: "b0", prompt: "do", commit: "c1", attempts: 1, turns: 1, spent: 1, seconds: 4},
		"stopped":                      {base: "b0", first: "b0", prompt: "do", attempts: 1, before: 1, turns: 1, ended: true, spent: 1, seconds: 4},
		"skipped":                      {ended: true},
		"published":                    {base: "b0", first: "b0", prompt: "do", commit: "c1", remote: "origin", attempts: 1, before: 1, turns: 1, ended: true, commented: true, spent: 1, seconds: 7},
		"killed in a follow-up prompt": {base: "c1", first: "b0", prompt: "more", replacing: "c1", commit: "c1", remote: "origin", attempts: 2, before: 1, turns: 2, spent: 3, seconds: 9},
		"killed in a rebase":           {base: "m1", first: "b0", prompt: "rebase", replacing: "c1", commit: "c1", remote: "origin", attempts: 2, before: 1, rebased: 1, turns: 2, spent: 3, seconds: 9},
		"forked":                       {base: "b0"},
		"fork killed in a turn":        {base: "b0", first: "b0", prompt: "try", attempts: 1, turns: 3, spent: 2, seconds: 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := pastOf(t, name)
			f := p.Job("a")
			got := facts{
				base: f.Base(), first: f.First, prompt: f.Prompt, replacing: f.Replacing, remote: f.Published.Remote, attempts: f.Attempts, before: f.AttemptsBefore,
				rebased: f.Rebased, turns: f.LastTurn(), ended: f.End != nil, commented: f.Comment != nil, spent: f.Spent() / money.Dollar, seconds: int(f.Time() / time.Second),
			}
			if f.Commit != nil {
				got.commit = f.Commit.Hash
			}
			if got != want {
				t.Errorf("%+v,\nwant %+v", got, want)
			}
			if p.SpentBy("a") != f.Spent() || p.Spent() != f.Spent() || p.Attempts("a") != f.Attempts || p.Made("a", "c1") != (want.commit == "c1") {
				t.Errorf("the run: spent $%s, by the job $%s, attempts %d, made c1 %v", p.Spent(), p.SpentBy("a"), p.Attempts("a"), p.Made("a", "c1"))
			}
		})
	}
}

func TestAJobWithoutAPast(t *testing.T) {
	var none *Past
	f := none.Job("a")
	if f != nil || f.Base() != "" || f.Time() != 0 || f.FirstTree() != "" || none.Spent() != 0 || none.ForkedFrom() != nil {
		t.Errorf("%+v", f)
	}
	p := pastOf(t, "passed")
	if p.SpentBy("b") != 0 || p.Attempts("b") != 0 || p.Made("b", "c1") || p.Made("a", "") || p.Made("a", "c2") || p.ForkedFrom() != nil {
		t.Error("job b has a past")
	}
	if !pastOf(t, "published").Made("a", "c1") {
		t.Error("the job made its commit")
	}
}

// A commit that is only pushed, because an earlier process made it, is the run's too.
func TestPushedCommitsAreMade(t *testing.T) {
	if p := after(t, process(), publishes("c9")); !p.Made("a", "c9") {
		t.Error("the run has pushed c9")
	}
}

// The turns of a session that did not end are repeated, with their calls.
func TestTotalsOfASession(t *testing.T) {
	call := func(turn int, tool string, status event.CallStatus) event.Event {
		return event.Event{Type: event.CallUpdated, Session: "r/a", Call: &event.Call{Tool: tool, Turn: turn, Status: status}}
	}
	p := after(t, process(), asks(1), call(1, "read", event.CallPending), call(1, "read", event.CallRunning), call(1, "read", event.CallCompleted), call(1, "bash", event.CallDenied), call(1, "glob", event.CallError), answers(1),
		asks(2), call(2, "edit", event.CallCompleted))
	f := p.Job("a")
	s := f.Sessions["r/a"]
	sum, ended := s.Totals()
	if sum.Cost.Least() != money.Dollar || sum.Turns != 2 || sum.Calls != 3 || sum.Denied != 1 || sum.Usage.Input != 10 || ended != 1 {
		t.Errorf("%+v, %d", sum, ended)
	}
	tools := func() (names []string) {
		for _, c := range f.Called() {
			names = append(names, c.Tool)
		}
		return names
	}
	if got := tools(); !slices.Equal(got, []string{"read", "bash", "edit"}) {
		t.Errorf("called %q", got)
	}
	if s.Last() != 2 || s.Started(2).Number != 2 || !slices.Equal(s.Lost(0), []int{2}) || len(s.Lost(2)) != 0 {
		t.Errorf("last turn %d, lost %d", s.Last(), s.Lost(0))
	}
	if err := p.Emit(process()); err != nil {
		t.Fatal(err)
	}
	if got := tools(); !slices.Equal(got, []string{"read", "bash"}) {
		t.Errorf("the next process repeats the second turn, and has called %q", got)
	}
	f.Add(event.Event{Type: event.TurnEnded, Session: "r/a", Turn: &event.Turn{Number: 2}})
	if sum, ended = s.Totals(); ended != 2 || sum.Calls != 3 || sum.Cost.USD() != nil || len(s.Lost(0)) != 0 {
		t.Errorf("with the lost turn, whose cost is unknown: %+v, %d", sum, ended)
	}
}

// A request whose cost is unknown has cost what was reserved for it, or its estimate: as the budget of the process that made it.
func TestAnUnknownCostIsAsMuchAsWasReserved(t *testing.T) {
	two, three := 2*money.Dollar, 3*money.Dollar
	for name, c := range map[string]struct {
		started event.Turn
		ended   *event.Turn
		want    money.USD
	}{
		"lost":                        {event.Turn{Reserved: &three, Request: &money.Charge{CostUSD: &two}}, nil, three},
		"lost, without a limit":       {event.Turn{Request: &money.Charge{CostUSD: &three}}, nil, three},
		"lost, without a price":       {event.Turn{}, nil, 0},
		"ended":                       {event.Turn{Reserved: &three}, &event.Turn{CostUSD: &two}, two},
		"ended, with an unknown cost": {event.Turn{Reserved: &three}, &event.Turn{}, three},
	} {
		c.started.Number = 1
		events := []event.Event{process(), {Type: event.TurnStarted, Session: "r/a", Turn: &c.started}}
		if c.ended != nil {
			c.ended.Number = 1
			events = append(events, event.Event{Type: event.TurnEnded, Session: "r/a", Turn: c.ended})
		}
		if got := after(t, events...).Spent(); got != c.want {
			t.Errorf("%s: spent $%s, want $%s", name, got, c.want)
		}
	}
}

// Calls of a prompt, such as of a mentioned file, are those of turn 0, which has no request.
func TestCallsOfAPrompt(t *testing.T) {
	p := after(t, process(), event.Event{Type: event.CallUpdated, Session: "r/a", Call: &event.Call{Tool: "read", Status: event.CallCompleted}}, event.Event{Type: event.TurnEnded, Session: "r/a", Turn: &event.Turn{}})
	s := p.Job("a").Sessions["r/a"]
	if sum, ended := s.Totals(); sum.Turns != 0 || sum.Calls != 1 || sum.Cost.Least() != 0 || ended != 0 || len(s.Lost(0)) != 0 {
		t.Errorf("%+v, %d", sum, ended)
	}
}

// A fork has the past of the copied conversation, which costs nothing.
func TestFactsOfAFork(t *testing.T) {
	f := pastOf(t, "fork killed in a turn").Job("a")
	s := f.Sessions["r/a"]
	if sum, ended := s.Totals(); s.Copied != 2 || ended != 2 || sum.Turns != 1 {
		t.Errorf("copied %d turns, ended %d, sums %+v", s.Copied, ended, sum)
	}
	f.Add(event.Event{Type: event.FilesLeft, Left: &event.Left{By: "verify"}})
	if left := f.AllLeft(); len(left) != 2 || left[0].By != "setup" || left[1].By != "verify" {
		t.Errorf("left %+v", left)
	}
	if f.Children() != 3 || f.FirstTree() != "t2" || f.BaseAt("r/a", 2) != "b0" {
		t.Errorf("%d children, tree %q, base %q", f.Children(), f.FirstTree(), f.BaseAt("r/a", 2))
	}
	empty := process()
	empty.Run.ForkedFrom = &event.Fork{Job: "a", Base: "b"}
	if p := after(t, empty); len(p.Job("a").Sessions) != 0 || p.ForkedFrom() != empty.Run.ForkedFrom {
		t.Error("a fork from the first message has no conversation")
	}
}

// A session is forked at the base of the turn, which follow-up prompts change.
func TestBaseOfATurn(t *testing.T) {
	f := pastOf(t, "killed in a follow-up prompt").Job("a")
	for turn, want := range map[int]string{1: "b0", 2: "c1", 7: "c1", 0: "b0"} {
		if got := f.BaseAt("r/a", turn); got != want {
			t.Errorf("turn %d: %q, want %q", turn, got, want)
		}
	}
	if got := f.BaseAt("r/a-child", 2); got != "b0" {
		t.Errorf("of a session without turns: %q", got)
	}
	f.Add(event.Event{Type: event.TurnStarted, Session: "r/a-child-1", Turn: &event.Turn{Number: 1}})
	if f.Children() != 1 || len(f.AllLeft()) != 0 {
		t.Errorf("%d children", f.Children())
	}
}

// The tree of a job without a worktree is saved when it starts.
func TestTheFirstTreeIsThatOfTheStart(t *testing.T) {
	s := starts("b0", "")
	s.JobStart.Tree = "t0"
	if got := after(t, process(), s).Job("a").FirstTree(); got != "t0" {
		t.Errorf("%q", got)
	}
	if got := after(t, process(), attempt(1, "do")).Job("a").FirstTree(); got != "" {
		t.Errorf("of a job without a start: %q", got)
	}
}

// A revert counts until the session has continued.
func TestAReversionCountsUntilTheNextTurn(t *testing.T) {
	p := after(t, append(pasts()["passed"], process(), event.Event{Type: event.Reverted, Revert: &event.Revert{Turn: 1}})...)
	if r := p.Job("a").Reverted; r == nil || r.Turn != 1 {
		t.Fatalf("%+v", r)
	}
	p.Job("a").Add(asks(2))
	if p.Job("a").Reverted != nil {
		t.Error("the session has continued")
	}
}

// A rebase that was killed and is continued still has its own first turn.
func TestAContinuedRebase(t *testing.T) {
	p := after(t, append(pasts()["killed in a rebase"], answers(2), process(), starts("m1", "c1"), asks(3))...)
	if got := p.Job("a").Rebased; got != 1 {
		t.Errorf("rebased after turn %d", got)
	}
	p = after(t, append(pasts()["killed in a rebase"], ends(event.Passed, ""), process(), starts("m2", "c2"))...)
	if got := p.Job("a").Rebased; got != 2 {
		t.Errorf("another rebase: after turn %d", got)
	}
}

func TestFinalMessageAndBaseline(t *testing.T) {
	info := func(parent, text string) event.Event {
		return event.Event{Type: event.SessionEnded, SessionInfo: &event.Session{Parent: parent, FinalText: text}}
	}
	f := after(t, process(), info("", "done"), info("r/a", "found it"), event.Event{Type: event.BaselineEnded, Baseline: &event.Baseline{Name: "test"}}).Job("a")
	if f.Final != "done" || f.Baseline["test"].Name != "test" {
		t.Errorf("%q, %v", f.Final, f.Baseline)
	}
	if f.Add(posts()); f.Comment == nil {
		t.Error("the comment was posted")
	}
	if f.Add(attempt(2, "more")); f.Comment != nil {
		t.Error("the comment has the message of an earlier attempt")
	}
}

// The time of a run is that of its processes, without the time between them.
func TestTimeOfARun(t *testing.T) {
	p := &Past{}
	at := func(second int, e event.Event) {
		e.Seq, e.Time = int64(second), began.Add(time.Duration(second)*time.Second)
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	ended := event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{ExitCode: 4}}
	work := event.Event{Type: event.PhaseStarted, Job: "a"}
	at(0, process())
	at(1, work)
	at(3, work)
	at(4, ended)
	if !p.Ended || p.Reopened() || p.Ending.ExitCode != 4 {
		t.Errorf("ended %v, reopened %v, %+v", p.Ended, p.Reopened(), p.Ending)
	}
	at(100, process())
	at(105, work)
	if p.Ended || !p.Reopened() || p.Ending != nil {
		t.Errorf("killed after it was continued: ended %v, reopened %v, %+v", p.Ended, p.Reopened(), p.Ending)
	}
	at(110, work)
	p.Close()
	p.Close() // adds nothing
	if p.Elapsed != 14*time.Second || p.Job("a").Time() != 7*time.Second || p.Last.Seq != 110 || p.Run.ID != "r" {
		t.Errorf("the run has taken %s, its job %s; last event %d", p.Elapsed, p.Job("a").Time(), p.Last.Seq)
	}
}

// The hunks are those of the last attempt; its trials are known whichever attempt made them.
func TestFactsHaveTheTrialsAndTheLastHunks(t *testing.T) {
	p := &Past{}
	attempt := func(n int) event.Event {
		return event.Event{Type: event.AttemptStarted, Job: "a", Attempt: &event.Attempt{Number: n}}
	}
	for _, e := range []event.Event{
		attempt(1),
		{Type: event.TrialEnded, Job: "a", Trial: &event.Trial{Key: "k", Failed: []string{"tests"}}},
		{Type: event.AblationEnded, Job: "a", Hunks: &event.Hunks{Needed: 1}},
		attempt(2),
	} {
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	j := p.Job("a")
	if j.Hunks != nil || len(j.Trials) != 1 || j.Trials["k"].Failed[0] != "tests" {
		t.Errorf("got %+v, %+v", j.Hunks, j.Trials)
	}
}

func TestAConversationIsWatchedIfAllItsProcessesWatchIt(t *testing.T) {
	start := func(w *event.Watched) event.Event {
		return event.Event{Type: event.JobStarted, JobStart: &event.JobStart{Watched: w}}
	}
	attempt := event.Event{Type: event.AttemptStarted, Session: "r/a", Attempt: &event.Attempt{Number: 1}}
	turn := event.Event{Type: event.TurnStarted, Session: "r/a", Turn: &event.Turn{Number: 1}}
	both, one, none := &event.Watched{Files: []string{"a", "b"}}, &event.Watched{Files: []string{"a"}}, (*event.Watched)(nil)
	for name, c := range map[string]struct {
		fork   *event.Fork
		events []event.Event
		want   bool // the next process has to know that something may have been read
	}{
		"not started":                    {nil, nil, false},
		"without a turn":                 {nil, []event.Event{start(none)}, false},
		"not watched":                    {nil, []event.Event{start(none), attempt, turn}, true},
		"watched":                        {nil, []event.Event{start(both), attempt, turn}, false},
		"with fewer files":               {nil, []event.Event{start(one), attempt, turn}, true},
		"not watched at first":           {nil, []event.Event{start(none), attempt, turn, start(both), turn}, true},
		"not watched later":              {nil, []event.Event{start(both), attempt, turn, start(none), turn}, true},
		"with fewer files later":         {nil, []event.Event{start(both), attempt, turn, start(one), turn}, true},
		"started again":                  {nil, []event.Event{start(none), attempt, turn, start(both), attempt, turn}, false},
		"a fork":                         {&event.Fork{}, nil, true},
		"a fork of a watched one":        {&event.Fork{Watched: both}, nil, false},
		"a fork of one with fewer files": {&event.Fork{Watched: one}, []event.Event{start(both), attempt, turn}, true},
		"a fork that is not watched":     {&event.Fork{Watched: both}, []event.Event{start(none), attempt, turn}, true},
	} {
		j := &Facts{Fork: c.fork, Sessions: map[string]*Session{}}
		for _, e := range c.events {
			j.Add(e)
		}
		if got := j.Unwatched([]string{"a", "b"}); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// A turn that a kill interrupted has the cost that its start has estimated, and nothing is known without an estimate.
func TestALostTurn(t *testing.T) {
	usd := money.USD(7)
	charge := &money.Charge{Usage: money.Usage{Input: 3}, CostUSD: &usd}
	got := LostTurn(event.Turn{Number: 4, Request: charge})
	want := event.Turn{Number: 4, Error: "the run was killed before the turn was complete", Usage: &charge.Usage, CostUSD: &usd, Lost: charge}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := LostTurn(event.Turn{Number: 1}); got.Usage != nil || got.Lost != nil || got.Number != 1 {
		t.Errorf("%+v", got)
	}
}
