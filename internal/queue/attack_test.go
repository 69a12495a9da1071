package queue_test

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/queue"
	"github.com/millhand/millhand/internal/queue/queuetest"
)

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
	s := queuetest.Start(t)
	q, js := open(t, s), raw(t, s)
	files, err := js.ObjectStore(t.Context(), "millhand-files")
	must(t, err)
	for name, change := range map[string]func(*queue.Run){
		"id":               func(r *queue.Run) { r.ID = "/../../../home" },
		"key":              func(r *queue.Run) { r.Jobs[0].Key = "../x" },
		"keys":             func(r *queue.Run) { r.Jobs[1].Key = r.Jobs[0].Key },
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

func TestJobsAfterOneOfAnotherRun(t *testing.T) {
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
