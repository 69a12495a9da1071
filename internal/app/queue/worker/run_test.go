package worker

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/app/queue/submission"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/testing/queuetest"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
)

// stage is a remote repository, a queue, and the directory of who submits runs to it.
type stage struct {
	*gittest.Sandbox
	dir, remote string
	world       world.World
	out, log    bytes.Buffer
	server      *queuetest.Server
	queue       *queue.Queue
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Sandbox: gittest.NewSandbox(t), dir: t.TempDir(), remote: filepath.Join(t.TempDir(), "web.git"), server: queuetest.Start(t)}
	s.Write("README", "hello\n")
	s.Commit()
	s.Run("clone", "-q", "--bare", s.Root, s.remote)
	s.write("model.yaml", `{version: 1, turns: [{calls: [{tool: write, args: {filePath: notice.md, content: "A notice.\n"}}]}, {text: Added a notice.}]}`)
	env := map[string]string{"HOME": s.Home, "PATH": os.Getenv("PATH")}
	s.world = world.World{Dir: s.dir, In: strings.NewReader(""), Out: &s.out, Err: &s.log, Now: time.Now, Sleep: clock.Wait, Getenv: func(name string) string { return env[name] }}
	q, err := queue.Open(t.Context(), queue.Options{URL: s.server.URL, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	s.queue = q
	return s
}

func (s *stage) write(name, text string) {
	s.T.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.T.Fatal(err)
	}
}

// submit submits tasks, and returns their run.
func (s *stage) submit(deliveries int, tasks string) *queue.Run {
	s.T.Helper()
	s.write("m.yaml", "version: 1\nmodel: script:model.yaml\nprofile: edit\nrepos: [{url: 'file://"+s.remote+"'}]\ntasks:\n"+tasks)
	o := submission.Options{Server: queue.Options{URL: s.server.URL}, Deliveries: deliveries, Lease: time.Minute, Quiet: true}
	o.Plan.Manifests = []string{filepath.Join(s.dir, "m.yaml")}
	s.out.Reset()
	if err := submission.Submit(s.T.Context(), s.world, o); err != nil {
		s.T.Fatal(err)
	}
	r, err := s.queue.Run(s.T.Context(), strings.TrimSpace(s.out.String()))
	if err != nil {
		s.T.Fatal(err)
	}
	return r
}

// worker runs a worker until the queue has no jobs for it, and returns its log.
func (s *stage) worker() string {
	s.T.Helper()
	s.log.Reset()
	if err := Run(s.T.Context(), s.world, Options{Server: queue.Options{URL: s.server.URL}, Jobs: 1, Sandbox: "off", Drain: true}); err != nil {
		s.T.Fatal(err)
	}
	return s.log.String()
}

// result returns the end of a job.
func (s *stage) result(r *queue.Run, job string) queue.Result {
	s.T.Helper()
	for _, j := range r.Jobs {
		if j.ID == job {
			end, found, err := s.queue.Result(s.T.Context(), r.ID, j.Key)
			if err != nil || !found {
				s.T.Fatalf("the result of %s: %v", job, err)
			}
			return end
		}
	}
	s.T.Fatalf("no job %s in %+v", job, r.Jobs)
	return queue.Result{}
}

func TestAWorkerRunsTheJobsOfAQueueAndLeavesNothing(t *testing.T) {
	s := newStage(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	r := s.submit(3, "  - {id: a, prompt: Add a notice., publish: push}\n  - {id: b, prompt: Add a notice., needs: [a], verify: ['false'], attempts: 1}\n  - {id: c, prompt: Add a notice., needs: [b]}\n")
	log := s.worker()
	a, b, c := s.result(r, "a"), s.result(r, "b"), s.result(r, "c")
	if a.End.Outcome != event.Passed || b.End.Outcome == event.Passed || c.End.Code != event.CodeNeed || !strings.Contains(c.End.Reason, "needs job b, which did not pass (") {
		t.Errorf("a %+v\nb %+v\nc %+v", a.End, b.End, c.End)
	}
	for _, line := range []string{"up to 1 job in parallel\n", "started a of run " + r.ID + "\n", "passed a of run " + r.ID + " (", "started c of run ", " c of run " + r.ID + " ("} {
		if !strings.Contains(log, line) {
			t.Errorf("no line %q in %s", line, log)
		}
	}
	if at := s.At(s.remote).Run("show", "millhand/a:notice.md"); at != "A notice." {
		t.Errorf("the branch has %q", at)
	}
	files, err := s.queue.Files(t.Context(), a)
	if err != nil || len(files) == 0 || a.Worker == "" || a.Delivery != 1 || a.End.Turns != 2 {
		t.Errorf("%d bytes of files, %v, result %+v", len(files), err, a)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("the worker left %v, %v", left, err)
	}
	if workers, err := s.queue.Workers(t.Context()); err != nil || len(workers) > 0 {
		t.Errorf("workers %+v, %v", workers, err)
	}
}

// claimed returns a worker without a loop, and its claim of the only job in the queue.
func (s *stage) claimed() (*worker, *queue.Claim) {
	s.T.Helper()
	k := testWorker(s.T, s.server)
	k.world, k.opts.Sandbox, k.id, k.probe = s.world, "off", "w2", levels.Probing(s.T.Context(), "off")
	claims, err := s.queue.Claims("w1", nil)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(claims.Close)
	for {
		if claim, err := k.claim(s.T.Context(), claims); claim != nil || err != nil {
			if err != nil {
				s.T.Fatal(err)
			}
			return k, claim
		}
	}
}

func TestAJobThatNoDeliveryEndsFailsWithWhatItCost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(1, "  - {id: a, prompt: Add a notice.}\n")
	_, claim := s.claimed()
	for line := range bytes.Lines(earlierLog(t, event.Event{Type: event.RunStarted, Run: queued.Start(r, r.Jobs[0])})) {
		if err := claim.Append(line, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := claim.Return(t.Context(), "no space", false, 0); err != nil {
		t.Fatal(err)
	}
	k, claim := s.claimed()
	k.job(t.Context(), claim)
	end := s.result(r, "a")
	if end.End.Cause != event.CodeInternal || !strings.Contains(end.End.Reason, "1 delivery did not end the job\ndelivery 1 to worker w1 at ") || !strings.Contains(end.End.Reason, ": no space") || end.End.Turns != 2 || end.End.Usage.Input != 10 {
		t.Errorf("%+v", end.End)
	}
	if end.Worker != "w2" || end.Delivery != 2 || !strings.Contains(s.log.String(), "started a of run "+r.ID+" again (delivery 2)\n") || !strings.Contains(s.log.String(), "): 1 delivery did not end the job\n") {
		t.Errorf("%+v, log %s", end, &s.log)
	}
	var all report.Fold
	for _, e := range s.events(r) {
		if err := all.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	if j := all.Report().Jobs[0]; j.Outcome != event.Error || len(j.Sessions) != 1 || j.Sessions[0].TurnCosts[1].Error != "the run was killed before the turn was complete" {
		t.Errorf("%+v", j)
	}
}

// events returns those of the only job of a run.
func (s *stage) events(r *queue.Run) (all []event.Event) {
	s.T.Helper()
	dir, err := files.MakeOwn(s.T.TempDir(), 0o700)
	if err != nil {
		s.T.Fatal(err)
	}
	defer dir.Close()
	parts, err := queued.Parts(s.T.Context(), s.queue, r, dir)
	if err != nil || len(parts) != 2 { // the plan is the first
		s.T.Fatalf("%d parts, %v", len(parts), err)
	}
	text, err := parts[1].Open()
	if err != nil {
		s.T.Fatal(err)
	}
	defer text.Close()
	_, err = event.Read(text, func(e event.Event) error {
		all = append(all, e)
		return nil
	})
	if err != nil {
		s.T.Fatal(err)
	}
	return all
}

func TestAJobThatFailsForItsMachineIsTriedByAnother(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(2, "  - {id: a, prompt: Add a notice.}\n")
	if err := os.Rename(s.remote, s.remote+".moved"); err != nil {
		t.Fatal(err)
	}
	k, claim := s.claimed()
	k.job(t.Context(), claim)
	if _, found, err := s.queue.Result(t.Context(), r.ID, claim.Job.Key); found || err != nil {
		t.Errorf("it is ended by the first worker, %v", err)
	}
	if log := s.log.String(); k.faults != 1 || k.until.IsZero() || k.gave.IsZero() || !strings.Contains(log, "no jobs are claimed for 5s: a: fetch the repository: ") || !strings.Contains(log, "gave back a of run "+r.ID+": fetch the repository: ") {
		t.Errorf("%d faults, log %s", k.faults, log)
	}
	if left, err := os.ReadDir(k.dir); err != nil || len(left) != 1 { // the inputs of the run
		t.Errorf("the job left %v, %v", left, err)
	}
}

func TestAJobThatItsWorkerCannotStartIsEndedByTheLast(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(1, "  - {id: a, prompt: Add a notice.}\n")
	k, claim := s.claimed()
	k.opts.Sandbox = "no such mode"
	k.job(t.Context(), claim)
	if end := s.result(r, "a"); end.End.Cause != event.CodeInternal || !strings.Contains(end.End.Reason, "the job could not be started: ") || k.faults != 0 {
		t.Errorf("%+v, %d faults", end, k.faults)
	}
	if all := s.events(r); all[0].Type != event.RunStarted || all[len(all)-1].Type != event.RunEnded {
		t.Errorf("events %+v", all)
	}
}

func TestAJobIsGivenBackByAWorkerThatIsStopped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(1, "  - {id: a, prompt: Add a notice.}\n")
	k, claim := s.claimed()
	ctx, stop := context.WithCancelCause(t.Context())
	stop(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
	k.job(ctx, claim)
	if !strings.Contains(s.log.String(), "gave back a of run "+r.ID+": interrupted by SIGTERM\n") || k.faults != 0 {
		t.Errorf("%d faults, log %s", k.faults, &s.log)
	}
	k, claim = s.claimed() // at once, and it does not count
	if claim.Delivery != 2 || claim.Counted() != 0 {
		t.Errorf("delivery %d, %d counted", claim.Delivery, claim.Counted())
	}
	k.job(t.Context(), claim)
	if end := s.result(r, "a"); end.End.Outcome != event.Passed {
		t.Errorf("%+v", end)
	}
}

func TestAJobWithoutItsLeaseStoresNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(1, "  - {id: a, prompt: Add a notice.}\n")
	k, claim := s.claimed()
	claim.Abandon()
	k.job(t.Context(), claim)
	if _, found, err := s.queue.Result(t.Context(), r.ID, claim.Job.Key); found || err != nil || !strings.Contains(s.log.String(), "stopped a of run "+r.ID+": ") || strings.Contains(s.log.String(), "not stored") || k.faults != 0 {
		t.Errorf("found %t, %v, log %s", found, err, &s.log)
	}
}

func TestJobsOfACancelledRunEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(3, "  - {id: a, prompt: Add a notice.}\n")
	k, claim := s.claimed()
	k.claims[claim] = time.Now()
	k.cancelled("another run")
	if claim.Context().Err() != nil {
		t.Fatal("it ends with another run")
	}
	k.cancelled(r.ID)
	if !errors.Is(context.Cause(claim.Context()), queue.ErrCancelled) || !k.stopped[r.ID] {
		t.Errorf("cause %v", context.Cause(claim.Context()))
	}
	k.job(t.Context(), claim)
	if end := s.result(r, "a"); end.End.Outcome != event.Cancelled || end.End.Reason != "interrupted by millhand queue cancel" || k.faults != 0 {
		t.Errorf("%+v, %d faults", end, k.faults)
	}
}

func TestFilesOfAnEarlierDeliveryAreRestoredUnlessTheJobMakesItsOwn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.submit(3, "  - {id: a, prompt: Add a notice.}\n")
	k, claim := s.claimed()
	keeper := func(claim *queue.Claim) *fileKeeper {
		return &fileKeeper{ctx: t.Context(), claim: claim, dir: t.TempDir(), pack: k.pack}
	}
	lines := func(all ...event.Event) [][]byte {
		return bytes.SplitAfter(bytes.TrimSuffix(reporttest.Lines(t, all...), []byte("\n")), []byte("\n"))
	}
	started := reporttest.Started("a")
	phase := func(name string) event.Event {
		return event.Event{Type: event.PhaseStarted, Job: "a", Phase: &event.Phase{Name: name}}
	}
	feed := func(f *fileKeeper, all ...event.Event) {
		t.Helper()
		for _, line := range lines(all...) {
			if err := f.before(line); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := keeper(claim)
	feed(first, started)
	patch := filepath.Join("patches", "a.patch")
	if err := errors.Join(os.Mkdir(filepath.Join(first.dir, "patches"), 0o700), os.WriteFile(filepath.Join(first.dir, patch), []byte("+a\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	feed(first, phase("publish"), event.Event{Type: event.PublishStarted, Job: "a", Published: &event.Published{}})
	if err := os.WriteFile(filepath.Join(first.dir, patch), []byte("+later\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	feed(first, reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed})) // they are complete, and not stored again
	if err := claim.Return(t.Context(), "killed", true, 0); err != nil {
		t.Fatal(err)
	}
	_, claim = s.claimed()
	for name, c := range map[string]struct {
		events []event.Event
		want   string
	}{
		"only publishes":   {[]event.Event{phase("publish")}, "+a\n"},
		"another phase":    {[]event.Event{phase("commit")}, ""},
		"makes its own":    {[]event.Event{started, phase("publish")}, ""},
		"ended before":     {[]event.Event{reporttest.RunEnded(event.Passed, event.ExitOK)}, "+a\n"},
		"no event of it":   {[]event.Event{{Type: event.WarningIssued, Warning: &event.Warning{Message: "phase.started"}}}, ""},
		"published before": {[]event.Event{phase("publish"), phase("publish")}, "+a\n"},
	} {
		f := keeper(claim)
		feed(f, c.events...)
		if text, _ := os.ReadFile(filepath.Join(f.dir, patch)); string(text) != c.want { // it may be missing
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
	if err := keeper(claim).before([]byte(`{"type": "phase.started"` + "\n")); err == nil {
		t.Error("a line that is no event is no error")
	}
}

func TestAResultThatCannotBeStoredIsReported(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(1, "  - {id: a, prompt: Add a notice.}\n")
	k, claim := s.claimed()
	claim.Abandon()
	k.finish(t.Context(), claim, time.Now(), event.JobEnd{Outcome: event.Passed}, nil)
	if log := s.log.String(); !strings.Contains(log, "result of a of run "+r.ID+" not stored: ") || strings.Contains(log, "passed a") {
		t.Errorf("log %s", log)
	}
	if _, found, err := s.queue.Result(t.Context(), r.ID, claim.Job.Key); found || err != nil {
		t.Errorf("it is stored, %v", err)
	}
}

// Its result would be that of a job that passed without a patch.
func TestAJobWhoseFilesCannotBeStoredIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(1, "  - {id: a, prompt: Add a notice.}\n")
	k, claim := s.claimed()
	js, _ := stored(t, s.server)
	files, err := js.Stream(t.Context(), "OBJ_millhand-files")
	if err != nil {
		t.Fatal(err)
	}
	config := files.CachedInfo().Config
	config.MaxMsgSize = 10
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	k.job(t.Context(), claim)
	if end, found, err := s.queue.Result(t.Context(), r.ID, claim.Job.Key); found || err != nil {
		t.Errorf("it is ended: %+v, %v", end, err)
	}
	if log := s.log.String(); k.faults != 1 || !strings.Contains(log, "gave back a of run "+r.ID+": store the files of job a: ") || strings.Contains(log, "passed") {
		t.Errorf("%d faults, log %s", k.faults, log)
	}
	for _, e := range s.events(r) {
		if e.Type == event.JobEnded || e.Type == event.RunEnded {
			t.Errorf("%s is stored", e.Type)
		}
	}
}

// A read may find the state before the job that it needs ended.
func TestAJobWhoseNeedHasNoResultYetIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(3, "  - {id: a, prompt: Add a notice.}\n  - {id: b, prompt: Add a notice., needs: [a]}\n")
	k, claim := s.claimed()
	k.job(t.Context(), claim)
	s.result(r, "a")
	k, claim = s.claimed()
	js, _ := stored(t, s.server)
	results, err := js.Stream(t.Context(), "millhand-results")
	if err != nil {
		t.Fatal(err)
	}
	if err := results.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.log.Reset()
	k.job(t.Context(), claim)
	if end, found, err := s.queue.Result(t.Context(), r.ID, claim.Job.Key); found || err != nil || !strings.Contains(s.log.String(), "gave back b of run "+r.ID+": the result of a job that it needs was not found") {
		t.Errorf("found %+v, %v, log %s", end, err, &s.log)
	}
}

// A machine without a network would fail the last delivery of each job without a pause between them.
func TestTheLastDeliveryThatFailsForItsMachineDoesNotEndThePauses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(1, "  - {id: a, prompt: Add a notice.}\n")
	k, claim := s.claimed()
	k.faults = 3
	if err := os.Rename(s.remote, s.remote+".moved"); err != nil {
		t.Fatal(err)
	}
	k.job(t.Context(), claim)
	if end := s.result(r, "a"); end.End.Code != event.CodeClone || !strings.HasPrefix(end.End.Reason, "fetch the repository: ") || k.faults != 3 {
		t.Errorf("%+v, %d faults", end.End, k.faults)
	}
}
