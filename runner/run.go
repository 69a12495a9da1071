package runner

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/redact"
	"github.com/millhand/millhand/internal/reportdir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// Conversation is a model for one session. Finish is called when the session
// is over and says what is wrong with how it went, as a scripted model with
// turns left does. Price is what a request costs at most, in USD; nil if that
// is unknown, and costs can only be counted.
type Conversation struct {
	Model  model.Model
	Finish func() error
	Price  func(money.Usage) money.USD
	// As is the id of the model by which tools are chosen and facts are known: a
	// recording's is that of the model that was recorded.
	As string
}

// Options are what a run needs beside its plan.
type Options struct {
	RunID   string
	Version string
	Dir     *reportdir.Dir // what the run's files are written into
	// Private are absolute directories of reports: commands and tools have no
	// business in them, even where they lie in a workspace. Of a .millhand that
	// one lies in, commands see nothing.
	Private []string
	Work    string // a private directory for worktrees and temporary files: exists, absolute, removed by the caller
	Keep    bool   // leave the worktrees
	Git     gitdir.Env
	Ready   *Ready        // what the plan's preflight found
	Level   sandbox.Level // of all commands
	Sandbox sandbox.State // in words
	Caches  string        // where build caches are kept that are not the user's own; absolute
	Getenv  func(string) string
	Redact  *redact.Redactor // takes secrets out of all that is written, and out of tools' answers; nil for none
	Now     func() time.Time
	Emit    func(event.Event)
	// Broken returns why events can't be recorded any more, nil if they are. Jobs
	// that run then finish, for they are paid for; no others start. It may be
	// nil.
	Broken func() error
	// Left is called with each worktree that holds work which is kept nowhere
	// else: the caller must not remove it. It may be called concurrently; nil
	// for a caller that removes none.
	Left func(tree string)
	// Warnings are told at the beginning of the run.
	Warnings []string
	// MaxFailures is how many jobs may fail before no more are begun; 0 for any
	// number. Jobs that run then are carried to their end: they are paid for.
	MaxFailures int
	FailOn      event.FailOn
	// Spent is called with what the run has cost so far and what its calls in
	// flight can cost at most, in USD, before each call and after it; never two
	// calls at a time. It may be nil.
	Spent func(usd money.USD)
	// OpenModel makes the model of a job, or of a session that the job's own has
	// started: child names its agent then, and the job's model is the child's.
	// retry is called for each retried request, and for each change of the
	// model; the turn is not its concern.
	OpenModel func(j tasks.Job, child string, retry func(event.Retry)) (Conversation, error)
	Custom    []tools.Tool // of the manifests
	// Facts tells what is known of a model; nil for nothing.
	Facts func(model string) Facts
}

// Facts are what is known of a model beside its price.
type Facts struct {
	Images, PDFs bool // it sees such files
	Context      int  // tokens that a request and its answer have together at most; 0 if unknown
	MaxOutput    int  // tokens of the longest answer; 0 if unknown
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
	opts    Options
	plan    *tasks.Plan
	budget  *money.Budget
	copies  *copies
	headers *headers
	trees   keyedLocks // by root of a tree that is worked on in place

	mu      sync.Mutex
	refused map[string]string // by provider or model: why it can't be used any more
}

// Run carries out the plan and returns the exit code that its jobs come to.
// The events begin with run.started and end with run.ended.
func Run(ctx context.Context, plan *tasks.Plan, o Options) event.Exit {
	r := newRun(plan, o)
	began := r.opts.Now()
	r.opts.Emit(event.Event{Type: event.RunStarted, Run: r.started()})
	if r.opts.Sandbox.Warning != "" && runsCommands(plan) {
		r.opts.Warnings = append(r.opts.Warnings, r.opts.Sandbox.Warning)
	}
	for _, text := range r.opts.Warnings {
		r.opts.Emit(event.Event{Type: event.WarningGiven, Warning: &event.Warning{Message: text}})
	}
	exits, passed := r.jobs(ctx)
	r.restoreHeaders(ctx)
	if err := r.broken(); err != nil {
		r.opts.Emit(event.Event{Type: event.WarningGiven, Warning: &event.Warning{Message: err.Error()}})
		exits = append(exits, event.ExitInternal)
	}
	worst := event.Worst(exits)
	exit := r.opts.FailOn.Exit(exits, passed > 0)
	r.opts.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{
		Outcome: worst.OutcomeOf(), ExitCode: exit, ElapsedMS: r.opts.Now().Sub(began).Milliseconds(),
	}})
	return exit
}

func newRun(plan *tasks.Plan, o Options) *run {
	return &run{
		opts: o, plan: plan, budget: money.NewBudget("run budget", plan.Budget.CostUSD, o.Spent), copies: newCopies(o), headers: newHeaders(),
		refused: map[string]string{},
	}
}

// Deadline is the cause to give to a context that the time of the plan's budget
// ends: that of the preflight and the run together.
func Deadline(plan *tasks.Plan) error {
	return runDeadline{session.Timeout{Reason: fmt.Sprintf("run timed out after %s", plan.Budget.Time)}}
}

// UsesBash reports whether any session of the plan may run commands.
func UsesBash(plan *tasks.Plan) bool {
	return slices.ContainsFunc(plan.Jobs, func(j tasks.Job) bool { return !j.Profile.Hides("bash") })
}

// runsCommands reports whether the plan has commands to confine, of agents or of
// its own.
func runsCommands(plan *tasks.Plan) bool {
	return UsesBash(plan) || len(plan.Tools) > 0 ||
		slices.ContainsFunc(plan.Jobs, func(j tasks.Job) bool { return len(j.Setup)+len(j.Verify) > 0 })
}

func (r *run) started() *event.Run {
	started := &event.Run{
		ID: r.opts.RunID, Manifest: r.plan.Manifests, PlanHash: r.plan.Hash, Version: r.opts.Version,
		Jobs: planned(r.plan.Jobs, r.plan.Shard.Index), Elsewhere: []event.PlannedJob{},
	}
	for _, p := range r.plan.Policies {
		started.Policies = append(started.Policies, event.PolicyFile{Path: p.Name, SHA256: p.SHA256})
	}
	if s := r.plan.Shard; s.Total > 0 {
		started.Shard = &event.Shard{Index: s.Index, Total: s.Total}
		shards := tasks.ShardOf(r.plan, s.Total)
		for _, j := range r.plan.Elsewhere {
			started.Elsewhere = append(started.Elsewhere, plannedJob(j, shards[j.ID]))
		}
	}
	return started
}

func planned(jobs []tasks.Job, shard int) []event.PlannedJob {
	list := make([]event.PlannedJob, 0, len(jobs))
	for _, j := range jobs {
		list = append(list, plannedJob(j, shard))
	}
	return list
}

func plannedJob(j tasks.Job, shard int) event.PlannedJob {
	return event.PlannedJob{
		ID: j.ID, Task: j.Task, Repo: j.Repo.Name, Matrix: j.Matrix, Model: j.ModelName, Profile: j.Profile.Name,
		Shard: shard, Location: j.Repo.Location(), Place: j.Place,
	}
}

// finished is a job that is over, by its place in the plan.
type finished struct {
	place int
	end   event.JobEnd
}

// jobs runs every job, as many at once as the plan allows, in the plan's order
// as far as what they need is over.
func (r *run) jobs(ctx context.Context) (exits []event.Exit, passed int) {
	jobs := r.plan.Jobs
	ends := make(map[string]event.JobEnd, len(jobs))
	done := make(chan finished)
	waiting := make([]int, len(jobs))
	for i := range jobs {
		waiting[i] = i
	}
	busy := map[string]bool{} // trees that a job works on in place
	failures := 0
	for running := 0; running > 0 || len(waiting) > 0; {
		for running < max(r.plan.Parallel, 1) {
			at := slices.IndexFunc(waiting, func(i int) bool { return ready(jobs[i], ends) && !busy[r.ownTree(jobs[i])] })
			if at < 0 {
				break
			}
			i := waiting[at]
			waiting = slices.Delete(waiting, at, at+1)
			running++
			if tree := r.ownTree(jobs[i]); tree != "" {
				busy[tree] = true
			}
			skip := r.unwanted(jobs[i], ends, failures)
			go func() { done <- finished{i, r.guard(ctx, jobs[i], skip)} }()
		}
		f := <-done
		running--
		ends[jobs[f.place].ID] = f.end
		if o := f.end.Outcome; o != event.Passed && o != event.Skipped {
			failures++
		}
		delete(busy, r.ownTree(jobs[f.place]))
	}
	for _, j := range jobs {
		exits = append(exits, ends[j.ID].ExitCode)
		if ends[j.ID].Outcome == event.Passed {
			passed++
		}
	}
	if i, ok := context.Cause(ctx).(Interrupt); ok { //nolint:errorlint // a cause is given as it is, never wrapped
		exits = append(exits, i.Exit)
	}
	return exits, passed
}

// ownTree names the tree that a job works on in place, "" if it has one of its
// own. Jobs on one tree run in the plan's order.
func (r *run) ownTree(j tasks.Job) string {
	if j.Repo.Kind != tasks.RepoPath || j.Commit != nil && j.Commit.Branch != tasks.CurrentBranch {
		return ""
	}
	if origin := r.opts.Ready.starts[j.ID].origin; origin != nil {
		return origin.Root() // of which several repositories of the plan may be directories
	}
	return j.Repo.Dir
}

// ready reports whether everything that a job needs is over.
func ready(j tasks.Job, ends map[string]event.JobEnd) bool {
	return !slices.ContainsFunc(j.Needs, func(id string) bool {
		_, over := ends[id]
		return !over
	})
}

// unwanted says why a job is not begun after what became of those before, nil
// if it is.
func (r *run) unwanted(j tasks.Job, ends map[string]event.JobEnd, failures int) *stop {
	if skip := r.opts.Ready.starts[j.ID].skip; skip != nil {
		return skip
	}
	for _, id := range j.Needs {
		if o := ends[id].Outcome; o != event.Passed {
			return &stop{code: event.CodeNeed, detail: fmt.Sprintf("needs job %s, which did not pass (%s)", id, o)}
		}
	}
	if r.opts.MaxFailures > 0 && failures >= r.opts.MaxFailures {
		return &stop{code: event.CodeMaxFailures, detail: fmt.Sprintf("maximum number of failed jobs reached (%d)", failures)}
	}
	return nil
}

// guard runs one job, or leaves it out, so that nothing of it, not even a
// panic, reaches the others.
func (r *run) guard(ctx context.Context, j tasks.Job, skip *stop) (end event.JobEnd) {
	began := r.opts.Now()
	defer func() {
		if p := recover(); p != nil {
			end = event.CodePanic.End(fmt.Sprintf("internal error: %v; please report it with this stack:\n%s", p, debug.Stack()))
			end.CostUSD = new(money.USD)
		}
		end.ElapsedMS = r.opts.Now().Sub(began).Milliseconds()
		r.opts.Emit(event.Event{Type: event.JobEnded, Job: j.ID, JobEnd: &end})
	}()
	if skip := r.skip(ctx, j, skip); skip != nil {
		end = skip.code.End(skip.detail)
		end.CostUSD = new(money.USD)
		return end
	}
	return r.job(j).carryOut(ctx)
}

// job makes a job of a plan's.
func (r *run) job(spec tasks.Job) *job {
	return &job{run: r, opts: &r.opts, plan: r.plan, spec: spec, start: r.opts.Ready.starts[spec.ID]}
}

// skip says why a job is not even begun, nil if it is.
func (r *run) skip(ctx context.Context, j tasks.Job, unwanted *stop) *stop {
	switch {
	case ctx.Err() != nil:
		s := stopped(ctx)
		if s.code == event.CodeRunTime {
			s.code = event.CodeDeadline
		}
		return s
	case r.broken() != nil:
		return &stop{code: event.CodeInternal, detail: r.broken().Error()}
	case unwanted != nil:
		return unwanted
	case r.opts.Ready.starts[j.ID].earlier.Hash != "":
		return nil // a push costs nothing and asks no provider
	}
	if err := r.budget.CanStart(j.Model); err != nil {
		return &stop{code: event.CodeBudget, detail: err.Error()}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := cmp.Or(r.refused[provider(j.Model)], r.refused[j.Model]); why != "" {
		return &stop{code: event.CodeProvider, detail: "provider not usable: " + why}
	}
	return nil
}

// broken says why nothing more can be recorded.
func (r *run) broken() error {
	if r.opts.Broken == nil {
		return nil
	}
	if err := r.opts.Broken(); err != nil {
		return fmt.Errorf("events can't be recorded: %w", err)
	}
	return nil
}

// refuse remembers that a provider refused our credentials, or does not have a
// model: every further request would meet the same. Of a job that falls back it
// is not known which of its models that was.
func (r *run) refuse(j tasks.Job, end *stop) {
	if len(j.Fallback) > 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if end.code == event.CodeAuth || end.code == event.CodeQuota {
		r.refused[provider(j.Model)] = end.detail
	}
	if end.code == event.CodeModel {
		r.refused[j.Model] = end.detail
	}
}
