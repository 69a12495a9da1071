package queue_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/queuetest"
)

// A worker whose clock is wrong is one, and so it is for a process whose clock is.
func TestOnlyTheServersClockEndsWorkers(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	for name, wrong := range map[string]time.Duration{"ahead": 3 * time.Hour, "behind": -3 * time.Hour} {
		q, err := queue.Open(t.Context(), queue.Options{URL: s.URL, Now: func() time.Time { return time.Now().Add(wrong) }})
		must(t, err)
		t.Cleanup(q.Close)
		must(t, q.Show(t.Context(), queue.Worker{ID: name}))
		for who, reader := range map[string]*queue.Queue{"itself": q, "another": open(t, s)} {
			if all, err := reader.Workers(t.Context()); err != nil || !slices.ContainsFunc(all, func(w queue.Worker) bool { return w.ID == name }) {
				t.Errorf("%s: %s sees the workers %+v, %v", name, who, all, err)
			}
		}
	}
	if all, err := open(t, s).Workers(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("workers %+v, %v", all, err)
	}
}

// A run whose budget somebody else has written is still cancelled.
func TestARunWithAnInvalidBudgetIsCancelled(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	for id, text := range map[string]string{"r1": "[", "r2": `{"limit_usd":1,"spent_usd":-5}`, "r3": `{"held":{"k-a/1":{"reserved_usd":-5}}}`, "r4": `{"held":{"k-a/1":{"requests":-1}}}`} {
		r := run(id, "a"+id)
		submit(t, q, r)
		_, err := js.Publish(t.Context(), "$KV.millhand-state.budget."+id, []byte(text))
		must(t, err)
		if _, _, err := q.Money(t.Context(), id); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
		if left, err := q.Cancel(t.Context(), r, "by hand"); left != 1 || err != nil {
			t.Errorf("%s: %d left, %v", text, left, err)
		}
		if over, err := q.Over(t.Context(), r); !over || err != nil {
			t.Errorf("%s: over %v, %v", text, over, err)
		}
	}
}

// Who resets a budget stops the requests of jobs that run, and not their end: what they did remains.
func TestAResetBudgetLosesNoWork(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	r := run("r1", "a", "b")
	submit(t, q, r)
	c := claims(t, q, "w1")
	claim := next(t, c)
	one := money.Sums{Reserved: money.Dollar / 8, Requests: 1}
	if ok, err := claim.Ledger().Reserve(t.Context(), one, money.Dollar); !ok || err != nil {
		t.Fatal(ok, err)
	}
	_, err := js.Publish(t.Context(), "$KV.millhand-state.budget.r1", []byte(`{"limit_usd":1000,"spent_usd":0}`))
	must(t, err)
	if ok, err := claim.Ledger().Reserve(t.Context(), one, money.Dollar); ok || !errors.Is(err, queue.ErrLost) {
		t.Errorf("reserved %v, %v", ok, err)
	}
	must(t, claim.Append([]byte("{}\n"), true))
	finish(t, claim, event.Passed)
	other := next(t, c)
	if ok, err := other.Ledger().Reserve(t.Context(), money.Sums{Reserved: 2 * money.Dollar, Requests: 1}, money.Dollar); ok || err != nil {
		t.Errorf("the limit of the record counts: %v, %v", ok, err)
	}
	finish(t, other, event.Passed)
}

// A message orders the job of its subject: workers that have the variables of another one would get the job.
func TestAnOrderOfAnotherSubjectIsRemoved(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	r := run("r1", "a", "b")
	r.Jobs[1].Requires = [][]string{{"SECRET"}}
	submit(t, q, r)
	c := claims(t, q, "w1")
	claim := next(t, c)
	jobs, err := js.Stream(t.Context(), "millhand-jobs")
	must(t, err)
	info, err := jobs.Info(t.Context(), jetstream.WithSubjectFilter("millhand.job.*.k-a"))
	must(t, err)
	for subject := range info.State.Subjects {
		for _, key := range []string{"hostile", "k-c"} {
			_, err := js.Publish(t.Context(), strings.Replace(subject, "k-a", key, 1), []byte(`{"run":"r1","key":"k-b"}`))
			must(t, err)
			none(t, c)
		}
	}
	finish(t, claim, event.Passed)
	none(t, c)
}

// What a worker sent before it lost its job is refused or ignored when somebody sends it again, and so are the results of
// jobs that the run does not have.
func TestReplaysChangeNothing(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	r := run("r1", "a", "b")
	r.Lease = short
	submit(t, q, r)
	_, first := lose(t, s)
	claim := next(t, claims(t, q, "w2"))
	for claim.Job.ID != first.Job.ID {
		finish(t, claim, event.Passed)
		claim = next(t, claims(t, q, "w2"))
	}
	must(t, claim.Append([]byte("honest\n"), true))
	subject := "millhand.log.r1." + claim.Job.Key
	for _, header := range []nats.Header{
		{"Millhand-Delivery": {"1"}, "Millhand-Worker": {"w1"}, "Millhand-Size": {"0"}},
		{"Millhand-Delivery": {"1"}, "Millhand-Message": {"2"}},
		{"Millhand-Delivery": {"1"}, "Millhand-Message": {"3"}, "Millhand-End": {"true"}},
	} {
		_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Header: header, Data: []byte("replayed\n")})
		must(t, err)
	}
	text := []byte(`{"job":"x","end":{"outcome":"passed"},"delivery":1,"worker":"w1"}`)
	for _, key := range []string{"k-x", "k-y"} {
		_, err := js.Publish(t.Context(), "millhand.result.r1."+key, text)
		must(t, err)
	}
	if err := claim.Finish(t.Context(), queue.Result{Worker: "w2", End: event.JobEnd{Outcome: event.Failed}}, nil); !errors.Is(err, queue.ErrLost) {
		t.Errorf("a job whose log somebody else has extended: %v", err)
	}
	claim.Abandon()
	if n, err := q.Ended(t.Context(), r); n > 1 || err != nil {
		t.Errorf("%d jobs ended, %v", n, err)
	}
	if _, err := js.Publish(t.Context(), "millhand.result.r1.k-x", text); err == nil {
		t.Error("a second result is stored")
	}
	must(t, q.EachLog(t.Context(), r, func(_ string, text []byte, _ *queue.Result) error {
		if len(text) > 0 && string(text) != "honest\n" {
			t.Errorf("events %q", text)
		}
		return nil
	}))
}

// Consumers of somebody else stop no worker, also if they look like those of millhand.
func TestForeignConsumersStopNobody(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	jobs, err := js.Stream(t.Context(), "millhand-jobs")
	must(t, err)
	_, err = jobs.CreatePushConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: "push", FilterSubject: "millhand.job.push.*", AckPolicy: jetstream.AckExplicitPolicy, DeliverSubject: "elsewhere", Metadata: map[string]string{"requires": "[]"},
	})
	must(t, err)
	submit(t, q, run("r1", "a"))
	finish(t, next(t, claims(t, q, "w1")), event.Passed)
}

// A run is submitted and cancelled although somebody else's message has the name of a job: a worker removes it.
func TestAForeignOrderHangsNobody(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	for _, text := range []string{"[", `{}`, `{"run":"../x"}`} {
		_, err := js.Publish(t.Context(), "millhand.job.x.k-a", []byte(text))
		must(t, err)
		if _, err := q.Submit(t.Context(), run("r1", "a", "b"), func(string) ([]byte, error) { return []byte("m"), nil }); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
		jobs, err := js.Stream(t.Context(), "millhand-jobs")
		must(t, err)
		must(t, jobs.Purge(t.Context()))
	}
	r := run("r2", "a", "b")
	submit(t, q, r)
	jobs, err := js.Stream(t.Context(), "millhand-jobs")
	must(t, err)
	must(t, jobs.Purge(t.Context(), jetstream.WithPurgeSubject("millhand.job.*.k-a")))
	_, err = js.Publish(t.Context(), "millhand.job.x.k-a", []byte("["))
	must(t, err)
	if left, err := q.Cancel(t.Context(), r, "by hand"); left != 2 || err != nil {
		t.Errorf("%d left, %v", left, err)
	}
}

// Objects that somebody else has stored under the name of a record let nobody wait for ever.
func TestForeignObjectsHangNobody(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	submit(t, q, run("r1", "a"))
	sum := queue.HashOf([]byte("m"))
	refers := func(to string) string {
		text, err := json.Marshal(jetstream.ObjectInfo{Bucket: "millhand-files", NUID: "n1", ObjectMeta: jetstream.ObjectMeta{Name: "NAME", Opts: &jetstream.ObjectMetaOptions{Link: &jetstream.ObjectLink{Bucket: "millhand-files", Name: to}}}})
		must(t, err)
		return string(text)
	}
	for name, object := range map[string]string{
		"a reference to itself":      refers("NAME"),
		"a reference to another one": refers("run/r1"),
		"a reference to a bucket":    refers(""),
		"no content":                 `{"name": "NAME", "bucket": "millhand-files", "nuid": "n2", "size": 10, "chunks": 1, "digest": "SHA-256=x"}`,
		"a huge size":                `{"name": "NAME", "bucket": "millhand-files", "nuid": "n2", "size": 18446744073709551615, "chunks": 4294967295, "digest": "SHA-256=x"}`,
		"no name":                    `{"bucket": "millhand-files", "nuid": "", "size": 1}`,
		"no record":                  `[`,
	} {
		if name == "no content" && !nightly.On() {
			continue // for half a minute
		}
		for _, of := range []string{"run/r1", "input/" + sum} {
			text := strings.ReplaceAll(object, "NAME", of)
			_, err := js.PublishMsg(t.Context(), &nats.Msg{
				Subject: "$O.millhand-files.M." + base64.URLEncoding.EncodeToString([]byte(of)), Data: []byte(text), Header: nats.Header{"Nats-Rollup": {"sub"}},
			})
			must(t, err)
		}
		q.Forget("r1")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // "no content" takes half a minute each time
		if _, err := q.Run(ctx, "r1"); err == nil || ctx.Err() != nil {
			t.Errorf("%s: the run: %v", name, err)
		}
		if _, err := q.Input(ctx, sum, 1<<20); err == nil || ctx.Err() != nil {
			t.Errorf("%s: the input: %v", name, err)
		}
		cancel()
	}
}
