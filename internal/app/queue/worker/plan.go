package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// Options are what a worker is started with.
type Options struct {
	Server   queue.Options
	Policies load.PolicyOptions
	Jobs     int
	Sandbox  string
	Once     bool
	Drain    bool
	MaxIdle  time.Duration
	MinFree  int64 // bytes
	Quiet    bool
}

// worker claims jobs of a queue and runs them.
type worker struct {
	world world.World
	opts  Options
	queue *queue.Queue
	id    string
	host  string
	began time.Time
	dir   string // private directory for runs and jobs
	probe *levels.Probe

	accounts *models.Accounts  // of providers, for all jobs
	pauses   chan announcement // of these
	packers  sync.Pool         // of *gzip.Writer

	running sync.WaitGroup
	mu      sync.Mutex
	claims  map[*queue.Claim]time.Time // when each was claimed
	plans   map[string]*queuedPlan     // by id of the run
	stopped map[string]bool            // runs that were cancelled
	refused map[string]string          // by id of the run: why
	paused  string                     // why it claims nothing; "" if it does
	until   time.Time                  // when it claims again, after a job failed for this machine
	gave    time.Time                  // when a job was given back
	faults  int                        // so many in a row
	changed chan struct{}              // wakes show
	lacks   string                     // variables that jobs require; used by loop only
}

// say prints a line for people.
func (k *worker) say(format string, args ...any) {
	if !k.opts.Quiet {
		fmt.Fprintln(k.world.Err, printable.Text(fmt.Sprintf(format, args...)))
	}
}

// queuedPlan is the plan of a run, loaded from its stored inputs.
type queuedPlan struct {
	once sync.Once
	plan *tasks.Plan
	err  error

	loaded  bool // guarded by the worker's lock, as are the others
	used    time.Time
	private *sandbox.Private // files of the system, which a run searches for once
}

// accept returns why this worker runs no job of a run; nil if it does.
func (k *worker) accept(ctx context.Context, r *queue.Run) error {
	_, err := k.plan(ctx, r)
	k.forget(r.ID)
	return err
}

// privateOf returns the private files of the system for jobs of a run; nil if its plan is not in
// memory.
func (k *worker) privateOf(run string) *sandbox.Private {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.plans[run]; p != nil {
		return p.private
	}
	return nil
}

// mostPlans is how many plans a worker has in memory, besides those of jobs that it runs.
const mostPlans = 16

// forget drops the plans that were not used for the longest time, except one. They are loaded
// again if jobs of their runs are delivered. Only the goroutine that claims jobs calls it.
func (k *worker) forget(except string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	used := map[string]bool{except: true}
	for c := range k.claims {
		used[c.Run.ID] = true
	}
	for len(k.plans) > mostPlans+len(used) {
		oldest := ""
		for id, p := range k.plans {
			if !used[id] && (oldest == "" || p.used.Before(k.plans[oldest].used)) {
				oldest = id
			}
		}
		delete(k.plans, oldest)
		delete(k.refused, oldest)
		k.queue.Forget(oldest)
		os.RemoveAll(k.inputs(oldest))
	}
}

// inputs is the directory with the inputs of a run.
func (k *worker) inputs(run string) string { return filepath.Join(k.dir, "inputs-"+run) }

// plan returns the plan of a run. That of the submitter must be the same.
func (k *worker) plan(ctx context.Context, r *queue.Run) (*tasks.Plan, error) {
	k.mu.Lock()
	p := k.plans[r.ID]
	if p == nil {
		p = &queuedPlan{private: sandbox.NewPrivate(k.world.System...)}
		k.plans[r.ID] = p
	}
	p.used = k.world.Now()
	k.mu.Unlock()
	p.once.Do(func() {
		p.plan, p.err = k.load(ctx, r)
		k.mu.Lock()
		defer k.mu.Unlock()
		if p.loaded = p.err == nil; p.loaded {
			return
		}
		if ctx.Err() != nil || p.plan == nil && isTemporary(p.err) {
			delete(k.plans, r.ID) // the next job tries again
			return
		}
		k.refused[r.ID] = k.refusal(r, p.err)
		k.showNow()
		k.say("no jobs of run %s are run here: %v", r.ID, p.err)
	})
	return p.plan, p.err
}

// jobPlan returns the plan of a run for one of its jobs, as a shard with that job. Its lists of
// repositories are in planText.
func jobPlan(plan *tasks.Plan, claim *queue.Claim, now time.Time) (*tasks.Plan, error) {
	i := claim.Run.Index(claim.Job.Key)
	if i < 0 || i >= len(plan.Jobs) || plan.Jobs[i].ID != claim.Job.ID {
		return nil, fmt.Errorf("job %s is not in the plan", claim.Job.ID)
	}
	return plan.OneJob(i, claim.Run.Submitted.Add(plan.Budget.Time).Sub(now)), nil
}

// refusal is what others may know of why the plan of a run can't be loaded. A mistake in a file
// that a manifest names may quote that file, and a hostile manifest names files of this worker.
func (k *worker) refusal(r *queue.Run, err error) string {
	problems := fault.ProblemsOf(err)
	errors.As(err, &problems)
	shown, hidden := problem.List{}, 0
	for _, p := range problems {
		if slices.Contains(r.Manifests, p.File) || slices.Contains(r.Policies, p.File) {
			shown = append(shown, p)
		} else {
			hidden++
		}
	}
	text := err.Error()
	if len(problems) > 0 {
		text = shown.Error()
	}
	if hidden > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s\n%s in other files: the log of the worker has them", text, figures.Count(hidden, "problem")), "\n")
	}
	return k.redacted(nil, text)
}

// redacted removes the secrets of this worker from a text for others.
func (k *worker) redacted(plan *tasks.Plan, text string) string {
	return k.world.Redactor(plan).Text(text)
}

// isTemporary reports whether an error may not happen again.
func isTemporary(err error) bool {
	var problems problem.List
	return !errors.As(err, &problems) && fault.ProblemsOf(err) == nil
}

// load loads the plan of a run from its inputs, bounded by the policies of both machines.
func (k *worker) load(ctx context.Context, r *queue.Run) (*tasks.Plan, error) {
	root := k.inputs(r.ID)
	if err := k.materialize(ctx, r, root); err != nil {
		return nil, err
	}
	given, err := queued.OptionsOf(r)
	if err != nil {
		return nil, err
	}
	po := k.opts.Policies
	po.Untrusted, po.MaxProfile = given.Untrusted, given.MaxProfile
	if path := queued.Resolve(r.Dir, given.MaxProfile); r.Has(path) {
		po.MaxProfile = filepath.Join(root, path)
	} else if strings.ContainsAny(given.MaxProfile, `/\`) {
		return nil, problem.List{{File: "--max-profile", What: "the file is not an input of the run"}}
	}
	opts, err := load.TaskOptions(ctx, k.world, po)
	if err != nil {
		return nil, err
	}
	for _, path := range r.Policies {
		p, err := manifest.LoadPolicy(ctx, filepath.Join(root, path), opts)
		if err != nil {
			return nil, err
		}
		p.Name = path
		if !slices.ContainsFunc(opts.Policies, func(own policy.Policy) bool { return own.SHA256 == p.SHA256 }) {
			opts.Policies = append(opts.Policies, p)
		}
	}
	if k.opts.Policies.Untrusted { // whatever the submitter's --max-profile allows
		opts.Policies = append(opts.Policies, policy.ForUntrusted(nil))
	}
	opts.Stdin = func() ([]byte, error) { return nil, os.ErrClosed }
	if path := queued.Resolve(r.Dir, queued.StandardInput); r.Has(path) {
		opts.Stdin = func() ([]byte, error) { return os.ReadFile(filepath.Join(root, path)) }
	}
	opts.Overrides, opts.Lists, opts.Event, opts.Dir, opts.RunID = given.Overrides, tasks.RecordedLists(r.Start.Sources), r.Event, r.Dir, r.ID
	manifests, opts := tasks.Below(root, r.Manifests, opts)
	plan, err := expand.Load(ctx, manifests, opts)
	if err != nil {
		return nil, err
	}
	if err := plan.Unqueueable(); err != nil {
		return nil, err
	}
	if outside := plan.Outside(root); len(outside) > 0 {
		return nil, problem.List{{File: outside[0], What: "it is read, but is not an input of the run"}}
	}
	if plan, err = load.Lower(ctx, plan, po, opts); err != nil {
		return nil, err
	}
	if plan.Hash != r.Start.PlanHash {
		return plan, errors.New("the plan differs from the submitted one: this worker has another version of millhand, or other values of variables")
	}
	return plan, nil
}

// materialize writes the inputs of a run below a directory.
func (k *worker) materialize(ctx context.Context, r *queue.Run, root string) error {
	var inputs []tasks.Input
	left := tasks.MaxInputBytes
	for _, f := range r.Files {
		in := tasks.Input{Path: f.Path, Mode: f.Mode}
		if f.SHA256 != "" {
			data, err := k.queue.Input(ctx, f.SHA256, left)
			if err != nil {
				return fmt.Errorf("read %s: %w", f.Path, err)
			}
			in.Data = data
			left -= len(data)
		}
		inputs = append(inputs, in)
	}
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	return tasks.Materialize(root, inputs)
}
