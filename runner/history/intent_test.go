package history

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// began is when the events of tests start; there is one each second.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// after folds events of job a of run r. An event without a job's payload is of the run.
func after(t *testing.T, all ...event.Event) *Past {
	t.Helper()
	p := &Past{}
	for i, e := range all {
		e.Seq, e.Time = int64(i+1), began.Add(time.Duration(i)*time.Second)
		if e.Type != event.RunStarted && e.Type != event.RunEnded {
			e.Job = "a"
		}
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func process() event.Event { return event.Event{Type: event.RunStarted, Run: &event.Run{ID: "r"}} }

func starts(base, onto string) event.Event {
	return event.Event{Type: event.JobStarted, JobStart: &event.JobStart{
		Base: base, Onto: onto, Landing: &event.Landing{PullRequest: &event.PullRequestSpec{Base: "main"}},
	}}
}

func attempt(number int, prompt string) event.Event {
	return event.Event{Type: event.AttemptStarted, Session: "r/a", Attempt: &event.Attempt{Number: number, Prompt: prompt}}
}

func asks(number int) event.Event {
	reserved := 2 * money.Dollar
	return event.Event{Type: event.TurnStarted, Session: "r/a", Turn: &event.Turn{Number: number, Reserved: &reserved}}
}

func answers(number int) event.Event {
	cost := money.Dollar
	return event.Event{Type: event.TurnEnded, Session: "r/a", Turn: &event.Turn{Number: number, CostUSD: &cost, Usage: &money.Usage{Input: 10, Output: 1}}}
}

func commits(hash string) event.Event {
	return event.Event{Type: event.Committed, Commit: &event.Commit{Hash: hash, Branch: "b"}}
}

func publishes(hash string) event.Event {
	return event.Event{Type: event.CommitPublished, Published: &event.Published{Hash: hash, Remote: "origin", PullRequest: &event.PullRequest{URL: "u", Created: true}}}
}

func posts() event.Event {
	return event.Event{Type: event.CommentPosted, Comment: &event.Comment{URL: "c", Created: true}}
}

func ends(outcome event.Outcome, code event.Code) event.Event {
	return event.Event{Type: event.JobEnded, JobEnd: &event.JobEnd{Outcome: outcome, Code: code, Refused: []string{"fifo"}}}
}

// pasts returns what an earlier process can have left of job a.
func pasts() map[string][]event.Event {
	begun := []event.Event{process(), starts("b0", ""), attempt(1, "do"), asks(1)}
	worked := append(slices.Clone(begun), answers(1))
	committed := append(slices.Clone(worked), commits("c1"))
	published := append(slices.Clone(committed), publishes("c1"), posts(), ends(event.Passed, ""))
	forked := process()
	forked.Run.ForkedFrom = &event.Fork{Run: "q", Job: "a", After: "m4", Turn: 2, Prompt: "try", Base: "b0", Tree: "t2", Children: 3, Left: []event.Left{{By: "setup"}}}
	return map[string][]event.Event{
		"never started":                {process()},
		"killed in a turn":             begun,
		"killed between two attempts":  append(slices.Clone(worked), attempt(2, "fix it")),
		"killed before publish":        committed,
		"stopped":                      append(slices.Clone(worked), ends(event.Cancelled, event.CodeInterrupted)),
		"failed":                       append(slices.Clone(worked), ends(event.Failed, event.CodeFailed)),
		"skipped":                      {process(), ends(event.Skipped, event.CodeCondition)},
		"skipped for a need":           {process(), ends(event.Skipped, event.CodeNeed)},
		"scripted":                     {process(), starts("b0", ""), commits("c1"), ends(event.Passed, "")},
		"passed":                       append(slices.Clone(worked), ends(event.Passed, "")),
		"published":                    published,
		"killed in a follow-up prompt": append(slices.Clone(published), process(), starts("c1", ""), attempt(2, "more"), asks(2)),
		"killed in a rebase":           append(slices.Clone(published), process(), starts("m1", "c1"), attempt(2, "rebase"), asks(2)),
		"forked":                       {forked},
		"fork killed in a turn":        {forked, starts("b0", ""), attempt(1, "try"), asks(3)},
	}
}

// pastOf is the past with a name.
func pastOf(t *testing.T, name string) *Past {
	t.Helper()
	all, found := pasts()[name]
	if !found {
		t.Fatalf("no past %q", name)
	}
	return after(t, all...)
}

// named describes an intent in a test.
func named(i Intent) string {
	switch i := i.(type) {
	case Keep:
		return "keep " + string(i.End.Outcome)
	case Fork:
		return "fork " + i.From.Run
	case nil:
		return "none"
	}
	return fmt.Sprintf("%T%+[1]v", i)[len("history."):]
}

// What a verb does with a job depends on what the past holds of it.
func TestVerbsContinueThePast(t *testing.T) {
	const noSession = "error: job a has no session that has ended: continue the run with millhand run --resume first"
	const noPull = "error: job a has no pull request"
	const more, rebased, reverted = "FollowUp{Prompt:more Replacing: Again:false}", "Rebase{FollowUp:{Prompt:onto Replacing: Again:false}}", "Revert{Turn:1 Tree:t}"
	const killed, killedRebase = "FollowUp{Prompt:more Replacing:c1 Again:%v}", "Rebase{FollowUp:{Prompt:rebase Replacing:c1 Again:%v}}"
	for name, want := range map[string]struct{ resume, again, followUp, rebase, revert string }{
		"never started":                {"Start{}", "Start{}", noSession, noSession, noSession},
		"killed in a turn":             {"Resume{}", "Start{}", noSession, noSession, noSession},
		"killed between two attempts":  {"Resume{}", "Start{}", noSession, noSession, noSession},
		"killed before publish":        {"Resume{}", "Start{}", noSession, noSession, noSession},
		"stopped":                      {"Resume{}", "Start{}", more, noPull, reverted},
		"failed":                       {"keep failed", "Start{}", more, noPull, reverted},
		"skipped":                      {"keep skipped", "keep skipped", noSession, noSession, noSession},
		"skipped for a need":           {"Resume{}", "Start{}", noSession, noSession, noSession},
		"scripted":                     {"keep passed", "keep passed", more, rebased, noSession},
		"passed":                       {"keep passed", "keep passed", more, noPull, reverted},
		"published":                    {"keep passed", "keep passed", more, rebased, reverted},
		"killed in a follow-up prompt": {fmt.Sprintf(killed, false), fmt.Sprintf(killed, true), noSession, noSession, noSession},
		"killed in a rebase":           {fmt.Sprintf(killedRebase, false), fmt.Sprintf(killedRebase, true), noSession, noSession, noSession},
		"forked":                       {"fork q", "Start{}", noSession, noSession, noSession},
		"fork killed in a turn":        {"fork q", "Start{}", noSession, noSession, noSession},
	} {
		for verb, c := range map[string]struct {
			order Order
			want  string
		}{
			"resume":    {Order{}, want.resume},
			"again":     {Order{Do: Start{}}, want.again},
			"follow-up": {Order{Do: FollowUp{Prompt: "more"}, Job: "a"}, want.followUp},
			"rebase":    {Order{Do: Rebase{FollowUp{Prompt: "onto"}}, Job: "a"}, want.rebase},
			"revert":    {Order{Do: Revert{Turn: 1, Tree: "t"}, Job: "a"}, want.revert},
		} {
			t.Run(verb+", "+name, func(t *testing.T) {
				r, err := Decide(pastOf(t, name), c.order)
				got := named(r.intent("a"))
				if err != nil {
					got = "error: " + err.Error()
				}
				if got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		}
	}
}

func TestANewRunStartsItsJobs(t *testing.T) {
	var r Run
	j := r.Job("a")
	if named(j.Intent) != "Start{}" || j.Facts != nil || r.Done("a") || r.Only() != "" || r.Resumed([]string{"a"}) != nil {
		t.Errorf("%+v", j)
	}
}

func TestJobsThatAreNotRun(t *testing.T) {
	passed, killed := pastOf(t, "passed"), pastOf(t, "killed in a turn")
	for name, c := range map[string]struct {
		past *Past
		do   Order
		job  string
		want string
		done bool
	}{
		"left out":                         {killed, Order{Except: []string{"a"}}, "a", "LeaveOut{}", true},
		"left out before it began":         {killed, Order{Except: []string{"b"}}, "b", "LeaveOut{}", true},
		"left out, to be started again":    {killed, Order{Do: Start{}, Except: []string{"a"}}, "a", "LeaveOut{}", true},
		"passed, and changed":              {passed, Order{Except: []string{"a"}}, "a", "keep passed", true},
		"another one is left out":          {killed, Order{Except: []string{"b"}}, "a", "Resume{}", false},
		"another one gets a prompt":        {passed, Order{Do: FollowUp{Prompt: "x"}, Job: "a"}, "b", "keep skipped", true},
		"not ended, another gets a prompt": {killed, Order{Do: Resume{}, Job: "b"}, "a", "keep skipped", true},
		"ended, another gets a prompt":     {passed, Order{Do: Resume{}, Job: "b"}, "a", "keep passed", true},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Decide(c.past, c.do)
			if err != nil {
				t.Fatal(err)
			}
			if got := named(r.intent(c.job)); got != c.want || r.Done(c.job) != c.done {
				t.Errorf("%s, done %v; want %s, %v", got, r.Done(c.job), c.want, c.done)
			}
		})
	}
}

func TestAResumedRunReportsItsFinishedJobs(t *testing.T) {
	for name, c := range map[string]struct {
		past     string
		do       Intent
		finished int
	}{
		"killed":        {"killed in a turn", Resume{}, 0},
		"published":     {"published", Resume{}, 1},
		"failed":        {"failed", Resume{}, 1},
		"failed, again": {"failed", Start{}, 0},
	} {
		r, err := Decide(pastOf(t, c.past), Order{Do: c.do})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Resumed([]string{"a", "b"})
		if got == nil || got.Finished != c.finished || got.CostUSD != r.Past.Spent() || got.CostUSD == 0 {
			t.Errorf("%s: %+v, want %d finished", name, got, c.finished)
		}
	}
	if r, err := Decide(pastOf(t, "forked"), Order{Do: Fork{}}); err != nil || r.Resumed([]string{"a"}) != nil {
		t.Errorf("a fork that starts is not resumed: %v", err)
	}
}

// A rebase for which no session is needed has a prompt nevertheless: that of its commit.
func TestRebaseWithoutAPrompt(t *testing.T) {
	r, err := Decide(pastOf(t, "published"), Order{Do: Rebase{}, Job: "a"})
	if got := r.Job("a").Asked(); err != nil || got != "Rebase the change" || r.Only() != "a" {
		t.Errorf("%q, %v", got, err)
	}
}

// Jobs that are not continued need little memory, and have the same cost, attempts and commits.
func TestJobsThatAreNotContinuedNeedLittleMemory(t *testing.T) {
	for name, settles := range map[string]bool{"published": true, "passed": true, "failed": true, "skipped": true, "stopped": false, "killed in a turn": false, "forked": false} {
		past := pastOf(t, name)
		run, err := Decide(past, Order{})
		if err != nil {
			t.Fatal(err)
		}
		before, intent, made := *past.Job("a"), run.Job("a").Intent, past.Made("a", "c1")
		spent := past.Spent()
		run.Settle()
		f := past.Job("a")
		if got := f.Start == nil && f.Sessions == nil && f.Baseline == nil; got != settles {
			t.Errorf("%s: settled %v", name, got)
		}
		if f.End != before.End || f.Attempts != before.Attempts || f.Time() != before.Time() || past.Spent() != spent || past.Made("a", "c1") != made || !reflect.DeepEqual(run.Job("a").Intent, intent) {
			t.Errorf("%s: %+v, was %+v", name, f, before)
		}
	}
	Run{}.Settle()
}
