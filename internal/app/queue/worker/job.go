package worker

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/app/checks"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// job runs a claimed job, and stores its result or gives it back.
func (k *worker) job(ctx context.Context, claim *queue.Claim) {
	began := k.world.Now()
	after, done := lingering(ctx)
	defer done()
	k.say("started %s of run %s%s", claim.Job.ID, claim.Run.ID, redelivered(claim))
	dir := filepath.Join(k.dir, fmt.Sprintf("job-%s-%s-%d", claim.Run.ID, claim.Job.Key, claim.Delivery))
	defer os.RemoveAll(dir)
	end, err := k.run(ctx, claim, dir)
	incomplete := errors.As(err, new(unstored))
	if err != nil {
		err = k.public(claim, err)
	}
	switch cause := context.Cause(claim.Context()); { //nolint:contextcheck // the claim may end before ctx
	case errors.Is(cause, queue.ErrLost):
		claim.Abandon()
		k.say("stopped %s of run %s: %v", claim.Job.ID, claim.Run.ID, cause)
		return
	case ctx.Err() != nil && (err != nil || end.Outcome == event.Cancelled):
		err = claim.Return(after, context.Cause(ctx).Error(), true, 0)
		k.gaveBack(claim, context.Cause(ctx), err)
		return
	case errors.Is(cause, queue.ErrCancelled) && !incomplete:
		if err != nil { // while it was prepared: neither this machine nor the job is at fault
			end, err = k.endUnrun(claim, event.CodeTerminated.End(interruption(cause).Error()))
		}
		k.finish(after, claim, began, end, err)
		return
	case err == nil && isFault(end):
		err = errors.New(end.Reason)
	}
	if incomplete || err != nil && claim.Counted()+1 < claim.Run.MaxDeliveries { // the next delivery ends an incomplete job after the last one
		k.trouble(fmt.Sprintf("%s: %v", claim.Job.ID, err))
		k.gaveBack(claim, err, claim.Return(after, err.Error(), false, shortestPause))
		return
	}
	switch {
	case err == nil:
		k.well()
	case end.Outcome == "":
		end, err = k.endUnrun(claim, event.CodeInternal.End(fmt.Sprintf("the job could not be started: %v", err)))
	default: // it has ended, though perhaps because of this machine
		err = nil
	}
	k.finish(after, claim, began, end, err)
}

// finish stores the result of a job, unless its events could not be stored.
func (k *worker) finish(ctx context.Context, claim *queue.Claim, began time.Time, end event.JobEnd, err error) {
	if err == nil {
		err = claim.Finish(ctx, queue.Result{Worker: k.id, End: end, At: k.world.Now().UTC()}, nil)
	}
	if err != nil {
		claim.Abandon() // delivered again
		k.say("result of %s of run %s not stored: %v", claim.Job.ID, claim.Run.ID, err)
		return
	}
	cost := ""
	if end.CostUSD != nil && *end.CostUSD > 0 {
		cost = fmt.Sprintf(", $%s", *end.CostUSD)
	}
	k.say("%s %s of run %s (%s%s)%s", end.Outcome, claim.Job.ID, claim.Run.ID, figures.Duration(k.world.Now().Sub(began).Milliseconds()), cost, colon(end.Reason))
}

// pack packs the files of a job.
func (k *worker) pack(dir string) ([]byte, error) {
	packer, ok := k.packers.Get().(*gzip.Writer)
	if !ok {
		packer = gzip.NewWriter(nil)
	}
	defer k.packers.Put(packer)
	return queued.Pack(dir, packer)
}

// lingerFor is how long a worker that is being stopped waits for the server.
const lingerFor = 20 * time.Second

// lingering returns a context that ends some time after another one.
func lingering(ctx context.Context) (later context.Context, done func()) {
	later, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		select {
		case <-ended:
		case <-time.After(lingerFor):
			cancel(context.Cause(ctx))
		}
	}()
	return later, func() {
		close(ended)
		cancel(nil)
	}
}

// public is an error with a text that others may know: it is in the queue and in reports.
func (k *worker) public(claim *queue.Claim, err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var plan *tasks.Plan
	if p := k.plans[claim.Run.ID]; p != nil && p.loaded {
		plan = p.plan
	}
	return errors.New(k.redacted(plan, err.Error()))
}

func colon(reason string) string {
	if reason == "" {
		return ""
	}
	first, _, _ := strings.Cut(reason, "\n")
	return ": " + first
}

// redelivered describes a delivery after the first one.
func redelivered(claim *queue.Claim) string {
	if claim.Delivery == 1 {
		return ""
	}
	return fmt.Sprintf(" again (delivery %d)", claim.Delivery)
}

func (k *worker) gaveBack(claim *queue.Claim, why, err error) {
	k.mu.Lock()
	k.gave = k.world.Now()
	k.mu.Unlock()
	if err != nil {
		claim.Abandon()
		why = errors.Join(why, err)
	}
	k.say("gave back %s of run %s: %v", claim.Job.ID, claim.Run.ID, why)
}

// isFault reports whether a job failed for something that may be a fault of this machine.
func isFault(end event.JobEnd) bool { return end.Code == event.CodeClone }

// unstored is the error of a job that was run, but whose files are not on the server.
type unstored struct{ error }

// run runs a claimed job in a directory. An error means that nothing was run, unless it is [unstored].
func (k *worker) run(ctx context.Context, claim *queue.Claim, dir string) (end event.JobEnd, err error) {
	if n := claim.Counted(); n >= claim.Run.MaxDeliveries {
		return k.endUnrun(claim, event.CodeInternal.End(deliveries(claim)))
	}
	for _, key := range claim.Job.Needs {
		need, found, err := k.queue.Result(ctx, claim.Run.ID, key)
		if err != nil {
			return end, err
		}
		if !found { // the server may have read an older state
			return end, errors.New("the result of a job that it needs was not found")
		}
		if need.End.Outcome != event.Passed {
			return k.endUnrun(claim, event.CodeNeed.End(fmt.Sprintf("needs job %s, which did not pass (%s)", need.Job, need.End.Outcome)))
		}
	}
	plan, err := k.plan(ctx, claim.Run)
	if err != nil {
		return end, err
	}
	if limit := plan.Budget.Time; limit > 0 && k.world.Now().Sub(claim.Run.Submitted) >= limit {
		return k.endUnrun(claim, event.CodeDeadline.End(fmt.Sprintf("run timed out after %s", limit)))
	}
	if plan, err = jobPlan(plan, claim, k.world.Now()); err != nil {
		return end, err
	}
	ctx, cancel := within(ctx, claim.Context())
	defer cancel()
	given, err := queued.OptionsOf(claim.Run)
	if err != nil {
		return end, err
	}
	var opts invocation.Options
	opts.NoBaseline, opts.Sandbox, opts.Accounts, opts.Log = given.NoBaseline, k.opts.Sandbox, k.accounts, view.Options{Format: "console", Level: "error", Quiet: true}
	c, err := checks.Plan(ctx, k.world, opts, plan, k.probe)
	if err != nil {
		return end, err
	}
	log, err := view.New(io.Discard, opts.Log, k.world.Getenv)
	if err != nil {
		return end, err
	}
	reports := filepath.Join(dir, "report")
	keep := &fileKeeper{ctx: context.WithoutCancel(ctx), claim: claim, dir: reports, pack: k.pack}
	record := func(line []byte, durable bool) error {
		if err := keep.before(line); err != nil {
			return err
		}
		return claim.Append(line, durable)
	}
	s := runs.Starting{
		ID: claim.Run.ID, Log: log, Private: k.privateOf(claim.Run.ID),
		Delivery: runs.Delivery{Name: fmt.Sprintf("%s-%d", claim.Job.Key, claim.Delivery), Ledger: claim.Ledger(), Record: record},
	}
	s.Claim = func() (*rundir.Dir, error) { return rundir.Claim(ctx, "", reports, s.ID, k.world.Clock()) }
	if len(claim.Log) > 0 {
		continued, out, err := reopenJob(ctx, reports, claim.Log, k.world.Clock())
		if err != nil {
			return end, err
		}
		s.History, s.Claim = continued, func() (*rundir.Dir, error) { return out, nil }
	}
	var rep *report.Report
	s.Print = func(_ world.World, r *report.Report, _ string) { rep = r }
	w := k.world
	w.Out = io.Discard
	err = runs.Start(ctx, w, opts, c, s)
	var refused *preflight.Refusal
	switch {
	case keep.fault != nil:
		return end, unstored{keep.fault}
	case rep == nil && errors.As(err, &refused):
		return k.endUnrun(claim, refused.Code.End(k.redacted(plan, refused.Err.Error())))
	case rep == nil:
		return end, err
	}
	return endOf(rep), nil
}

// within returns a context that ends with either of two, with the cause of the first one.
func within(ctx, lease context.Context) (context.Context, func()) {
	joined, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(lease, func() { cancel(interruption(context.Cause(lease))) })
	return joined, func() {
		stop()
		cancel(nil)
	}
}

// interruption is the cause of the end of a job whose lease has ended.
func interruption(cause error) event.Interrupt {
	by := "the loss of its lease"
	if errors.Is(cause, queue.ErrCancelled) {
		by = "millhand queue cancel"
	}
	return event.Interrupt{Signal: by, Exit: event.ExitTerminate}
}

// reopenJob makes a report directory with the events of earlier deliveries. The job is started
// again, unless they have made its commit.
func reopenJob(ctx context.Context, dir string, events []byte, c clock.Clock) (r history.Run, out *rundir.Dir, err error) {
	reports, err := files.MakeOwn(dir, 0o755)
	if err != nil {
		return r, nil, err
	}
	defer reports.Close()
	if err := reports.WriteNew("events.jsonl", events); err != nil {
		return r, nil, err
	}
	if out, err = rundir.Reopen(ctx, dir, c); err != nil {
		return r, nil, err
	}
	past := &history.Past{}
	if _, err := out.Events(past.Emit); err != nil {
		out.Close()
		return r, nil, fmt.Errorf("events of earlier deliveries: %w", err)
	}
	r, err = history.Decide(past, history.Order{Do: history.Start{}})
	return r, out, err
}

// deliveries describes the deliveries of a job that no worker could end.
func deliveries(claim *queue.Claim) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s did not end the job", figures.Count(claim.Counted(), "delivery"))
	for _, d := range claim.Earlier {
		if d.Free {
			continue
		}
		why := "its worker was killed or lost its lease"
		if d.Returned != "" {
			why = d.Returned
		}
		fmt.Fprintf(&text, "\ndelivery %d to worker %s at %s: %s", d.Number, d.Worker, d.At.UTC().Format(time.RFC3339), why)
	}
	return text.String()
}

// endUnrun ends a job without running it, with what earlier deliveries cost.
func (k *worker) endUnrun(claim *queue.Claim, end event.JobEnd) (event.JobEnd, error) {
	earlier, err := readEarlier(claim.Log)
	if err != nil { // nothing can be appended to what somebody else has written
		return event.CodeInternal.End(fmt.Sprintf("events of earlier deliveries: %v", err)), nil
	}
	var failed error
	stream := event.NewStream(k.world.Now, event.SinkFunc(func(e event.Event) error {
		line, err := event.Line(e)
		if err == nil {
			err = claim.Append(append(line, '\n'), false)
		}
		failed = errors.Join(failed, err)
		return err
	}), &earlier.fold)
	stream.Continue(earlier.seq)
	if earlier.seq == 0 {
		stream.Emit(event.Event{Type: event.RunStarted, Run: queued.Start(claim.Run, claim.Job)})
	}
	for _, e := range earlier.open {
		lost := history.LostTurn(*e.Turn)
		stream.Emit(event.Event{Type: event.TurnEnded, Job: e.Job, Session: e.Session, Turn: &lost})
	}
	if j, found := earlier.fold.Job(claim.Job.ID); found && earlier.seq > 0 {
		end.Attempts, end.Turns, end.Usage, end.CostUSD = j.Attempts, j.Turns, j.Usage, j.CostUSD
	}
	stream.Emit(event.Event{Type: event.JobEnded, Job: claim.Job.ID, JobEnd: &end})
	stream.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: end.ExitCode.OutcomeOf(), ExitCode: end.ExitCode}})
	return end, failed
}

// earlierEvents are those of the deliveries of a job that did not end it.
type earlierEvents struct {
	seq  int64         // of the last one; 0 for none
	open []event.Event // starts of turns that did not end
	fold report.Fold
}

func readEarlier(text []byte) (*earlierEvents, error) {
	earlier := &earlierEvents{}
	_, err := event.Read(bytes.NewReader(text), func(e event.Event) error {
		earlier.seq = e.Seq
		switch {
		case e.Type == event.TurnStarted && e.Turn != nil:
			earlier.open = append(earlier.open, e)
		case e.Type == event.TurnEnded && e.Turn != nil:
			earlier.open = slices.DeleteFunc(earlier.open, func(start event.Event) bool {
				return start.Session == e.Session && start.Turn.Number == e.Turn.Number
			})
		}
		return earlier.fold.Emit(e)
	})
	return earlier, err
}

// endOf returns the end of the only job of a report.
func endOf(rep *report.Report) event.JobEnd {
	j := rep.Jobs[0]
	return event.JobEnd{Outcome: j.Outcome, Reason: j.Reason, Code: j.ReasonCode, ExitCode: rep.Run.ExitCode, Turns: j.Turns, Usage: j.Usage, CostUSD: j.CostUSD}
}

// The pause after jobs that failed for this machine doubles with each one in a row.
const (
	shortestPause = 5 * time.Second
	longestPause  = 5 * time.Minute
)

// trouble pauses the worker because a job failed for its machine.
func (k *worker) trouble(why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	wait := min(shortestPause<<min(k.faults, 10), longestPause)
	k.faults++
	k.until, k.paused = k.world.Now().Add(wait), why
	k.say("no jobs are claimed for %s: %s", wait, why)
}

// well ends the doubling of pauses.
func (k *worker) well() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults = 0
}
