package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/queuetest"
)

// Leases of tests: of a job that is delivered again when its worker is silent, which happens after half of the time on a busy
// machine, too; and of others.
const (
	short = 10 * time.Second
	lease = 10 * time.Minute
)

func open(t *testing.T, s *queuetest.Server) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), queue.Options{URL: s.URL, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// run returns a run with jobs, each "NAME" or "NAME needs NAME".
func run(id string, jobs ...string) *queue.Run {
	r := &queue.Run{ID: id, MaxDeliveries: 3, Lease: lease, CostUSD: money.Dollar, Files: []queue.File{{Path: "/m.yaml", SHA256: queue.HashOf([]byte("m"))}}}
	for _, text := range jobs {
		fields := strings.Fields(text)
		j := queue.Job{ID: fields[0], Key: "k-" + fields[0], Requires: [][]string{{"A", "B"}}}
		if len(fields) > 2 {
			j.Needs = []string{"k-" + fields[2]}
		}
		r.Jobs = append(r.Jobs, j)
	}
	return r
}

func submit(t *testing.T, q *queue.Queue, r *queue.Run) *queue.Submitted {
	t.Helper()
	done, err := q.Submit(t.Context(), r, func(string) ([]byte, error) { return []byte("m"), nil })
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func claims(t *testing.T, q *queue.Queue, worker string) *queue.Claims {
	t.Helper()
	c, err := q.Claims(worker, map[string]bool{"B": true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// within claims a job that is offered within a time; nil if none is.
func within(ctx context.Context, c *queue.Claims, idle time.Duration) (*queue.Claim, error) {
	for until := time.Now().Add(idle); ; {
		offer, err := c.Next(ctx, time.Until(until))
		if offer == nil || err != nil {
			return nil, err
		}
		if claim, err := offer.Take(ctx); claim != nil || err != nil {
			return claim, err
		}
	}
}

// offered waits for an offer.
func offered(t *testing.T, c *queue.Claims) *queue.Offer {
	t.Helper()
	offer, err := c.Next(t.Context(), 20*time.Second)
	if err != nil || offer == nil {
		t.Fatalf("offer: %v, %v", offer, err)
	}
	return offer
}

func next(t *testing.T, c *queue.Claims) *queue.Claim {
	t.Helper()
	claim, err := within(t.Context(), c, 5*time.Minute)
	if err != nil || claim == nil {
		t.Fatalf("claim: %v, %v", claim, err)
	}
	t.Cleanup(claim.Abandon)
	return claim
}

func none(t *testing.T, c *queue.Claims) {
	t.Helper()
	if claim, err := within(t.Context(), c, time.Millisecond); claim != nil || err != nil {
		t.Fatalf("got claim %+v, error %v", claim, err)
	}
}

func finish(t *testing.T, c *queue.Claim, outcome event.Outcome) {
	t.Helper()
	if err := c.Finish(t.Context(), queue.Result{Worker: "w", End: event.JobEnd{Outcome: outcome}}, []byte("files of "+c.Job.ID)); err != nil {
		t.Fatal(err)
	}
}

// A job that is submitted with another lease, or by a plan with other requirements, is the same job.
func TestAJobIsQueuedOnceWithAnyLease(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	longer := run("r2", "a", "b")
	longer.Lease = 2 * lease
	between := func(string) ([]byte, error) { // after Submit has looked for the jobs, before it queues them
		submit(t, q, run("r1", "a"))
		time.Sleep(200 * time.Millisecond) // the server recognises copies of messages for less
		return []byte("m"), nil
	}
	if done, err := q.Submit(t.Context(), longer, between); err != nil || done.Queued != 1 || done.Present["r1"] != 1 {
		t.Errorf("submitted with another lease at the same time: %+v, %v", done, err)
	}
	longer.ID, longer.Lease = "r3", 3*lease
	if done := submit(t, q, longer); done.Queued != 0 || done.Present["r1"] != 1 || done.Present["r2"] != 1 {
		t.Errorf("submitted with another lease: %+v", done)
	}
	anywhere := run("r4", "a", "b")
	anywhere.Jobs[0].Requires, anywhere.Jobs[1].Requires = nil, nil
	if done := submit(t, q, anywhere); done.Queued != 0 || done.Present["r1"] != 1 || done.Present["r2"] != 1 {
		t.Errorf("submitted with other requirements: %+v", done)
	}
	c, claimed := claims(t, q, "w1"), map[string]bool{}
	for range 2 {
		claim := next(t, c)
		claimed[claim.Run.ID+" "+claim.Job.ID] = true
		finish(t, claim, event.Passed)
	}
	none(t, c)
	if !claimed["r1 a"] || !claimed["r2 b"] {
		t.Errorf("claimed %v", claimed)
	}
}

func TestJobsAreDeliveredOnceAndInOrder(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	r := run("r1", "a", "b needs a", "c")
	if done := submit(t, q, r); done.Queued != 2 || done.Waiting != 1 || len(done.Present) != 0 {
		t.Errorf("submitted %+v", done)
	}
	if done := submit(t, q, run("r2", "a", "c")); done.Present["r1"] != 2 || done.Queued != 0 {
		t.Errorf("submitted again: %+v", done)
	}
	if _, err := q.Run(t.Context(), "r2"); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("a run without jobs of its own is stored: %v", err)
	}
	c := claims(t, q, "w1")
	first, second := next(t, c), next(t, c)
	if first.Job.ID != "a" || second.Job.ID != "c" || first.Delivery != 1 {
		t.Errorf("claimed %s (delivery %d) and %s", first.Job.ID, first.Delivery, second.Job.ID)
	}
	none(t, c)
	finish(t, first, event.Passed)
	third := next(t, c)
	if third.Job.ID != "b" {
		t.Errorf("claimed %s after the job that it needs", third.Job.ID)
	}
	finish(t, second, event.Failed)
	finish(t, third, event.Passed)
	none(t, c)
	results, err := q.Results(t.Context(), first.Run)
	if err != nil || len(results) != 3 || results["k-c"].End.Outcome != event.Failed || results["k-c"].Worker != "w" {
		t.Errorf("results %+v, %v", results, err)
	}
	files, err := q.Files(t.Context(), results["k-b"])
	if err != nil || string(files) != "files of b" {
		t.Errorf("files %q, %v", files, err)
	}
	if n, err := q.Ended(t.Context(), first.Run); n != 3 || err != nil {
		t.Errorf("%d ended, %v", n, err)
	}
	if done := submit(t, q, run("r3", "a", "c")); done.Queued != 2 {
		t.Errorf("jobs that have ended are not queued again: %+v", done)
	}
}

func TestPresentJobsAreSkipped(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	submit(t, q, run("r1", "a"))
	r2 := run("r2", "a", "b needs a", "c")
	if done := submit(t, q, r2); done.Present["r1"] != 1 || done.Queued != 1 || done.Waiting != 1 {
		t.Errorf("submitted %+v", done)
	}
	results, err := q.Results(t.Context(), r2)
	if err != nil || results["k-a"].End.Outcome != event.Skipped || !strings.Contains(results["k-a"].End.Reason, "r1") {
		t.Errorf("results %+v, %v", results, err)
	}
	var got []string
	for c := claims(t, q, "w1"); len(got) < 3; {
		claim := next(t, c)
		got = append(got, claim.Run.ID+" "+claim.Job.ID)
		finish(t, claim, event.Passed)
	}
	if slices.Sort(got); !slices.Equal(got, []string{"r1 a", "r2 b", "r2 c"}) {
		t.Errorf("claimed %q", got)
	}
}

func TestAWorkerWithoutTheVariablesClaimsNothing(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	submit(t, q, run("r1", "a"))
	c, err := q.Claims("w", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	none(t, c)
	// The server counts what waits a moment after it has stored it.
	lacks, limit := c.Lacks(t.Context()), time.Now().Add(5*time.Minute)
	for !slices.Equal(lacks, []string{"A or B"}) && time.Now().Before(limit) {
		none(t, c)
		lacks = c.Lacks(t.Context())
	}
	if !slices.Equal(lacks, []string{"A or B"}) {
		t.Errorf("lacks %q", lacks)
	}
}

func TestALongJobIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	r := run("r1", "a")
	r.Lease = short
	submit(t, q, r)
	claim, other := next(t, claims(t, q, "w1")), claims(t, q, "w2")
	if again, err := within(t.Context(), other, short*3/2); again != nil || err != nil {
		t.Fatalf("delivered again: %+v, %v", again, err)
	}
	finish(t, claim, event.Passed)
	none(t, other)
}

// lose makes a claim's heartbeats stop, as if its process did.
func lose(t *testing.T, s *queuetest.Server) (*queue.Queue, *queue.Claim) {
	t.Helper()
	stopped := make(chan struct{})
	began := time.Now()
	q, err := queue.Open(t.Context(), queue.Options{URL: s.URL, Now: func() time.Time {
		select {
		case <-stopped: // the process sees nothing of the time that passes
			return began
		default:
			return time.Now()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	claim := next(t, claims(t, q, "w1"))
	began = time.Now()
	close(stopped)
	return q, claim
}

func TestALostLeaseIsFenced(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q := open(t, s)
	r := run("r1", "a")
	r.Lease = short
	submit(t, q, r)
	_, zombie := lose(t, s)
	ledger := zombie.Ledger()
	if ok, err := ledger.Reserve(t.Context(), money.Sums{Spent: money.Dollar / 8, Reserved: money.Dollar / 8, Requests: 1}, money.Dollar); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := zombie.Append([]byte("{\"line\":1}\n{\"line"), true); err != nil {
		t.Fatal(err)
	}
	claim := next(t, claims(t, q, "w2"))
	if claim.Delivery != 2 || claim.Counted() != 1 || claim.Earlier[0].Worker != "w1" || string(claim.Log) != "{\"line\":1}\n" {
		t.Errorf("claim %+v, log %q", claim, claim.Log)
	}
	if sums, _, err := q.Money(t.Context(), "r1"); sums != (money.Sums{Spent: money.Dollar / 4}) || err != nil {
		t.Errorf("sums %+v, %v: want what the first delivery had reserved", sums, err)
	}
	if _, err := ledger.Reserve(t.Context(), money.Sums{Reserved: 1}, money.Dollar); !errors.Is(err, queue.ErrLost) {
		t.Errorf("a lost claim reserves money: %v", err)
	}
	if err := ledger.Settle(t.Context(), money.Sums{Spent: money.Dollar / 4}); !errors.Is(err, queue.ErrLost) {
		t.Errorf("a lost claim charges twice: %v", err)
	}
	if err := zombie.Append([]byte("\":2}\n"), true); !errors.Is(err, queue.ErrLost) {
		t.Errorf("a lost claim appends events: %v", err)
	}
	if err := zombie.Context().Err(); err == nil {
		t.Error("the context of a lost claim goes on")
	}
	if err := zombie.Finish(t.Context(), queue.Result{Worker: "w1"}, nil); !errors.Is(err, queue.ErrLost) {
		t.Errorf("a lost claim stores a result: %v", err)
	}
	zombie.Abandon()
	if err := claim.Append([]byte("{\"line\":3}\n"), true); err != nil {
		t.Fatal(err)
	}
	finish(t, claim, event.Passed)
	texts := map[string]string{}
	r, err := q.Run(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	err = q.EachLog(t.Context(), r, func(key string, text []byte, _ *queue.Result) error {
		texts[key] = string(text)
		return nil
	})
	if want := "{\"line\":1}\n{\"line\":3}\n"; err != nil || texts["k-a"] != want {
		t.Errorf("log %q, %v, want %q", texts["k-a"], err, want)
	}
}

// A worker that refuses the run polls as often as the other one.
func TestAnAcceptingWorkerGetsTheJob(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	refusing := claims(t, q, "w1")
	submit(t, q, run("r1", "a", "b", "c"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			offer, err := refusing.Next(ctx, time.Hour)
			if err == nil {
				err = offer.Leave(ctx)
			}
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}()
	c := claims(t, q, "w2")
	for range 3 {
		claim, err := within(t.Context(), c, 5*time.Minute)
		if claim == nil || err != nil {
			t.Fatalf("claim %+v, %v", claim, err)
		}
		finish(t, claim, event.Passed)
	}
	cancel()
	<-ended
}

func TestJobsThatAreGivenBack(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	submit(t, q, run("r1", "a"))
	c := claims(t, q, "w1")
	for i, free := range []bool{true, false, false} {
		claim := next(t, c)
		if claim.Delivery != i+1 {
			t.Fatalf("delivery %d, want %d", claim.Delivery, i+1)
		}
		if err := claim.Return(t.Context(), fmt.Sprint("reason ", i), free, 0); err != nil {
			t.Fatal(err)
		}
	}
	claim := next(t, c)
	if claim.Counted() != 2 || claim.Earlier[0].Returned != "reason 0" || !claim.Earlier[0].Free {
		t.Errorf("earlier deliveries %+v", claim.Earlier)
	}
	finish(t, claim, event.Passed)
}

func TestAJobThatFailedToStartIsLeftToOthers(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	submit(t, q, run("r1", "a", "b"))
	faulty, other := claims(t, q, "w1"), claims(t, q, "w2")
	claim := next(t, faulty)
	if err := claim.Return(t.Context(), "the clone failed", false, 0); err != nil {
		t.Fatal(err)
	}
	if err := q.Show(t.Context(), queue.Worker{ID: "w2", Slots: 1}); err != nil {
		t.Fatal(err)
	}
	for { // the other job is for everybody
		again, err := within(t.Context(), faulty, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if again == nil {
			break
		}
		if again.Job.ID == claim.Job.ID {
			t.Fatalf("worker w1 got job %s again", again.Job.ID)
		}
		finish(t, again, event.Passed)
	}
	again := next(t, other)
	if again.Job.ID != claim.Job.ID || again.Delivery != 2 {
		t.Errorf("claimed %s, delivery %d", again.Job.ID, again.Delivery)
	}
	finish(t, again, event.Passed)
}

func TestTheServerRestarts(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q := open(t, s)
	r := run("r1", "a", "b")
	submit(t, q, r)
	c := claims(t, q, "w1")
	claim := next(t, c)
	line := []byte(`{"text":"` + strings.Repeat("x", 3<<20) + "\"}\n") // more than one message holds
	if err := claim.Append(line, true); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	if err := claim.Append([]byte("{}\n"), true); err != nil {
		t.Fatal(err)
	}
	finish(t, claim, event.Passed)
	finish(t, next(t, c), event.Passed)
	err := q.EachLog(t.Context(), r, func(key string, text []byte, _ *queue.Result) error {
		if key == "k-"+claim.Job.ID && !bytes.Equal(text, append(line, "{}\n"...)) {
			t.Errorf("the log has %d bytes, want %d", len(text), len(line)+3)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestACancelledRun(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	r := run("r1", "a", "b")
	submit(t, q, r)
	c := claims(t, q, "w1")
	claim := next(t, c)
	if left, err := q.Cancel(t.Context(), r, "by hand"); left != 2 || err != nil {
		t.Errorf("%d jobs were left, %v", left, err)
	}
	if why, err := q.Cancelled(t.Context(), "r1"); why != "by hand" || err != nil {
		t.Errorf("cancelled: %q, %v", why, err)
	}
	none(t, c)
	claim.Cancel()
	if err := claim.Append([]byte("{}\n"), true); err != nil {
		t.Errorf("a cancelled job stores no events: %v", err)
	}
	finish(t, claim, event.Cancelled)
}

// A run that is cancelled after a worker has got the message of a job, and before the job has begun, starts no job.
func TestACancelledRunStartsNothing(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	r := run("r1", "a")
	submit(t, q, r)
	c := claims(t, q, "w1")
	offer := offered(t, c)
	if _, err := q.Cancel(t.Context(), r, "by hand"); err != nil {
		t.Fatal(err)
	}
	if claim, err := offer.Take(t.Context()); claim != nil || err != nil {
		t.Errorf("claim %+v, %v", claim, err)
	}
	none(t, c)
	none(t, claims(t, q, "w2"))
	if left, err := q.Cancel(t.Context(), r, "by hand"); left != 1 || err != nil {
		t.Errorf("cancelled again: %d, %v", left, err)
	}
}

func TestARunIsOver(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	over := func(r *queue.Run, want bool) {
		t.Helper()
		if got, err := q.Over(t.Context(), r); got != want || err != nil {
			t.Errorf("run %s is over: %v, %v; want %v", r.ID, got, err, want)
		}
	}
	late := run("late", "x")
	late.Deadline = time.Now().Add(-time.Hour)
	submit(t, q, late)
	over(late, true) // no worker is there to end its jobs
	r := run("r1", "a")
	submit(t, q, r)
	over(r, false)
	claim := next(t, claims(t, q, "w1"))
	for claim.Run.ID != r.ID {
		finish(t, claim, event.Skipped)
		claim = next(t, claims(t, q, "w1"))
	}
	if err := q.Show(t.Context(), queue.Worker{ID: "w1", Jobs: []queue.Running{{Run: "r1", Job: "a"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Cancel(t.Context(), r, "by hand"); err != nil {
		t.Fatal(err)
	}
	over(r, false)
	claim.Abandon() // its worker is killed
	if err := q.Leave(t.Context(), "w1"); err != nil {
		t.Fatal(err)
	}
	over(r, true)
}

func TestABudgetOfSeveralWorkers(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	r := run("r1", "a", "b", "c")
	submit(t, q, r)
	c := claims(t, q, "w1")
	var held []*queue.Claim
	var granted money.USD
	done := make(chan money.USD)
	for range 3 {
		claim := next(t, c)
		held = append(held, claim)
		ledger := claim.Ledger()
		go func() {
			own := money.Sums{}
			for {
				ok, err := ledger.Reserve(t.Context(), money.Sums{Spent: own.Spent, Reserved: money.Dollar / 50, Requests: 1}, money.Dollar)
				if err != nil || !ok {
					done <- own.Spent
					return
				}
				own.Spent = own.Spent.Add(money.Dollar / 100)
				if err := ledger.Settle(t.Context(), own); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	for range held {
		granted = granted.Add(<-done)
	}
	if sums, limit, err := q.Money(t.Context(), "r1"); err != nil || sums.Money() > limit || sums.Spent != granted || granted < 96*(money.Dollar/100) {
		t.Errorf("sums %+v for %v, limit %v, %v", sums, granted, limit, err)
	}
	for _, claim := range held {
		finish(t, claim, event.Passed)
	}
}

func TestWorkersShowThemselves(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	if err := q.Show(t.Context(), queue.Worker{ID: "w1", Slots: 2}); err != nil {
		t.Fatal(err)
	}
	if all, err := q.Workers(t.Context()); err != nil || len(all) != 1 || all[0].Slots != 2 {
		t.Errorf("workers %+v, %v", all, err)
	}
	if err := q.Leave(t.Context(), "w1"); err != nil {
		t.Fatal(err)
	}
	if all, err := q.Workers(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("workers %+v, %v", all, err)
	}
	got := make(chan string, 4)
	go q.Signals(t.Context(), func(run string) { got <- run }, func(account string, c queue.Cooldown) { got <- account + " " + c.Wait.String() }) // ends with the test
	if err := q.Cool(t.Context(), "key", queue.Cooldown{Worker: "w1", Wait: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "key 1m0s" {
		t.Errorf("got %q", text)
	}
}
