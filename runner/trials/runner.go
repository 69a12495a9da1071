package trials

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/ablation"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// trial is a run of verify commands on a tree. A check runs all of them, and is one of several of the same tree.
type trial struct {
	key    string
	tree   ablation.Tree
	verify []tasks.Verify
	check  bool
}

// outcome is the end of a trial.
type outcome struct {
	key    string
	tree   *workTree
	failed []string
	took   time.Duration
	err    error // the context ended, or the machine could not run it
}

// Results are the names of the verify commands that failed in the trials of a job, by the key of the trial.
type Results map[string][]string

// Earlier returns the results of the trials that earlier processes have run for a job.
func Earlier(past *history.Facts) Results {
	known := Results{}
	if past != nil {
		for key, t := range past.Trials {
			known[key] = t.Failed
		}
	}
	return known
}

// runner runs trials in checkouts, some concurrently, and knows those that have run. It is used by one goroutine.
type runner struct {
	ctx     context.Context //nolint:containedctx // of one account
	site    *site.Site
	job     *site.Job
	verify  []tasks.Verify // that count
	known   Results
	running map[string]context.CancelFunc
	done    chan outcome
	idle    []*workTree
	opened  int
	runs    int
	err     error // why no more trials can run; the context's if that ended
}

func newRunner(ctx context.Context, s *site.Site, j *site.Job, known Results) *runner {
	return &runner{ctx: ctx, site: s, job: j, verify: j.Spec.Verify, known: known, running: map[string]context.CancelFunc{}, done: make(chan outcome)}
}

// of returns the trial of a tree; a check has a number.
func (r *runner) of(tree ablation.Tree, check bool, n int) trial {
	spec := r.job.Spec
	data, _ := json.Marshal([]any{r.site.Base, r.site.Below, spec.Setup, r.verify, tree.Key(), check, n})
	sum := sha256.Sum256(data)
	return trial{hex.EncodeToString(sum[:16]), tree, r.verify, check}
}

// check returns a trial of all commands, with a number.
func (r *runner) check(tree ablation.Tree, n int) trial { return r.of(tree, true, n) }

// try is an [ablation.Trier].
func (r *runner) try(tree ablation.Tree, ahead func(n int) []ablation.Tree) (failed string, ok bool) {
	names, ok := r.result(r.of(tree, false, 0), func(n int) (all []trial) {
		for _, next := range ahead(n) {
			all = append(all, r.of(next, false, 0))
		}
		return all
	})
	if len(names) > 0 {
		failed = names[0]
	}
	return failed, ok
}

// result returns the commands that failed in a trial, and false if it can't run. While it runs, trials that may be next run in other
// checkouts.
func (r *runner) result(t trial, ahead func(n int) []trial) (failed []string, ok bool) {
	if failed, ok = r.known[t.key]; ok {
		r.runs++
		return failed, r.ctx.Err() == nil
	}
	wanted := append([]trial{t}, ahead(r.job.Spec.Ablate.Jobs-1)...)
	for key, cancel := range r.running {
		if !slices.ContainsFunc(wanted, func(t trial) bool { return t.key == key }) {
			cancel()
		}
	}
	for r.err == nil {
		if failed, ok = r.known[t.key]; ok {
			r.runs++
			return failed, true
		}
		for _, next := range wanted {
			if _, known := r.known[next.key]; !known && r.running[next.key] == nil && len(r.running) < r.job.Spec.Ablate.Jobs {
				r.start(next)
			}
		}
		if len(r.running) > 0 {
			r.finish(<-r.done)
		}
	}
	return nil, false
}

// start starts a trial in a checkout that is idle, or in a new one.
func (r *runner) start(t trial) {
	tree, err := r.tree(r.ctx)
	if err != nil {
		r.err = err
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.running[t.key] = cancel
	go func() {
		began := r.job.Now()
		failed, err := tree.try(ctx, t.tree, t.verify, t.check)
		r.done <- outcome{t.key, tree, failed, r.job.Now().Sub(began), err}
	}()
}

// finish notes the end of a trial, and reports it as an event unless it was cancelled.
func (r *runner) finish(o outcome) {
	cancelled := o.err != nil && r.ctx.Err() == nil && errors.Is(o.err, context.Canceled)
	r.running[o.key]()
	delete(r.running, o.key)
	r.give(o.tree)
	switch {
	case cancelled:
	case r.ctx.Err() != nil:
		r.err = context.Cause(r.ctx)
	case o.err != nil:
		r.err = o.err
	default:
		failed := append([]string{}, o.failed...)
		r.known[o.key] = failed
		r.job.Emit(event.Event{Type: event.TrialEnded, Session: r.job.SessionID(r.job.Spec.ID), Trial: &event.Trial{Key: o.key, Failed: failed, ElapsedMS: o.took.Milliseconds()}})
	}
}

// tree returns a checkout that is idle, or makes one.
func (r *runner) tree(ctx context.Context) (*workTree, error) {
	if n := len(r.idle); n > 0 {
		t := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return t, nil
	}
	r.opened++
	return open(ctx, r.site, r.job.Spec.Setup, r.opened)
}

// give makes a checkout idle.
func (r *runner) give(t *workTree) { r.idle = append(r.idle, t) }

// close ends all trials, and removes the checkouts.
func (r *runner) close() error {
	for _, cancel := range r.running {
		cancel()
	}
	for len(r.running) > 0 {
		o := <-r.done
		delete(r.running, o.key)
		r.give(o.tree)
	}
	var errs []error
	for _, t := range r.idle {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}
