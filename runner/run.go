package runner

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/tasks"
)

// Conversation is a model for one session. Finish is called when the session
// is over and says what is wrong with how it went, as a scripted model with
// turns left does.
type Conversation struct {
	Model  model.Model
	Finish func() error
}

// Options are what a run needs beside its plan.
type Options struct {
	RunID   string
	Version string
	Dir     string // the report directory: exists, absolute
	Work    string // a private folder for worktrees and temporary files: exists, absolute, removed by the caller
	Keep    bool   // leave the worktrees
	Git     gitops.Env
	Sandbox sandbox.State
	Getenv  func(string) string
	Now     func() time.Time
	Emit    func(event.Event)
	// Warnings are told at the beginning of the run.
	Warnings []string
	// OpenModel makes the model of a job; retry is told of each request that is
	// made again.
	OpenModel func(j tasks.Job, retry func(attempt int, wait time.Duration, err error)) (Conversation, error)
}

// Interrupt is the cause of a run's context that a signal ended.
type Interrupt struct {
	Signal string // its name, as SIGINT
	Exit   event.Exit
}

// Error says which signal it was.
func (i Interrupt) Error() string { return "interrupted by " + i.Signal }

// run is one execution of a plan.
type run struct {
	Options
	plan   *tasks.Plan
	ledger *ledger
	copies *copies
	trees  keyedLocks // by root of a tree that is worked on in place

	mu      sync.Mutex
	refused map[string]string // by provider: why it can't be used any more
}

// Run carries out the plan and returns the exit code that its jobs come to.
// The events begin with run.started and end with run.ended.
func Run(ctx context.Context, plan *tasks.Plan, o Options) event.Exit {
	r := &run{
		Options: o, plan: plan, ledger: &ledger{cap: plan.Budget.CostUSD}, copies: newCopies(o),
		refused: map[string]string{},
	}
	began := r.Now()
	r.Emit(event.Event{Type: event.RunStarted, Run: r.started()})
	if r.Sandbox.Warning != "" && usesBash(plan) {
		r.Warnings = append(r.Warnings, r.Sandbox.Warning)
	}
	for _, text := range r.Warnings {
		r.Emit(event.Event{Type: event.WarningGiven, Warning: &event.Warning{Message: text}})
	}
	if plan.Budget.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, plan.Budget.Time, runDeadline{session.Timeout{Reason: fmt.Sprintf("the run's time of %s is over", plan.Budget.Time)}})
		defer cancel()
	}
	exit := event.Worst(r.jobs(ctx))
	r.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{
		Outcome: exit.OutcomeOf(), ExitCode: exit, ElapsedMS: r.Now().Sub(began).Milliseconds(),
	}})
	return exit
}

// usesBash reports whether any session of the plan may run commands.
func usesBash(plan *tasks.Plan) bool {
	return slices.ContainsFunc(plan.Jobs, func(j tasks.Job) bool { return !j.Profile.Hides("bash") })
}

func (r *run) started() *event.Run {
	started := &event.Run{ID: r.RunID, Manifest: r.plan.Manifests, PlanHash: r.plan.Hash, Version: r.Version, Jobs: []event.PlannedJob{}}
	for _, j := range r.plan.Jobs {
		started.Jobs = append(started.Jobs, event.PlannedJob{
			ID: j.ID, Task: j.Task, Repo: j.Repo.Name, Matrix: j.Matrix, Model: j.ModelName, Profile: j.Profile.Name,
		})
	}
	return started
}

// finished is a job that is over, by its place in the plan.
type finished struct {
	place int
	end   event.JobEnd
}

// jobs runs every job, as many at once as the plan allows, in the plan's order
// as far as what they need is over.
func (r *run) jobs(ctx context.Context) []event.Exit {
	jobs := r.plan.Jobs
	ends := make(map[string]event.JobEnd, len(jobs))
	done := make(chan finished)
	waiting := make([]int, len(jobs))
	for i := range jobs {
		waiting[i] = i
	}
	busy := map[string]bool{} // trees that a job works on in place
	for running := 0; running > 0 || len(waiting) > 0; {
		for running < max(r.plan.Parallel, 1) {
			at := slices.IndexFunc(waiting, func(i int) bool { return ready(jobs[i], ends) && !busy[ownTree(jobs[i])] })
			if at < 0 {
				break
			}
			i := waiting[at]
			waiting = slices.Delete(waiting, at, at+1)
			running++
			if tree := ownTree(jobs[i]); tree != "" {
				busy[tree] = true
			}
			missing := unmet(jobs[i], ends)
			go func() { done <- finished{i, r.guard(ctx, jobs[i], missing)} }()
		}
		f := <-done
		running--
		ends[jobs[f.place].ID] = f.end
		delete(busy, ownTree(jobs[f.place]))
	}
	exits := make([]event.Exit, 0, len(jobs)+1)
	for _, j := range jobs {
		exits = append(exits, ends[j.ID].ExitCode)
	}
	if i, ok := context.Cause(ctx).(Interrupt); ok { //nolint:errorlint // a cause is given as it is, never wrapped
		exits = append(exits, i.Exit)
	}
	return exits
}

// ownTree names the tree that a job works on in place, "" if it has one of its
// own. Jobs on one tree run in the plan's order.
func ownTree(j tasks.Job) string {
	if j.Repo.Kind == tasks.RepoPath && (j.Commit == nil || j.Commit.Branch == tasks.CurrentBranch) {
		return j.Repo.Dir
	}
	return ""
}

// ready reports whether everything that a job needs is over.
func ready(j tasks.Job, ends map[string]event.JobEnd) bool {
	return !slices.ContainsFunc(j.Needs, func(id string) bool {
		_, over := ends[id]
		return !over
	})
}

// unmet names a job that this one needs and that did not pass, "" if all did.
func unmet(j tasks.Job, ends map[string]event.JobEnd) string {
	for _, id := range j.Needs {
		if o := ends[id].Outcome; o != event.Passed {
			return fmt.Sprintf("it needs job %s, which did not pass (%s)", id, o)
		}
	}
	return ""
}

// guard runs one job so that nothing of it, not even a panic, reaches the
// others.
func (r *run) guard(ctx context.Context, j tasks.Job, missing string) (end event.JobEnd) {
	began := r.Now()
	zero := 0.0
	end = event.JobEnd{CostUSD: &zero}
	defer func() {
		if p := recover(); p != nil {
			end.Outcome, end.ExitCode = event.Error, event.ExitInternal
			end.Reason = fmt.Sprintf("internal fault: %v; please report it with this stack:\n%s", p, debug.Stack())
		}
		end.ElapsedMS = r.Now().Sub(began).Milliseconds()
		r.Emit(event.Event{Type: event.JobEnded, Job: j.ID, JobEnd: &end})
	}()
	if skip := r.skip(ctx, j, missing); skip != nil {
		end.Outcome, end.Reason, end.ExitCode = skip.outcome, skip.reason, skip.exit
		return end
	}
	return (&job{run: r, Job: j, unlock: func() {}}).carryOut(ctx)
}

// skip says why a job is not even begun, nil if it is.
func (r *run) skip(ctx context.Context, j tasks.Job, missing string) *stop {
	switch {
	case ctx.Err() != nil:
		s := stopped(ctx)
		if s.outcome == event.Limit {
			s.outcome = event.Skipped
		}
		return s
	case missing != "":
		return &stop{outcome: event.Skipped, reason: missing}
	case r.ledger.spent():
		return &stop{outcome: event.Skipped, reason: "the run's budget is spent", exit: event.ExitBudget}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := r.refused[provider(j.Model)]; why != "" {
		return &stop{outcome: event.Skipped, reason: "the provider can't be used: " + why, exit: event.ExitAuth}
	}
	return nil
}

// refuse remembers that a provider refused our credentials: every further
// request would meet the same.
func (r *run) refuse(j tasks.Job, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[provider(j.Model)] = why
}
