package queued

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/queuetest"
	"github.com/millhand/millhand/report"
)

// Whoever writes to the server can't make a job pass that nobody has run, end the jobs of others, or
// prevent the report of the others.
func TestForgedRecordsOfAJobAreErrors(t *testing.T) {
	s := queuetest.Start(t)
	q := open(t, s)
	r := &queue.Run{ID: "r", Lease: time.Minute, MaxDeliveries: 3, Start: event.Run{ID: "r", PlanHash: "h"}}
	for _, id := range []string{"honest", "no_events", "garbage", "of_another", "another_run", "another_plan", "no_files", "bad_files", "bad_archive", "end", "no_exit", "no_exit_in_events"} {
		r.Jobs = append(r.Jobs, queue.Job{ID: id, Key: "k-" + id})
		r.Start.Jobs = append(r.Start.Jobs, event.PlannedJob{ID: id})
	}
	if _, err := q.Submit(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	js, object := stored(t, s)
	cost := money.Dollar / 4
	passed := event.JobEnd{Outcome: event.Passed, Turns: 2, CostUSD: &cost, Patch: "patches/x.patch"}
	publish := func(id string, events []byte, result queue.Result) {
		t.Helper()
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		messages := []*nats.Msg{{Subject: "millhand.result.r.k-" + id, Data: text}}
		if events != nil {
			first := nats.Header{"Millhand-Delivery": {"1"}, "Millhand-Worker": {"w"}, "Millhand-Size": {"0"}}
			last := nats.Header{"Millhand-Delivery": {"1"}, "Millhand-End": {"true"}}
			subject := "millhand.log.r.k-" + id
			messages = append(messages, &nats.Msg{Subject: subject, Header: first, Data: events}, &nats.Msg{Subject: subject, Header: last, Data: text})
		}
		for _, m := range messages {
			if _, err := js.PublishMsg(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	events := func(id string) []byte {
		return endText(r, r.Jobs[r.Index("k-"+id)], queue.Result{End: passed, At: time.Now()})
	}
	named := func(id, old, other string) []byte { // without checksums, as the first releases wrote
		lines := bytes.Split(events(id), []byte("\n"))
		for i, line := range lines {
			if at := bytes.LastIndex(line, []byte(`,"crc"`)); at > 0 {
				lines[i] = append(line[:at:at], '}')
			}
		}
		return bytes.ReplaceAll(bytes.Join(lines, []byte("\n")), []byte(old), []byte(other))
	}
	archive := func(names ...string) []byte {
		var text bytes.Buffer
		z := gzip.NewWriter(&text)
		a := tar.NewWriter(z)
		for _, name := range names {
			if err := a.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg}); err != nil {
				t.Fatal(err)
			}
		}
		a.Close()
		z.Close()
		return text.Bytes()
	}
	for name, data := range map[string][]byte{"garbage": []byte("garbage"), "outside": archive("patches/x.patch", "patches/../../x")} {
		if _, err := object.PutBytes(t.Context(), name, data); err != nil {
			t.Fatal(err)
		}
	}
	publish("honest", named("honest", "none", "none"), queue.Result{Job: "honest", Delivery: 1, End: passed})
	publish("no_events", nil, queue.Result{Job: "no_events", Delivery: 1, End: passed})
	publish("garbage", []byte("garbage\n"), queue.Result{End: passed})
	publish("of_another", bytes.Join([][]byte{events("of_another"), bytes.Split(events("honest"), []byte("\n"))[1], []byte("\n")}, nil), queue.Result{End: passed})
	publish("another_run", named("another_run", `"id":"r"`, `"id":"other"`), queue.Result{End: passed})
	publish("another_plan", named("another_plan", `"plan_hash":"h"`, `"plan_hash":"x"`), queue.Result{End: passed})
	publish("no_files", events("no_files"), queue.Result{End: passed, Files: "files/gone"})
	publish("bad_files", events("bad_files"), queue.Result{End: passed, Files: "garbage"})
	publish("bad_archive", events("bad_archive"), queue.Result{End: passed, Files: "outside"})
	odd := event.JobEnd{Outcome: "great"} // with exit code 0
	publish("no_exit", nil, queue.Result{Job: "no_exit", End: odd})
	publish("no_exit_in_events", endText(r, r.Jobs[r.Index("k-no_exit_in_events")], queue.Result{End: odd, At: time.Now()}), queue.Result{End: odd})
	publish("end", nil, queue.Result{Job: "end", End: event.CodeInternal.End("")})

	dir, err := files.MakeTemp(t.TempDir(), "parts-")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	inputs, err := Parts(t.Context(), q, r, dir)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := report.Merge(io.Discard, inputs, event.FailOn(""))
	if err != nil {
		t.Fatal(err)
	}
	if len(merged.Report.Jobs) != len(r.Jobs) || merged.Exit != event.ExitInternal {
		t.Errorf("%d jobs, exit code %d", len(merged.Report.Jobs), merged.Exit)
	}
	for _, j := range merged.Report.Jobs {
		switch {
		case j.ID == "honest" && j.Outcome != event.Passed, j.ID != "honest" && j.Outcome != event.Error,
			j.Outcome == event.Error && j.ID != "end" && !strings.Contains(j.Reason, "invalid result in the queue: "):
			t.Errorf("%s: %s %q", j.ID, j.Outcome, j.Reason)
		}
		if strings.HasSuffix(j.ID, "_files") || j.ID == "bad_archive" { // what it did and cost stays
			if j.Turns != 2 || j.CostUSD == nil || *j.CostUSD != cost || j.Patch != "" || dir.Exists("k-"+j.ID+"/patches") {
				t.Errorf("%s: %d turns, cost %v, patch %q", j.ID, j.Turns, j.CostUSD, j.Patch)
			}
		}
	}
}

func open(t *testing.T, s *queuetest.Server) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), queue.Options{URL: s.URL, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// stored connects to a server, and returns the store of files as anybody can write to it.
func stored(t *testing.T, s *queuetest.Server) (jetstream.JetStream, jetstream.ObjectStore) {
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
	files, err := js.ObjectStore(t.Context(), "millhand-files")
	if err != nil {
		t.Fatal(err)
	}
	return js, files
}

// The lists of repositories of a run are only in the events of the plan.
func TestOnePartHasTheSources(t *testing.T) {
	r := &queue.Run{
		ID: "r", Jobs: []queue.Job{{ID: "a", Key: "ka"}, {ID: "b", Key: "kb"}},
		Start: event.Run{ID: "r", Jobs: []event.PlannedJob{{ID: "a"}, {ID: "b"}}, Sources: []event.Source{{Repos: []event.SourceRepo{{Name: "acme/api"}}}}},
	}
	if !strings.Contains(string(planText(r)), "acme/api") {
		t.Error("the events of the run have no lists")
	}
	if s := Start(r, r.Jobs[1]); len(s.Jobs) != 1 || s.Jobs[0].ID != "b" || s.Sources != nil || s.Shard.Index != 2 {
		t.Errorf("start %+v", s)
	}
}
