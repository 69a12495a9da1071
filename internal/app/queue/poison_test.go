package queue_test

import (
	"context"
	"encoding/base64"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/queuetest"
)

// Messages that somebody else writes for one job stop no worker and no other job, and the run ends.
func TestForeignMessagesStopNobody(t *testing.T) {
	t.Parallel()
	log := func(headers ...string) *nats.Msg {
		m := &nats.Msg{Subject: "millhand.log.r1.k-a", Data: []byte("garbage"), Header: nats.Header{}}
		for i := 0; i < len(headers); i += 2 {
			m.Header.Set("Millhand-"+headers[i], headers[i+1])
		}
		return m
	}
	garbage := func(subject string) *nats.Msg { return &nats.Msg{Subject: subject, Data: []byte("garbage")} }
	entry := func(key string) *nats.Msg { return garbage("$KV.millhand-state." + key) }
	deleted := entry("budget.r1")
	deleted.Header = nats.Header{"KV-Operation": {"DEL"}}
	for name, c := range map[string]struct {
		msg    *nats.Msg
		errors []string // keys of jobs that can't be run
	}{
		"log":             {log(), nil},
		"delivery":        {log("Delivery", "9223372036854775807", "Worker", "w", "Size", "0"), nil},
		"later delivery":  {log("Delivery", "3", "Worker", "w", "Size", "0"), nil},
		"no delivery":     {log("Delivery", "0"), nil},
		"size":            {log("Delivery", "1", "Worker", "w", "Size", "7"), nil},
		"end":             {log("Delivery", "1", "Worker", "w", "Size", "0", "End", "true"), nil},
		"end of nobody's": {log("Delivery", "1", "End", "true"), nil},
		"result":          {garbage("millhand.result.r1.k-a"), []string{"k-a"}},
		"budget":          {entry("budget.r1"), []string{"k-a", "k-b", "k-c"}},
		"no budget":       {deleted, []string{"k-a", "k-b", "k-c"}},
		"worker":          {entry("worker.x"), nil},
		"pause":           {entry("cool.x"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := queuetest.Start(t)
			q, js := open(t, s), raw(t, s)
			r := run("r1", "a", "b", "c needs a")
			submit(t, q, r)
			_, err := js.PublishMsg(t.Context(), c.msg)
			must(t, err)
			work(t, q, r)
			results, err := q.Results(t.Context(), r)
			must(t, err)
			for key, result := range results {
				want := event.Passed
				if slices.Contains(c.errors, key) {
					want = event.Error
				}
				if result.End.Outcome != want {
					t.Errorf("%s: %+v", key, result.End)
				}
			}
			must(t, q.EachLog(t.Context(), r, func(_ string, text []byte, _ *queue.Result) error {
				if string(text) == "garbage" {
					t.Error("it is in the events of a job")
				}
				return nil
			}))
			_, err = q.Workers(t.Context())
			must(t, err)
		})
	}
}

// work runs the jobs of a run until all have ended.
func work(t *testing.T, q *queue.Queue, r *queue.Run) {
	t.Helper()
	c := claims(t, q, "w1")
	for deadline := time.Now().Add(5 * time.Minute); ; {
		n, err := q.Ended(t.Context(), r)
		must(t, err)
		if n == len(r.Jobs) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d jobs ended", n, len(r.Jobs))
		}
		claim, err := within(t.Context(), c, time.Second)
		must(t, err)
		if claim != nil {
			finish(t, claim, event.Passed)
		}
	}
}

// The record of a run, and what it names, can be somebody else's.
func TestAnInvalidRecordStopsNoOtherRun(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	submit(t, q, run("r1", "a"))
	r2 := run("r2", "b")
	submit(t, q, r2)
	for _, record := range []string{
		"garbage", `{}`, `{"name":"run/r1","bucket":"millhand-files","nuid":"x","size":3,"chunks":1,"digest":"SHA-256=AA=="}`,
	} {
		_, err := js.Publish(t.Context(), "$O.millhand-files.M."+base64.URLEncoding.EncodeToString([]byte("run/r1")), []byte(record))
		must(t, err)
		_, err = js.Publish(t.Context(), "$O.millhand-files.C.x", []byte("abcd"))
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := q.Run(ctx, "r1"); err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v", record, err)
		}
		cancel()
	}
	work(t, q, r2)
}
