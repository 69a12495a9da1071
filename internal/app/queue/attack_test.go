package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/queuetest"
)

// raw connects to the server without package queue.
func raw(t *testing.T, s *queuetest.Server) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestHostileRunsAreRefused(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	files, err := js.ObjectStore(t.Context(), "millhand-files")
	must(t, err)
	for name, change := range map[string]func(*queue.Run){
		"id":               func(r *queue.Run) { r.ID = "/../../../home" },
		"key":              func(r *queue.Run) { r.Jobs[0].Key = "../x" },
		"keys":             func(r *queue.Run) { r.Jobs[1].Key = r.Jobs[0].Key },
		"key of the run":   func(r *queue.Run) { r.Jobs[0].Key = "run" },
		"job id":           func(r *queue.Run) { r.Jobs[0].ID = "a\nworker w: passed" },
		"need":             func(r *queue.Run) { r.Jobs[0].Needs = []string{"k-x"} },
		"lease":            func(r *queue.Run) { r.Lease = 1 },
		"deliveries":       func(r *queue.Run) { r.MaxDeliveries = 0 },
		"input":            func(r *queue.Run) { r.Files[0].Path = "/a/../../b" },
		"relative input":   func(r *queue.Run) { r.Files[0].Path = "b" },
		"hash":             func(r *queue.Run) { r.Files[0].SHA256 = "../run/r" },
		"directory":        func(r *queue.Run) { r.Dir = "/a/../.." },
		"manifest":         func(r *queue.Run) { r.Dir, r.Manifests = "/a", []string{"../../m.yaml"} },
		"another manifest": func(r *queue.Run) { r.Manifests = []string{"/etc/passwd"} },
		"policy":           func(r *queue.Run) { r.Policies = []string{"/../../etc/passwd"} },
		"event":            func(r *queue.Run) { r.Event = "/etc/passwd" },
	} {
		r := run("r", "a", "b")
		r.Dir, r.Manifests = "/a", []string{"../m.yaml"}
		write := func() {
			t.Helper()
			text, err := json.Marshal(r)
			must(t, err)
			_, err = files.PutBytes(t.Context(), "run/r", text)
			must(t, err)
		}
		if write(); name == "id" {
			if _, err := q.Run(t.Context(), "r"); err != nil {
				t.Errorf("a valid run is refused: %v", err)
			}
		}
		change(r)
		write()
		if _, err := q.Run(t.Context(), "r"); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
}

func TestAnInvalidOrderIsRemoved(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	submit(t, q, run("r1", "a"))
	c := claims(t, q, "w1")
	claim := next(t, c)
	subject := ""
	jobs, err := js.Stream(t.Context(), "millhand-jobs")
	must(t, err)
	info, err := jobs.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	must(t, err)
	for subject = range info.State.Subjects {
	}
	finish(t, claim, event.Passed)
	for _, order := range []string{`{"run":"../../x","key":"k"}`, `{"run":"gone","key":"k"}`, `{"run":"r1","key":"x"}`, `[`} {
		_, err := js.Publish(t.Context(), strings.Replace(subject, "k-a", "hostile", 1), []byte(order))
		must(t, err)
		for left := uint64(1); left > 0; { // the server does not confirm the removal
			none(t, c)
			info, err := jobs.Info(t.Context())
			must(t, err)
			left = info.State.Msgs
		}
	}
}

func TestAnotherConsumerStopsNobody(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	_, err := js.CreateConsumer(t.Context(), "millhand-jobs", jetstream.ConsumerConfig{Durable: "a", FilterSubject: "millhand.job.a.*", AckPolicy: jetstream.AckExplicitPolicy})
	must(t, err)
	submit(t, q, run("r1", "a"))
	finish(t, next(t, claims(t, q, "w1")), event.Passed)
}

// A plan may take longer to load than the lease.
func TestASlowWorkerKeepsTheLease(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q := open(t, s)
	r := run("r1", "a")
	r.Lease = short
	submit(t, q, r)
	other := claims(t, q, "w2")
	offer := offered(t, claims(t, q, "w1"))
	if claim, err := within(t.Context(), other, short*3/2); claim != nil || err != nil {
		t.Errorf("another worker got %+v, %v", claim, err)
	}
	claim, err := offer.Take(t.Context())
	must(t, err)
	finish(t, claim, event.Passed)
}

func TestAStoppedWorkerReturnsWhatItJustGot(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q := open(t, s)
	r := run("r1", "a")
	r.Lease = time.Hour
	submit(t, q, r)
	ctx, stop := context.WithCancel(t.Context())
	offer := offered(t, claims(t, q, "w1"))
	stop()
	if claim, err := offer.Take(ctx); claim != nil || err == nil {
		t.Fatalf("claim %+v, %v", claim, err)
	}
	claim := next(t, claims(t, q, "w2"))
	if claim.Counted() != 0 {
		t.Errorf("earlier deliveries %+v", claim.Earlier)
	}
	finish(t, claim, event.Passed)
}

// kill makes a claim's worker disappear after it has stored the result.
func TestAResultIsCompletedByTheNextDelivery(t *testing.T) {
	t.Parallel()
	for name, subject := range map[string]string{"only the log has it": "", "stored": "millhand.result.r1.k-a"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := queuetest.Start(t)
			q, js := open(t, s), raw(t, s)
			r := run("r1", "a", "b needs a")
			r.Lease = short
			submit(t, q, r)
			_, zombie := lose(t, s)
			if ok, err := zombie.Ledger().Reserve(t.Context(), money.Sums{Reserved: money.Dollar / 8, Requests: 1}, money.Dollar); !ok || err != nil {
				t.Fatal(ok, err)
			}
			text := []byte(`{"job":"a","delivery":1,"worker":"w1","end":{"outcome":"passed"}}`)
			if subject != "" {
				_, err := js.Publish(t.Context(), subject, text)
				must(t, err)
			} else {
				_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: "millhand.log.r1.k-a", Data: text, Header: nats.Header{"Millhand-Delivery": {"1"}, "Millhand-Message": {"2"}, "Millhand-End": {"true"}}})
				must(t, err)
			}
			claim := next(t, claims(t, q, "w2"))
			if claim.Job.ID != "b" {
				t.Errorf("got job %s", claim.Job.ID)
			}
			if sums, _, err := q.Money(t.Context(), "r1"); sums != (money.Sums{Spent: money.Dollar / 8}) || err != nil {
				t.Errorf("sums %+v, %v", sums, err)
			}
			if result, found, err := q.Result(t.Context(), "r1", "k-a"); !found || result.End.Outcome != event.Passed || err != nil {
				t.Errorf("result %+v, %v", result, err)
			}
			finish(t, claim, event.Passed)
		})
	}
}

// A process that was suspended does not notice it: the server must refuse what it does.
func TestASuspendedWorkerChangesNothing(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q := open(t, s)
	r := run("r1", "a")
	r.Lease = short
	submit(t, q, r)
	_, zombie := lose(t, s)
	_, returning := zombie, zombie
	claim := next(t, claims(t, q, "w2"))
	if err := returning.Return(t.Context(), "stopped", false, 0); !errors.Is(err, queue.ErrLost) {
		t.Errorf("it returns the job: %v", err)
	}
	none(t, claims(t, q, "w3"))
	if err := zombie.Finish(t.Context(), queue.Result{Worker: "w1"}, nil); !errors.Is(err, queue.ErrLost) {
		t.Errorf("it stores a result: %v", err)
	}
	zombie.Abandon()
	if _, found, err := q.Result(t.Context(), "r1", "k-a"); found || err != nil {
		t.Errorf("a result is stored, %v", err)
	}
	finish(t, claim, event.Passed)
}

func TestJobsAfterOneOfAnotherRun(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t))
	submit(t, q, run("r1", "a", "b needs a", "c needs b"))
	c := claims(t, q, "w1")
	claim := next(t, c)
	submit(t, q, run("r2", "b"))
	finish(t, claim, event.Passed)
	got := map[string]bool{}
	for range 2 {
		claim := next(t, c)
		got[claim.Run.ID+" "+claim.Job.ID] = true
		finish(t, claim, event.Passed)
	}
	if !got["r2 b"] || !got["r1 c"] {
		t.Errorf("claimed %v", got)
	}
}

func TestTheServerIsGone(t *testing.T) {
	s := queuetest.Start(t)
	q := open(t, s)
	r := run("r1", "a", "b", "c")
	r.Lease = time.Hour
	submit(t, q, r)
	c := claims(t, q, "w1")
	finished, returned, appended := next(t, c), next(t, c), next(t, c)
	must(t, appended.Append([]byte("{}\n"), true))
	s.Stop()
	must(t, appended.Append([]byte("{}\n"), false))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- finished.Finish(ctx, queue.Result{Worker: "w1"}, []byte("files")) }()
	go func() { ended <- returned.Return(ctx, "stopped", true, 0) }()
	go func() { ended <- appended.Finish(ctx, queue.Result{Worker: "w1"}, nil) }()
	stop()
	for range 3 {
		if err := <-ended; err == nil {
			t.Error("no error without a server")
		}
	}
	for _, claim := range []*queue.Claim{finished, returned, appended} {
		claim.Abandon()
		if err := claim.Append([]byte("{}\n"), true); err == nil {
			t.Error("an ended claim stores events")
		}
	}
	c.Close()
	q.Close()
	stacks, text := make([]byte, 1<<20), "queue.(*Claim)"
	for deadline := time.Now().Add(time.Minute); strings.Contains(text, "queue.(*Claim)"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("goroutines are left:\n%s", text)
		}
		text = string(stacks[:runtime.Stack(stacks, true)])
	}
}

func TestACancelledJobThatWasJustClaimed(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	r := run("r1", "a")
	submit(t, q, r)
	c := claims(t, q, "w1")
	claim := next(t, c)
	jobs, err := js.Stream(t.Context(), "millhand-jobs")
	must(t, err)
	must(t, jobs.Purge(t.Context())) // queue cancel saw no delivery
	finish(t, claim, event.Cancelled)
	if over, err := q.Over(t.Context(), r); over || err != nil {
		t.Errorf("over %v, %v", over, err)
	}
}

// The only worker left may run a job that waits for money, while the job of a dead worker waits
// for it.
func TestNobodyWaitsForRequestsOfDeadWorkers(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	var later atomic.Int64
	began := time.Now()
	q, err := queue.Open(t.Context(), queue.Options{URL: s.URL, Now: func() time.Time { return began.Add(time.Duration(later.Load())) }})
	must(t, err)
	t.Cleanup(q.Close)
	r := run("r1", "a", "b", "c")
	r.Lease = time.Hour
	submit(t, q, r)
	c := claims(t, q, "w1")
	dead, alive, own := next(t, c), next(t, c), next(t, c)
	one := money.Sums{Reserved: money.Dollar / 8, Requests: 1}
	for _, claim := range []*queue.Claim{dead, alive} {
		if ok, err := claim.Ledger().Reserve(t.Context(), one, money.Dollar); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	show := func() {
		must(t, q.Show(t.Context(), queue.Worker{ID: "w2", Jobs: []queue.Running{{Run: "r1", Job: alive.Job.ID, Delivery: 1}}}))
	}
	show()
	ledger := own.Ledger()
	for want := 2; want > 0; want-- {
		changed := ledger.Changed()
		sums, err := ledger.Others(t.Context())
		must(t, err)
		for sums.Requests > want {
			<-changed
			changed = ledger.Changed()
			sums, err = ledger.Others(t.Context())
			must(t, err)
		}
		if sums.Requests != want || sums.Reserved != money.Dollar/4 {
			t.Fatalf("others %+v, want %d requests", sums, want)
		}
		<-changed // it was looked for signs of life
		later.Add(int64(queue.Silence * 3 / 4))
		show()
		<-ledger.Changed()
		later.Add(int64(queue.Silence / 2))
	}
}
