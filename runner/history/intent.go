package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/event"
)

// Intent is what this process does with a job: [Start], [Resume], [FollowUp], [Rebase], [Revert]
// or [Fork], and [Keep] or [LeaveOut] for a job that it does not run.
type Intent interface{ intent() }

// Start starts the job with its prompt, in a new session. What earlier processes did of it only
// has its cost.
type Start struct{}

// Resume continues the job where an earlier process was killed or stopped.
type Resume struct{}

// FollowUp continues the session of a job that has ended with another prompt. A job whose changes
// a script has made gets its first session.
type FollowUp struct {
	Prompt    string
	Replacing string // commit of the job that an earlier process was changing for this prompt when it was killed; "" for a new prompt
	Again     bool   // in a new session, although an earlier process has begun one
}

// Rebase is a follow-up prompt about the job's commits on the current base of its pull request.
type Rebase struct{ FollowUp }

// Revert gives the branch or the working tree of a job that has ended the state after a turn. No
// session follows.
type Revert struct {
	Turn int    // 0 for the state before the agent
	Tree string // saved state of the workspace; "" for that of the base commit
}

// Fork continues a conversation that was copied from another run.
type Fork struct{ From *event.Fork }

// Keep does not run the job, and keeps its end.
type Keep struct{ End event.JobEnd }

// LeaveOut does not run the job, because its task has changed.
type LeaveOut struct{}

func (Start) intent()    {}
func (Resume) intent()   {}
func (FollowUp) intent() {}
func (Revert) intent()   {}
func (Fork) intent()     {}
func (Keep) intent()     {}
func (LeaveOut) intent() {}

// Order is what a command asks for.
type Order struct {
	// Do is Resume (the default), Start (starts the jobs that did not pass again), FollowUp, Rebase
	// (without a prompt: for no session), Revert or Fork.
	Do     Intent
	Job    string   // of FollowUp, Rebase and Revert: all others keep their end
	Except []string // jobs that are left out
	// KeepDescriptions leaves the texts of pull requests as they are.
	KeepDescriptions bool
	Foreign          bool // others have written what the prompt contains, or what it is about
}

// Run is a run and what this process does with it. The zero value is a new run.
type Run struct {
	Past  *Past // nil for a new run
	order Order
}

// Decide returns what this process does with a run. It is an error if earlier processes have not
// done what the order continues.
func Decide(past *Past, o Order) (Run, error) {
	f := past.Job(o.Job)
	ended := f != nil && f.End != nil
	sessions := ended && len(f.Sessions) > 0
	switch do := o.Do.(type) {
	case FollowUp:
		ended = sessions || ended && f.Commit != nil
	case Rebase:
		ended = sessions || ended && f.Commit != nil
		if ended && !f.hasPull() {
			return Run{}, fmt.Errorf("job %s has no pull request", o.Job)
		}
		do.Prompt = cmp.Or(do.Prompt, "Rebase the change")
		o.Do = do
	case Revert:
		ended = sessions
	default:
		return Run{Past: past, order: o}, nil
	}
	if !ended {
		return Run{}, fmt.Errorf("job %s has no session that has ended: continue the run with millhand run --resume first", o.Job)
	}
	return Run{Past: past, order: o}, nil
}

// Only returns the only job that is run; "" for all.
func (r Run) Only() string { return r.order.Job }

// Job returns what was done, and what is done, of a job.
func (r Run) Job(id string) Job {
	return Job{Facts: r.Past.Job(id), Intent: r.intent(id), keepDescription: r.order.KeepDescriptions, foreign: r.order.Foreign}
}

// Done reports whether a job is not run.
func (r Run) Done(job string) bool {
	switch r.intent(job).(type) {
	case Keep, LeaveOut:
		return true
	}
	return false
}

// Settle releases most of the memory of jobs that keep their end, of which a run may have thousands. Nothing else can be decided about
// the run afterwards.
func (r Run) Settle() Run {
	if r.Past == nil {
		return r
	}
	for id, f := range r.Past.jobs {
		if _, keeps := r.intent(id).(Keep); keeps && f.End != nil {
			f.settle()
		}
	}
	return r
}

func (r Run) intent(job string) Intent {
	f, all := r.Past.Job(job), r.order.Job == ""
	ended := f != nil && f.End != nil
	_, again := r.order.Do.(Start)
	again = again && f.failed()
	switch {
	case !all && r.order.Job != job && !ended:
		return Keep{event.CodeNotRun.End("the run was killed before the job completed")}
	case !all && r.order.Job != job, all && ended && !again && !f.End.Resumable():
		return Keep{*f.End}
	case slices.Contains(r.order.Except, job):
		return LeaveOut{}
	case !all:
		return r.order.Do
	case f == nil:
		return Start{}
	}
	return f.unfinished(again)
}

// unfinished returns how a job is continued that an earlier process was killed or stopped in, or
// that is started again.
func (f *Facts) unfinished(again bool) Intent {
	killed := FollowUp{Prompt: f.Prompt, Replacing: f.Replacing, Again: again}
	switch {
	case f.Replacing != "" && f.Start != nil && f.Start.Onto == f.Replacing:
		return Rebase{killed}
	case f.Replacing != "":
		return killed
	case again:
		return Start{}
	case f.Fork != nil:
		return Fork{f.Fork}
	}
	return Resume{}
}

// failed reports whether the job did not pass, and was not skipped for good.
func (f *Facts) failed() bool {
	return f != nil && (f.End == nil || f.End.Outcome != event.Passed && (f.End.Outcome != event.Skipped || f.End.Resumable()))
}

func (f *Facts) hasPull() bool {
	return f.Commit != nil && f.Start != nil && f.Start.Landing != nil && f.Start.Landing.PullRequest != nil
}

// Resumed describes the past for the start of the run with these jobs; nil for a run that starts.
func (r Run) Resumed(jobs []string) *event.Resumed {
	if _, starts := r.order.Do.(Fork); starts || r.Past == nil {
		return nil
	}
	before := &event.Resumed{CostUSD: r.Past.Spent()}
	for _, id := range jobs {
		if _, ok := r.intent(id).(Keep); ok {
			before.Finished++
		}
	}
	return before
}
