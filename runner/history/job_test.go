package history

import (
	"slices"
	"testing"

	"github.com/millhand/millhand/internal/money"
)

// job is job a of a past with an order for it.
func job(t *testing.T, past string, do Intent) Job {
	t.Helper()
	o := Order{Do: do}
	switch do.(type) {
	case FollowUp, Rebase, Revert:
		o.Job = "a"
	}
	r, err := Decide(pastOf(t, past), o)
	if err != nil {
		t.Fatal(err)
	}
	return r.Job("a")
}

// The session of a job gets the prompt of its task, another one, or continues its last attempt.
func TestPromptOfTheNextAttempt(t *testing.T) {
	none := Conversation{}
	saved := func(last string, prompts ...string) Conversation {
		return Conversation{Saved: true, Last: last, Prompts: prompts}
	}
	more := FollowUp{Prompt: "more"}
	for name, c := range map[string]struct {
		past  string
		do    Intent
		saved Conversation
		want  Next
	}{
		"never started":                           {"never started", Resume{}, none, Next{Prompt: "task"}},
		"killed before its session was saved":     {"killed in a turn", Resume{}, none, Next{Prompt: "task"}},
		"killed in a turn":                        {"killed in a turn", Resume{}, saved("m1", "do"), Next{Attempts: 1}},
		"killed in a turn of another prompt":      {"killed in a turn", Resume{}, saved("m1", "do, expanded"), Next{Attempts: 1}},
		"killed before a prompt was saved":        {"killed between two attempts", Resume{}, saved("m2", "do"), Next{Prompt: "fix it", Attempts: 1}},
		"killed after a prompt was saved":         {"killed between two attempts", Resume{}, saved("m3", "do", "fix it"), Next{Attempts: 2}},
		"started again":                           {"killed between two attempts", Start{}, none, Next{Prompt: "task"}},
		"follow-up":                               {"published", more, saved("m2", "do"), Next{Prompt: "more", Attempts: 1, Before: 1}},
		"follow-up of a script":                   {"scripted", more, none, Next{Prompt: "more", Scripted: true}},
		"rebase":                                  {"published", Rebase{FollowUp{Prompt: "onto"}}, saved("m2", "do"), Next{Prompt: "onto", Attempts: 1, Before: 1}},
		"killed follow-up":                        {"killed in a follow-up prompt", Resume{}, saved("m3", "do", "more"), Next{Attempts: 2, Before: 1}},
		"killed follow-up, without its prompt":    {"killed in a follow-up prompt", Resume{}, saved("m2", "do"), Next{Prompt: "more", Attempts: 1, Before: 1}},
		"killed follow-up, without a session":     {"killed in a follow-up prompt", Resume{}, none, Next{Prompt: "more", Attempts: 1, Before: 1}},
		"killed follow-up, started again":         {"killed in a follow-up prompt", Start{}, none, Next{Prompt: "more", Attempts: 1, Before: 1}},
		"killed rebase":                           {"killed in a rebase", Resume{}, saved("m3", "do", "rebase"), Next{Attempts: 2, Before: 1}},
		"fork":                                    {"forked", Fork{}, saved("m4", "do"), Next{Prompt: "try"}},
		"fork of nothing":                         {"forked", Fork{}, none, Next{Prompt: "try"}},
		"killed fork, whose prompt was not saved": {"fork killed in a turn", Resume{}, saved("m4", "do"), Next{Prompt: "try"}},
		"killed fork":                             {"fork killed in a turn", Resume{}, saved("m6", "do", "try"), Next{Attempts: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := job(t, c.past, c.do).Next(c.saved, "task"); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// The conversation of a fork without a prompt continues in its last attempt.
func TestAForkWithoutAPrompt(t *testing.T) {
	j := job(t, "forked", Fork{})
	j.Intent.(Fork).From.Prompt = "" //nolint:forcetypeassert // by its construction
	if got, want := j.Next(Conversation{Saved: true, Last: "m4"}, "task"), (Next{Attempts: 1, Copied: true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := j.Next(Conversation{}, "task"), (Next{Prompt: "task"}); got != want {
		t.Errorf("without a conversation: %+v, want %+v", got, want)
	}
	j.Attempts = 2
	if got, want := j.Next(Conversation{Saved: true, Last: "m4", Prompts: []string{""}}, "task"), (Next{Attempts: 2}); got != want {
		t.Errorf("in its second attempt: %+v, want %+v", got, want)
	}
}

// Each phase asks one question.
func TestQuestionsOfPhases(t *testing.T) {
	type answers struct {
		followsUp, addsToOwn, addsToOther, isNew, script, inherits bool
		charged                                                    money.USD // in dollars
		asked                                                      string
		lacks                                                      []string
	}
	fifo := []string{"fifo"}
	for name, c := range map[string]struct {
		past string
		do   Intent
		want answers
	}{
		"never started":    {"never started", Resume{}, answers{isNew: true, script: true}},
		"killed":           {"killed in a turn", Resume{}, answers{script: true, charged: 2}},
		"killed, again":    {"killed in a turn", Start{}, answers{isNew: true, script: true}},
		"stopped":          {"stopped", Resume{}, answers{script: true, charged: 1, lacks: fifo}},
		"stopped, again":   {"stopped", Start{}, answers{isNew: true, script: true}},
		"follow-up":        {"published", FollowUp{Prompt: "more"}, answers{followsUp: true, addsToOwn: true, addsToOther: true, charged: 1, asked: "more"}},
		"rebase":           {"published", Rebase{FollowUp{Prompt: "onto"}}, answers{followsUp: true, addsToOwn: true, addsToOther: true, charged: 1, asked: "onto"}},
		"revert":           {"published", Revert{}, answers{script: true, inherits: true, charged: 1, lacks: fifo}},
		"killed follow-up": {"killed in a follow-up prompt", Resume{}, answers{followsUp: true, addsToOwn: true, charged: 3, asked: "more"}},
		"again":            {"killed in a follow-up prompt", Start{}, answers{followsUp: true, addsToOwn: true, isNew: true, asked: "more"}},
		"killed rebase":    {"killed in a rebase", Resume{}, answers{followsUp: true, addsToOwn: true, charged: 3, asked: "rebase"}},
		"fork":             {"forked", Fork{}, answers{inherits: true, asked: "try"}},
		"killed fork":      {"fork killed in a turn", Resume{}, answers{inherits: true, asked: "try", charged: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			j, w := job(t, c.past, c.do), c.want
			if j.FollowsUp() != w.followsUp || j.AddsTo("c1") != w.addsToOwn || j.AddsTo("c2") != w.addsToOther || j.AddsTo("") {
				t.Errorf("follows up %v, adds to its commit %v, to another %v, to none %v", j.FollowsUp(), j.AddsTo("c1"), j.AddsTo("c2"), j.AddsTo(""))
			}
			if j.NewSession() != w.isNew || j.RunsScript() != w.script || j.Inherits() != w.inherits {
				t.Errorf("new session %v, script %v, inherits %v", j.NewSession(), j.RunsScript(), j.Inherits())
			}
			if j.Charged() != w.charged*money.Dollar || j.Asked() != w.asked || !slices.Equal(j.Lacks(), w.lacks) {
				t.Errorf("charged $%s, asked %q, lacks %q", j.Charged(), j.Asked(), j.Lacks())
			}
		})
	}
}

func TestPullRequestAndCommentOfAJob(t *testing.T) {
	for name, c := range map[string]struct {
		past   string
		do     Intent
		pull   Pull
		posted bool
	}{
		"never started":    {"never started", Resume{}, Pull{}, false},
		"published":        {"published", Resume{}, Pull{Earlier: Earlier{URL: "u"}}, true},
		"follow-up":        {"published", FollowUp{Prompt: "more"}, Pull{Adds: true}, false},
		"killed follow-up": {"killed in a follow-up prompt", Resume{}, Pull{Adds: true}, false},
		"killed in a turn": {"killed in a turn", Resume{}, Pull{}, false},
	} {
		j := job(t, c.past, c.do)
		_, posted := j.Comments()
		if j.Pull() != c.pull || posted != c.posted {
			t.Errorf("%s: %+v, comment posted %v; want %+v, %v", name, j.Pull(), posted, c.pull, c.posted)
		}
		if j.keepDescription = true; j.Pull().Keep != (j.Facts != nil) {
			t.Errorf("%s: keeps the description: %v", name, j.Pull().Keep)
		}
	}
	if earlier, _ := job(t, "published", Resume{}).Comments(); earlier.URL != "c" {
		t.Errorf("comment %+v", earlier)
	}
	again := after(t, append(pasts()["failed"][:5:5], posts(), ends("failed", "failed"))...)
	if r, err := Decide(again, Order{Do: Start{}}); err != nil {
		t.Error(err)
	} else if _, posted := r.Job("a").Comments(); posted {
		t.Error("the message of a job that is started again was posted")
	}
}
