package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/runner/admission"
	"github.com/millhand/millhand/runner/agent"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/delivery"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// Options has everything that a run needs in addition to its plan.
type Options struct {
	site.Options
	About About
	// Broken returns an error if events can't be recorded. Then running jobs finish,
	// because they are paid for, and no others start. It may be nil.
	Broken func() error
	// Warnings are emitted at the start of the run.
	Warnings  []string
	Stops     Stops
	FailOn    event.FailOn
	Costs     Costs
	Equipment agent.Equipment
}

// Costs are what else than the plan's own budget counts the cost of a run.
type Costs struct {
	// Spent is called before and after each model call with the cost of the run,
	// including the maximum cost of requests in flight. With a Ledger it is the cost of this
	// process. It is not called concurrently. It may be nil.
	Spent func(usd money.USD)
	// Ledger has the cost of all processes that run jobs of the plan, for the limit of its
	// budget: also that of History. nil: no other process does.
	Ledger money.Ledger
}

// Stops are what keeps jobs from starting. Running jobs finish, because they are paid for.
type Stops struct {
	MaxFailures int               // number of failed jobs after which no more are started; 0 for no limit
	Rollout     admission.Rollout // gets the run's events, too; nil without one
}

// waits reports whether a job can't start yet.
func (s Stops) waits(j tasks.Job) bool { return s.Rollout != nil && s.Rollout.Waits(j) }

// holds returns why a rollout does not let a job start any more; "" if it starts.
func (s Stops) holds(j tasks.Job) string {
	if s.Rollout == nil {
		return ""
	}
	return s.Rollout.Admit(j)
}

// About is what the record of a run contains. The run uses it only for texts of pull
// requests.
type About struct {
	Invocation *event.Invocation // the command line; nil if it is unknown
	Version    string            // of millhand
	Prices     *event.PriceTable // that costs are calculated with; nil if unknown
	StartedBy  *event.StartedBy  // nil outside of CI
	// Head returns the hash of the last event of a job, for the trailers of commits; "" without
	// evidence. It may be nil.
	Head func(job string) string
}

// run is one execution of a plan.
type run struct {
	*site.Run
	opts   Options
	budget *money.Budget
	agents *agent.Run

	publications chan struct{} // has an element for each job that is being published

	notStarted    *ending.Stop // of all jobs: a run_start hook failed; set before the first one
	hookProcesses confinement.Processes
}

// Run runs the plan and returns the exit code. The events start with run.started and end
// with run.ended.
func Run(ctx context.Context, plan *tasks.Plan, o Options) event.Exit {
	r := newRun(plan, o)
	began := r.opts.Now()
	r.opts.Emit(event.Event{Type: event.RunStarted, Run: Describe(plan, r.opts)})
	if r.opts.Sandbox.Warning != "" && plan.RunsCommands() {
		r.opts.Warnings = append(r.opts.Warnings, r.opts.Sandbox.Warning)
	}
	for _, text := range r.opts.Warnings {
		r.opts.Emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: text}})
	}
	if past := o.History.Past; past != nil {
		past.Close()
		objectdb.RemoveStale(filepath.Join(o.Dir.Path(), filepath.FromSlash(savedsession.States))) // of the process that it continues
		began = began.Add(-past.Elapsed)
	}
	settle := r.shareBudget(ctx)
	hooks := r.startHooks(ctx)
	compiled := r.agents.CompileEarly()
	r.PrepareSearch()
	ends, others := r.jobs(ctx)
	compiled()
	settle()
	r.Close(ctx)
	if err := r.broken(); err != nil {
		r.opts.Emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: err.Error()}})
		others = append(others, event.ExitInternal)
	}
	worst := event.Worst(append(event.ExitsOf(ends), others...))
	exit := r.opts.FailOn.Exit(ends, others...)
	outcome, wave := worst.OutcomeOf(), (*event.Rollout)(nil)
	if rollout := r.opts.Stops.Rollout; rollout != nil {
		outcome, exit, wave = rollout.End(outcome, exit)
	}
	r.endHooks(ctx, hooks, outcome, exit, ends)
	r.opts.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{
		Outcome: outcome, ExitCode: exit, ElapsedMS: r.opts.Now().Sub(began).Milliseconds(), Rollout: wave,
	}})
	return exit
}

// settling is how long the end of a run waits for its ledger.
const settling = 30 * time.Second

// shareBudget shares the run's budget with other processes, if it has a ledger, until the
// returned function is called.
func (r *run) shareBudget(ctx context.Context) (settle func()) {
	if r.opts.Costs.Ledger == nil {
		return func() {}
	}
	end := r.budget.Share(ctx, r.opts.Costs.Ledger)
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
		defer cancel()
		if err := end(ctx); err != nil {
			r.opts.Emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: fmt.Sprintf("the cost of the run is not in the ledger of its budget, where too much remains reserved: %v", err)}})
		}
	}
}

func newRun(plan *tasks.Plan, o Options) *run {
	r := &run{
		opts: o, budget: money.NewBudget("run budget", plan.Budget.CostUSD, o.Now, o.Costs.Spent), publications: make(chan struct{}, publish.MaxParallel),
	}
	r.Run = site.NewRun(plan, &r.opts.Options)
	r.agents = agent.NewRun(r.Run, &r.opts.Options, r.budget, o.Equipment, o.About.Version)
	if spent := o.History.Past.Spent(); spent > 0 && o.Costs.Ledger == nil {
		r.budget.SpentBefore(spent)
	}
	return r
}

// Describe returns the payload of the run.started event of a plan with options.
func Describe(plan *tasks.Plan, o Options) *event.Run {
	started := &event.Run{
		ID: o.RunID, Name: plan.Name, Manifest: plan.Manifests, PlanHash: plan.Hash, Version: o.About.Version,
		Jobs: planned(plan.Jobs, plan.Shard.Index), Elsewhere: []event.PlannedJob{},
		Prices: o.About.Prices, StartedBy: o.About.StartedBy, Evidence: evidence(plan),
		Invocation: o.About.Invocation, Resumed: o.History.Resumed(idsOf(plan.Jobs)), ForkedFrom: o.History.Past.ForkedFrom(),
	}
	if rollout := o.Stops.Rollout; rollout != nil {
		started.Rollout = rollout.Start()
	}
	if limit := plan.Budget.CostUSD; limit > 0 {
		started.MaxCostUSD = &limit
	}
	for _, p := range plan.Policies {
		started.Policies = append(started.Policies, event.PolicyFile{Path: p.Name, SHA256: p.SHA256})
	}
	started.Sources = plan.RecordedSources()
	if s := plan.Shard; s.Total > 0 {
		started.Shard = &event.Shard{Index: s.Index, Total: s.Total}
		shards := tasks.ShardOf(plan, s.Total)
		for _, j := range plan.Elsewhere {
			started.Elsewhere = append(started.Elsewhere, plannedJob(j, shards[j.ID]))
		}
	}
	return started
}

func idsOf(jobs []tasks.Job) (ids []string) {
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
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
		Shard: shard, Location: j.Repo.Location(), Index: j.Index, Hash: j.Hash, Findings: j.Findings,
	}
}

// progressed is a message of a job to the scheduler, with its index in the plan: that only
// its publishing is left, or its end.
type progressed struct {
	index int
	end   *event.JobEnd // nil if the job is not published yet
}

// slots counts running jobs.
type slots struct {
	total       int // at least 1
	maxFailures int // 0 for no limit
	running     int // in slots
	publishing  int // without one
}

// free reports whether another job can start. Jobs that are published have no slot, unless
// their failures could be the last ones that the run allows.
func (s *slots) free(failures int) bool {
	used := s.running
	if s.maxFailures > 0 && failures+s.publishing >= s.maxFailures {
		used += s.publishing
	}
	return used < s.total
}

// jobs runs every job, up to the plan's number in parallel, in the plan's order after
// the jobs that they need. It returns their ends, and the exit code of a signal.
func (r *run) jobs(ctx context.Context) (all []event.JobEnd, signals []event.Exit) {
	jobs := r.Plan.Jobs
	ends := make(map[string]event.JobEnd, len(jobs))
	messages := make(chan progressed)
	var waiting []int
	busy := map[string]bool{} // trees that a job is changing in place
	failures := 0
	for i, j := range jobs {
		keep, ended := r.opts.History.Job(j.ID).Intent.(history.Keep)
		if !ended {
			waiting = append(waiting, i)
			continue
		}
		ends[j.ID] = keep.End
		failures += failed(keep.End)
	}
	at := &slots{total: max(r.Plan.Parallel, 1), maxFailures: r.opts.Stops.MaxFailures}
	published := map[int]bool{}
	for at.running+at.publishing > 0 || len(waiting) > 0 {
		for at.free(failures) {
			next := slices.IndexFunc(waiting, func(i int) bool {
				return ready(jobs[i], ends) && !busy[r.ownTree(jobs[i])] && !r.opts.Stops.waits(jobs[i])
			})
			if next < 0 {
				break
			}
			i := waiting[next]
			waiting = slices.Delete(waiting, next, next+1)
			at.running++
			if tree := r.ownTree(jobs[i]); tree != "" {
				busy[tree] = true
			}
			skip := r.unwanted(jobs[i], ends, failures)
			go func() {
				end := r.guard(ctx, jobs[i], skip, func() { messages <- progressed{index: i} })
				messages <- progressed{i, &end}
			}()
		}
		m := <-messages
		switch {
		case m.end == nil:
			at.running, at.publishing, published[m.index] = at.running-1, at.publishing+1, true
			continue
		case published[m.index]:
			at.publishing--
		default:
			at.running--
		}
		ends[jobs[m.index].ID] = *m.end
		failures += failed(*m.end)
		delete(busy, r.ownTree(jobs[m.index]))
		r.opts.Preflight.Ended(jobs[m.index].ID)
	}
	for _, j := range jobs {
		all = append(all, ends[j.ID])
	}
	if i, ok := context.Cause(ctx).(event.Interrupt); ok { //nolint:errorlint // causes are not wrapped
		signals = append(signals, i.Exit)
	}
	return all, signals
}

// failed returns 1 for a job that failed, 0 for others.
func failed(end event.JobEnd) int {
	if end.Outcome == event.Passed || end.Outcome == event.Skipped {
		return 0
	}
	return 1
}

// ownTree returns the tree that a job changes in place, "" if it has a separate worktree.
// Jobs on one tree run in the plan's order.
func (r *run) ownTree(j tasks.Job) string {
	if j.Repo.Kind != tasks.RepoPath || j.Commit != nil && j.Commit.Branch != tasks.CurrentBranch {
		return ""
	}
	if origin := r.opts.Preflight.Start(j.ID).Origin; origin != nil {
		return origin.Root() // shared by repositories of the plan that are its directories
	}
	return j.Repo.Dir
}

// ready reports whether all jobs in needs have ended.
func ready(j tasks.Job, ends map[string]event.JobEnd) bool {
	return !slices.ContainsFunc(j.Needs, func(id string) bool {
		_, over := ends[id]
		return !over
	})
}

// unwanted returns why a job is skipped because of earlier jobs, nil if it is not.
func (r *run) unwanted(j tasks.Job, ends map[string]event.JobEnd, failures int) *ending.Stop {
	if _, out := r.opts.History.Job(j.ID).Intent.(history.LeaveOut); out {
		return &ending.Stop{Code: event.CodeNotRun, Detail: "the task has changed since the run was started"}
	}
	if skip := r.opts.Preflight.Start(j.ID).Skip; skip != nil {
		return skip
	}
	for _, id := range j.Needs {
		if o := ends[id].Outcome; o != event.Passed {
			return &ending.Stop{Code: event.CodeNeed, Detail: fmt.Sprintf("needs job %s, which did not pass (%s)", id, o)}
		}
	}
	if r.opts.Stops.MaxFailures > 0 && failures >= r.opts.Stops.MaxFailures {
		return &ending.Stop{Code: event.CodeMaxFailures, Detail: fmt.Sprintf("maximum number of failed jobs reached (%d)", failures)}
	}
	if held := r.opts.Stops.holds(j); held != "" {
		return &ending.Stop{Code: event.CodeRollout, Detail: held}
	}
	return nil
}

// guard runs or skips one job, and isolates the other jobs from its failures, including
// panics. slot is called when only the publishing of the job is left.
func (r *run) guard(ctx context.Context, j tasks.Job, skip *ending.Stop, slot func()) (end event.JobEnd) {
	began := r.opts.Now()
	defer func() {
		if p := recover(); p != nil {
			end = event.CodePanic.End(fmt.Sprintf("internal error: %v; please report it with this stack:\n%s", p, debug.Stack()))
		}
		end.ElapsedMS = (r.opts.Now().Sub(began) + r.opts.History.Past.Job(j.ID).Time()).Milliseconds()
		r.opts.Emit(event.Event{Type: event.JobEnded, Job: j.ID, JobEnd: &end})
	}()
	if skip := r.skip(ctx, j, skip); skip != nil {
		return skip.Code.End(skip.Detail)
	}
	running := r.job(j)
	running.slot = slot
	return running.execute(ctx)
}

// job returns the job for a specification of the plan.
func (r *run) job(spec tasks.Job) *job {
	j := &job{Job: r.agents.Job(spec), run: r, opts: &r.opts}
	j.requests = delivery.NewRequests(j.Job.Job, r.opts.Redact)
	return j
}

// skip returns why a job is not started, nil if it is.
func (r *run) skip(ctx context.Context, j tasks.Job, unwanted *ending.Stop) *ending.Stop {
	switch {
	case ctx.Err() != nil:
		return stoppedBefore(ctx)
	case r.notStarted != nil:
		return r.notStarted
	case r.broken() != nil:
		return &ending.Stop{Code: event.CodeInternal, Detail: r.broken().Error()}
	case unwanted != nil:
		return unwanted
	case r.opts.Preflight.Start(j.ID).Earlier.Hash != "":
		return nil // only a push, which costs nothing
	}
	if err := r.budget.CanStart(ctx, j.Model); err != nil {
		return unpaid(ctx, err)
	}
	if why := r.agents.Refuses(j.Model); why != "" {
		return &ending.Stop{Code: event.CodeProvider, Detail: "provider not usable: " + why}
	}
	return nil
}

// stoppedBefore returns why a job is not started after ctx has ended.
func stoppedBefore(ctx context.Context) *ending.Stop {
	s := ending.Of(ctx)
	if s.Code == event.CodeRunTime {
		s.Code = event.CodeDeadline
	}
	return s
}

// unpaid returns why a job is not started, from the error of the budget.
func unpaid(ctx context.Context, err error) *ending.Stop {
	if exceeded := (*money.Exceeded)(nil); errors.As(err, &exceeded) {
		return &ending.Stop{Code: event.CodeBudget, Detail: err.Error()}
	}
	if ctx.Err() != nil {
		return stoppedBefore(ctx)
	}
	return &ending.Stop{Code: event.CodeInternal, Detail: err.Error()}
}

// broken returns an error if events can't be recorded.
func (r *run) broken() error {
	if r.opts.Broken == nil {
		return nil
	}
	if err := r.opts.Broken(); err != nil {
		return fmt.Errorf("events can't be recorded: %w", err)
	}
	return nil
}
