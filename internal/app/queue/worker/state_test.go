package worker

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/testing/reporttest"
)

// idle is a worker without a queue, whose clock stands still, and its log.
func idle(t *testing.T) (k *worker, now *time.Time, log *bytes.Buffer) {
	t.Helper()
	now, log = new(time.Unix(2e9, 0)), &bytes.Buffer{}
	w := world.World{Dir: t.TempDir(), Err: log, Now: func() time.Time { return *now }, Getenv: func(string) string { return "" }}
	k = &worker{world: w, dir: t.TempDir(), id: "w1", claims: map[*queue.Claim]time.Time{}, refused: map[string]string{}, stopped: map[string]bool{}, pauses: make(chan announcement, 2), changed: make(chan struct{}, 1)}
	return k, now, log
}

func TestPausesAfterFaultsOfTheMachineDoubleUntilAJobRuns(t *testing.T) {
	t.Parallel()
	k, now, log := idle(t)
	var pauses []time.Duration
	for range 8 {
		k.trouble("a: no space")
		pauses = append(pauses, k.pause())
	}
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, longestPause, longestPause}
	if !slices.Equal(pauses, want) || k.state().Paused != "a: no space" || !strings.Contains(log.String(), "no jobs are claimed for 5s: a: no space\n") {
		t.Errorf("pauses %v, %q, log %s", pauses, k.state().Paused, log)
	}
	*now = now.Add(longestPause - time.Second)
	if wait := k.pause(); wait != time.Second || strings.Contains(log.String(), "again") {
		t.Errorf("before its end: %s", wait)
	}
	*now = now.Add(time.Second)
	for range 2 {
		if wait := k.pause(); wait != 0 || k.paused != "" || strings.Count(log.String(), "jobs are claimed again\n") != 1 {
			t.Errorf("after its end: %s, %s", wait, log)
		}
	}
	k.well()
	k.trouble("b")
	if wait := k.pause(); wait != shortestPause {
		t.Errorf("after a job that ran: %s", wait)
	}
}

func TestAWorkerWithoutSpaceClaimsNothing(t *testing.T) {
	t.Parallel()
	k, _, log := idle(t)
	if text := k.full(); text != "" {
		t.Errorf("without a minimum: %s", text)
	}
	k.dir = filepath.Join(k.dir, "not", "made", "yet")
	k.opts.MinFree = 1 << 62
	for range 2 {
		if wait := k.pause(); wait <= 0 || strings.Count(log.String(), "no jobs are claimed: only ") != 1 || !strings.Contains(k.state().Paused, " free on the disk of "+k.dir) {
			t.Errorf("%s, %s", wait, log)
		}
	}
	k.opts.MinFree = 0
	if wait := k.pause(); wait != 0 || k.paused != "" {
		t.Errorf("with space again: %s, %q", wait, k.paused)
	}
	if dir := existing("/no/such/directory"); dir != "/" {
		t.Errorf("existing: %s", dir)
	}
}

func TestMissingVariablesAreReportedWhenTheyChange(t *testing.T) {
	t.Parallel()
	k, _, log := idle(t)
	for _, lacks := range [][]string{nil, {"A_KEY"}, {"A_KEY"}, nil, {"A_KEY", "B_KEY"}} {
		k.lacking(lacks)
	}
	const line = "jobs wait that require variables of the environment that this worker lacks: "
	if want := line + "A_KEY\n" + line + "A_KEY; B_KEY\n"; log.String() != want {
		t.Errorf("%s, want %s", log, want)
	}
	k.opts.Quiet = true
	log.Reset()
	if k.lacking([]string{"C_KEY"}); log.Len() > 0 {
		t.Errorf("quiet: %s", log)
	}
}

// claimOf is a claim of a run that nothing has stored.
func claimOf(run, job string) *queue.Claim {
	return &queue.Claim{Run: &queue.Run{ID: run}, Job: queue.Job{ID: job}, Delivery: 2}
}

func TestOthersSeeTheJobsOfAWorkerByTheirAge(t *testing.T) {
	t.Parallel()
	k, now, _ := idle(t)
	k.host, k.world.Version, k.opts.Jobs, k.began = "h", "1.2.3", 3, now.Add(-time.Hour)
	k.refused["r9"] = "another plan"
	k.claims[claimOf("r1", "new")], k.claims[claimOf("r1", "b")], k.claims[claimOf("r2", "a")] = *now, now.Add(-time.Minute), now.Add(-time.Minute)
	s := k.state()
	var jobs []string
	for _, j := range s.Jobs {
		jobs = append(jobs, j.Run+"/"+j.Job)
	}
	if strings.Join(jobs, " ") != "r2/a r1/b r1/new" || s.Jobs[2].Delivery != 2 || !s.Jobs[2].Since.Equal(*now) {
		t.Errorf("jobs %+v", s.Jobs)
	}
	if s.ID != "w1" || s.Host != "h" || s.Version != "1.2.3" || s.Slots != 3 || !s.Started.Equal(k.began) || s.Refused["r9"] != "another plan" {
		t.Errorf("%+v", s)
	}
	k.showNow()
	k.showNow() // must not wait
	<-k.changed
}

func TestAProviderThatPausesOneWorkerPausesTheOthers(t *testing.T) {
	t.Parallel()
	k, _, _ := idle(t)
	for range 3 {
		k.announces("openai/key", time.Minute) // more than are sent must not wait
	}
	if a := <-k.pauses; a != (announcement{"openai/key", time.Minute}) {
		t.Errorf("announced %+v", a)
	}
	for worker, want := range map[string]time.Duration{"w1": 0, "w2": time.Minute} {
		k.accounts = models.NewAccounts(k.world.Now, nil, nil)
		k.cooled("openai/key", queue.Cooldown{Worker: worker, Wait: time.Minute})
		ctx, stop := context.WithCancel(t.Context())
		var paused time.Duration
		_, err := model.Limited(responds{}, k.accounts.Limiter("openai/key"), func(wait time.Duration) {
			paused = wait
			stop()
		}).Stream(ctx, model.Request{}, nil)
		stop()
		if paused < want || want == 0 && paused != 0 || (err != nil) != (want > 0) {
			t.Errorf("after an announcement of %s: paused for %s, %v", worker, paused, err)
		}
	}
}

// responds is a model whose responses are empty.
type responds struct{}

func (responds) Stream(context.Context, model.Request, func(model.Delta)) (model.Response, error) {
	return model.Response{}, nil
}

func TestADrainedWorkerWaitsForTheJobsThatItGaveBack(t *testing.T) {
	t.Parallel()
	k, now, _ := idle(t)
	if !k.drained() {
		t.Error("a worker that gave nothing back is not drained")
	}
	k.gave = *now
	*now = now.Add(shortestPause)
	if k.drained() {
		t.Error("it is drained before a job can be delivered again")
	}
	if *now = now.Add(time.Minute); !k.drained() {
		t.Error("it waits for ever")
	}
}

func TestAJobThatEndsWithItsLeaseOrItsWorkerHasTheCause(t *testing.T) {
	t.Parallel()
	interrupted := event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate}
	for name, c := range map[string]struct {
		worker, lease error
		want          string
	}{
		"a lost lease":    {nil, queue.ErrLost, "the loss of its lease"},
		"a cancelled run": {nil, queue.ErrCancelled, "millhand queue cancel"},
		"a signal":        {interrupted, nil, "SIGTERM"},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		lease, end := context.WithCancelCause(t.Context())
		joined, done := within(ctx, lease)
		if c.lease != nil {
			end(c.lease)
		} else {
			stop(c.worker)
		}
		<-joined.Done()
		var interrupt event.Interrupt
		if err := context.Cause(joined); !errors.As(err, &interrupt) || interrupt.Signal != c.want || interrupt.Exit != event.ExitTerminate {
			t.Errorf("%s: %v", name, err)
		}
		done()
		stop(nil)
		end(nil)
	}
	joined, done := within(t.Context(), t.Context())
	if done(); joined.Err() == nil {
		t.Error("the context of a job does not end with it")
	}
}

func TestDeliveriesThatCountAreListedWithTheirReasons(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("", 3600))
	claim := claimOf("r", "a")
	claim.Earlier = []queue.Delivery{{Number: 1, Worker: "w1", At: at, Returned: "no space"}, {Number: 2, Worker: "w2", At: at, Free: true}, {Number: 3, Worker: "w3", At: at}}
	want := "2 deliveries did not end the job\ndelivery 1 to worker w1 at 2026-03-04T04:06:07Z: no space\ndelivery 3 to worker w3 at 2026-03-04T04:06:07Z: its worker was killed or lost its lease"
	if got := deliveries(claim); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for delivery, want := range map[int]string{1: "", 2: " again (delivery 2)"} {
		if claim.Delivery = delivery; redelivered(claim) != want {
			t.Errorf("delivery %d: %q", delivery, redelivered(claim))
		}
	}
	if got := colon("verify failed\nthe output") + colon(""); got != ": verify failed" {
		t.Errorf("reason %q", got)
	}
}

// earlierLog has the events of a delivery that was killed in the second turn of its job, after the start of its run.
func earlierLog(t *testing.T, start event.Event) []byte {
	t.Helper()
	turn := func(kind event.Type, number int) event.Event {
		return event.Event{Type: kind, Job: "a", Session: "s", Turn: &event.Turn{Number: number, Model: "m"}}
	}
	return reporttest.Lines(t, start, reporttest.Started("a"), turn(event.TurnStarted, 1), reporttest.TurnEnded("s", 1, reporttest.Costs(0.5)), turn(event.TurnStarted, 2))
}

func TestTheLogOfEarlierDeliveriesHasTheTurnsThatDidNotEnd(t *testing.T) {
	t.Parallel()
	earlier, err := readEarlier(earlierLog(t, reporttest.Planned("a")))
	if err != nil || earlier.seq != 5 || len(earlier.open) != 1 || earlier.open[0].Turn.Number != 2 {
		t.Fatalf("%+v, %v", earlier, err)
	}
	if j, found := earlier.fold.Job("a"); !found || j.Turns != 2 || j.Usage.Input != 10 {
		t.Errorf("job %+v", j)
	}
	if _, err := readEarlier([]byte("x\nx\n")); err == nil {
		t.Error("a log that can't be read is no error")
	}
}

func TestAJobIsReopenedWithTheEventsOfEarlierDeliveries(t *testing.T) {
	t.Parallel()
	c := clock.Clock{Now: time.Now, Sleep: clock.Wait}
	dir := filepath.Join(t.TempDir(), "report")
	past, out, err := reopenJob(t.Context(), dir, earlierLog(t, reporttest.Planned("a")), c)
	if err != nil {
		t.Fatal(err)
	}
	out.Close()
	if past.Done("a") || past.Past.Job("a") == nil {
		t.Errorf("%+v", past)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "events.jsonl")); err != nil || !bytes.Equal(text, earlierLog(t, reporttest.Planned("a"))) {
		t.Errorf("events %s, %v", text, err)
	}
	if _, out, err := reopenJob(t.Context(), dir, earlierLog(t, reporttest.Planned("a")), c); err == nil {
		out.Close()
		t.Error("the directory of a job is used twice")
	}
	if _, _, err := reopenJob(t.Context(), filepath.Join(t.TempDir(), "report"), []byte("x\nx\n"), c); err == nil {
		t.Error("events that can't be read are no error")
	}
}

func TestAWorkerWaitsForAQueueThatIsStartingAsLongAsForAJob(t *testing.T) {
	t.Parallel()
	k, _, log := idle(t)
	const nowhere = "nats://127.0.0.1:1"
	for name, o := range map[string]Options{"drain": {Drain: true}, "idle": {MaxIdle: time.Nanosecond}} {
		k.world.Now = time.Now
		o.Server.URL = nowhere
		if _, err := o.await(t.Context(), k.world); fault.ExitOf(err) != event.ExitUnavailable || log.Len() > 0 {
			t.Errorf("%s: %v, %s", name, err, log)
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
	o := Options{Server: queue.Options{URL: nowhere}}
	if _, err := o.await(ctx, k.world); fault.ExitOf(err) == event.ExitOK {
		t.Errorf("stopped: %v", err)
	}
}
