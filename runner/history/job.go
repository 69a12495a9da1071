package history

import (
	"cmp"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// Job is what earlier processes did of a job, and what this one does. Each phase of the job asks
// it one question.
type Job struct {
	*Facts // nil for nothing
	Intent Intent

	keepDescription, foreign bool
}

// followUp returns the follow-up prompt of the job, which may be about a rebase.
func (j Job) followUp() (do FollowUp, found bool) {
	switch do := j.Intent.(type) {
	case FollowUp:
		return do, true
	case Rebase:
		return do.FollowUp, true
	}
	return FollowUp{}, false
}

// FollowsUp reports whether the job gets another prompt after its end.
func (j Job) FollowsUp() bool {
	_, found := j.followUp()
	return found
}

// Foreign reports whether others have written what the job's prompt contains, or what it is about.
func (j Job) Foreign() bool {
	return j.foreign && j.FollowsUp()
}

// AddsTo reports whether the job adds to a commit of its own instead of only publishing it.
func (j Job) AddsTo(commit string) bool {
	do, found := j.followUp()
	return found && commit != "" && (do.Replacing == "" || do.Replacing == commit)
}

// NewSession reports whether the job's session is not that of earlier processes.
func (j Job) NewSession() bool {
	do, _ := j.followUp()
	_, starts := j.Intent.(Start)
	return starts || do.Again
}

// Charged is the cost of earlier processes that counts for the job's limit.
func (j Job) Charged() money.USD {
	if j.Facts == nil || j.NewSession() {
		return 0
	}
	return j.Spent()
}

// RunsScript reports whether the job's script runs before its session.
func (j Job) RunsScript() bool { return !j.FollowsUp() && (j.Facts == nil || j.Fork == nil) }

// Inherits reports whether the job has changes that its agent need not have made.
func (j Job) Inherits() bool {
	_, reverts := j.Intent.(Revert)
	return reverts || j.Facts != nil && j.Fork != nil
}

// Conversation is what earlier processes saved of the job's own session, or copied from another
// run; the zero value for nothing.
type Conversation struct {
	Saved   bool
	Last    string   // id of its last message
	Prompts []string // in their order
}

// Next is how the job's session continues.
type Next struct {
	Prompt   string // of the next attempt; "" continues the one that an earlier process started
	Attempts int    // that have started
	Before   int    // those of them for earlier prompts, which have a limit of their own
	Scripted bool   // the session is new, and a script has done the job's task
	Reset    bool   // the session is new, because the job was reverted to the state before its agent
	Copied   bool   // the first attempt continues in a copied conversation, where it has not been reported
}

// Next returns how the job's session continues. prompt is that of the task.
func (j Job) Next(c Conversation, prompt string) Next {
	if do, found := j.followUp(); found {
		switch {
		case do.Replacing == "":
			return Next{Prompt: do.Prompt, Attempts: j.Attempts, Before: j.Attempts, Scripted: !c.Saved && j.Reverted == nil, Reset: !c.Saved && j.Reverted != nil}
		case !c.Saved: // killed before its session was saved
			return Next{Prompt: do.Prompt, Attempts: j.Attempts - 1, Before: j.AttemptsBefore}
		}
		n := j.continued(c)
		n.Before = j.AttemptsBefore
		return n
	}
	fork, forked := j.Intent.(Fork)
	switch {
	case forked && !c.Saved:
		return Next{Prompt: cmp.Or(fork.From.Prompt, prompt)}
	case forked && c.Last == fork.From.After && j.Attempts <= 1 && fork.From.Prompt == "":
		return Next{Attempts: 1, Copied: true}
	case forked && c.Last == fork.From.After && j.Attempts <= 1:
		return Next{Prompt: fork.From.Prompt}
	case !c.Saved:
		return Next{Prompt: prompt}
	}
	return j.continued(c)
}

// continued continues the last attempt, or starts it if its prompt was not saved.
func (j Job) continued(c Conversation) Next {
	if j.Attempts > 1 && !slices.Contains(c.Prompts, j.Prompt) {
		return Next{Prompt: j.Prompt, Attempts: j.Attempts - 1}
	}
	return Next{Attempts: j.Attempts}
}

// Asked returns the prompt that the job works on instead of that of its task; "" for none.
func (j Job) Asked() string {
	do, _ := j.followUp()
	switch {
	case do.Replacing != "":
		return j.Followed
	case do.Prompt != "":
		return do.Prompt
	case j.Facts != nil && j.Fork != nil:
		return j.Fork.Prompt
	}
	return ""
}

// Lacks returns the files that an earlier process could not save, and that the state which the
// job continues from lacks.
func (j Job) Lacks() []string {
	if j.Facts == nil || j.End == nil || j.NewSession() || j.FollowsUp() {
		return nil
	}
	return j.End.Refused
}

// Pull is how the job's pull request is published.
type Pull struct {
	Earlier
	Keep bool // an open one keeps its description
	Adds bool // to one that earlier commits of the job have described
}

// Pull returns how the job's pull request is published.
func (j Job) Pull() Pull {
	p := Pull{Keep: j.keepDescription && j.Facts != nil, Adds: j.FollowsUp()}
	if j.Facts != nil {
		p.Earlier = j.Published.Pull.Earlier
	}
	if p.Adds {
		p.URL = "" // it is updated
	}
	return p
}

// Requested returns the changes of the forge that the job has made because its agent requested them.
func (j Job) Requested() []event.ForgeRequest {
	if j.Facts == nil {
		return nil
	}
	return j.Facts.Requested
}

// Comments returns what is known of the comment with the job's final message. posted: it was
// posted, and nothing changes the message since then.
func (j Job) Comments() (earlier Earlier, posted bool) {
	if j.Facts == nil {
		return Earlier{}, false
	}
	do, follows := j.followUp()
	posted = j.Comment != nil && !j.NewSession() && (!follows || do.Replacing != "")
	return j.Published.Comment.Earlier, posted
}
