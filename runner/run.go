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
	Work    string         // a private folder for worktrees and temporary files: exists, absolute, removed by the caller
	Keep    bool           // leave the worktrees
	Git     gitdir.Env
	Ready   *Ready        // what the plan's preflight found
	Level   sandbox.Level // of all commands
	Sandbox sandbox.State // in words
	Caches  string        // where build caches are kept that are not the user's own; absolute
	Getenv  func(string) string
	Redact  *redact.Redactor // takes secrets out of all that is written, and out of tools' answers; nil for none
	Now     func() time.Time
	Emit    func(event.Event)
	// Broken says why events can't be kept any more, nil if they are. Work that
	// nothing would tell of is not begun. It may be nil.
	Broken func() error
	// Warnings are told at the beginning of the run.
	Warnings []string
	// MaxFailures is how many jobs may fail before no more are begun; 0 for any
	// number. Jobs that run then are carried to their end: they are paid for.
	MaxFailures int
	FailOn      event.FailOn
	// OpenModel makes the model of a job, or of a session that the job's own has
	// started: child names its agent then, and the job's model is the child's.
	// retry is told of each request that is made again, and of each change of the
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
	Options
	plan    *tasks.Plan
	ledger  *ledger
	copies  *copies
	headers *headers
	trees   keyedLocks // by root of a tree that is worked on in place

	mu      sync.Mutex
	refused map[string]string // by provider or model: why it can't be used any more
}

// Run carries out the plan and returns the exit code that its jobs come to.
// The events begin with run.started and end with run.ended.
func Run(ctx context.Context, plan *tasks.Plan, o Options) event.Exit {
	r := &run{
		Options: o, plan: plan, ledger: newLedger(plan.Budget.CostUSD, nil), copies: newCopies(o), headers: newHeaders(),
		refused: map[string]string{},
	}
	began := r.Now()
	r.Emit(event.Event{Type: event.RunStarted, Run: r.started()})
	if r.Sandbox.Warning != "" && UsesBash(plan) {
		r.Warnings = append(r.Warnings, r.Sandbox.Warning)
	}
	for _, text := range r.Warnings {
		r.Emit(event.Event{Type: event.WarningGiven, Warning: &event.Warning{Message: text}})
	}
	exits, passed := r.jobs(ctx)
	r.restoreHeaders(ctx)
	worst := event.Worst(exits)
	exit := r.FailOn.Exit(exits, passed > 0)
	r.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{
		Outcome: worst.OutcomeOf(), ExitCode: exit, ElapsedMS: r.Now().Sub(began).Milliseconds(),
	}})
	return exit
}

// Deadline is the cause to give to a context that the time of the plan's budget
// ends: that of the preflight and the run together.
func Deadline(plan *tasks.Plan) error {
	return runDeadline{session.Timeout{Reason: fmt.Sprintf("the run's time of %s is over", plan.Budget.Time)}}
}

// UsesBash reports whether any session of the plan may run commands.
func UsesBash(plan *tasks.Plan) bool {
	return slices.ContainsFunc(plan.Jobs, func(j tasks.Job) bool { return !j.Profile.Hides("bash") })
}

func (r *run) started() *event.Run {
	started := &event.Run{
		ID: r.RunID, Manifest: r.plan.Manifests, PlanHash: r.plan.Hash, Version: r.Version,
		Jobs: planned(r.plan.Jobs, r.plan.Shard.Index), Elsewhere: []event.PlannedJob{},
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
			skip := r.unwanted(jobs[i], ends, failures)
			go func() { done <- finished{i, r.guard(ctx, jobs[i], skip)} }()
		}
		f := <-done
		running--
		ends[jobs[f.place].ID] = f.end
		if o := f.end.Outcome; o != event.Passed && o != event.Skipped {
			failures++
		}
		delete(busy, ownTree(jobs[f.place]))
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

// unwanted says why a job is not begun after what became of those before, nil
// if it is.
func (r *run) unwanted(j tasks.Job, ends map[string]event.JobEnd, failures int) *stop {
	if skip := r.Ready.starts[j.ID].skip; skip != nil {
		return skip
	}
	for _, id := range j.Needs {
		if o := ends[id].Outcome; o != event.Passed {
			return &stop{outcome: event.Skipped, code: event.CodeNeed, reason: fmt.Sprintf("it needs job %s, which did not pass (%s)", id, o)}
		}
	}
	if r.MaxFailures > 0 && failures >= r.MaxFailures {
		return &stop{outcome: event.Skipped, code: event.CodeMaxFailures, reason: fmt.Sprintf("%d job(s) had failed before", failures)}
	}
	return nil
}

// guard runs one job, or leaves it out, so that nothing of it, not even a
// panic, reaches the others.
func (r *run) guard(ctx context.Context, j tasks.Job, skip *stop) (end event.JobEnd) {
	began := r.Now()
	end = event.JobEnd{CostUSD: new(money.USD)}
	defer func() {
		if p := recover(); p != nil {
			end.Outcome, end.ExitCode, end.Code = event.Error, event.ExitInternal, event.CodePanic
			end.Reason = fmt.Sprintf("internal fault: %v; please report it with this stack:\n%s", p, debug.Stack())
		}
		end.ElapsedMS = r.Now().Sub(began).Milliseconds()
		r.Emit(event.Event{Type: event.JobEnded, Job: j.ID, JobEnd: &end})
	}()
	if skip := r.skip(ctx, j, skip); skip != nil {
		end.Outcome, end.Reason, end.ExitCode, end.Code = skip.outcome, skip.reason, skip.exit, skip.code
		return end
	}
	return (&job{
		run: r, Job: j, start: r.Ready.starts[j.ID], unlock: func() {}, tools: &tools.Tree{},
		money: account{what: "the job's limit", cap: j.Limits.CostUSD},
	}).carryOut(ctx)
}

// skip says why a job is not even begun, nil if it is.
func (r *run) skip(ctx context.Context, j tasks.Job, unwanted *stop) *stop {
	switch {
	case ctx.Err() != nil:
		s := stopped(ctx)
		if s.outcome == event.Limit {
			s.outcome, s.code = event.Skipped, event.CodeDeadline
		}
		return s
	case r.broken() != nil:
		return &stop{outcome: event.Error, reason: r.broken().Error(), exit: event.ExitInternal}
	case unwanted != nil:
		return unwanted
	}
	if spent := r.ledger.spent(j.Model); spent != nil {
		return &stop{outcome: event.Skipped, reason: spent.Reason, exit: event.ExitBudget, code: event.CodeBudget}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := cmp.Or(r.refused[provider(j.Model)], r.refused[j.Model]); why != "" {
		return &stop{outcome: event.Skipped, reason: "the provider can't be used: " + why, exit: event.ExitAuth, code: event.CodeProvider}
	}
	return nil
}

// broken says why nothing more can be recorded.
func (r *run) broken() error {
	if r.Broken == nil {
		return nil
	}
	if err := r.Broken(); err != nil {
		return fmt.Errorf("what happens can't be recorded any more: %w", err)
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
		r.refused[provider(j.Model)] = end.reason
	}
	if end.code == event.CodeModel {
		r.refused[j.Model] = end.reason
	}
}
