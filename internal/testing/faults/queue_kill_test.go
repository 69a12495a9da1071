package faults

import (
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/proc/failpoint"
)

// TestQueueKilled kills workers of a queue after random requests to the model, and replaces them,
// and kills its server twice. All jobs end once, with their effects.
func TestQueueKilled(t *testing.T) {
	m := newMachines(t, nightly.Count(5, 20, 20), nightly.Count(4, 10, 10), queueTask)
	random := nightly.Random(t)
	moments, left := make(chan struct{}, 1000), 3
	m.asked = func(string, int) *script.Turn {
		m.mu.Lock()
		defer m.mu.Unlock()
		if left--; left == 0 {
			left = 4 + random.IntN(12)
			moments <- struct{}{}
		}
		return nil
	}
	began := time.Now()
	id := m.submit("--lease", "10s", "--max-deliveries", "50")
	for machine := range 3 {
		m.start(machine, nil, "--jobs", "2")
	}
	ended := m.reports(id)
	kills := 0
	for code := -1; code < 0; {
		select {
		case <-moments:
			if kills++; kills == 2 || kills == 4 {
				m.restartServer()
				continue
			}
			machine := kills % 3
			m.end(m.workers[machine], syscall.SIGKILL)
			m.start(machine, nil, "--jobs", "2")
		case code = <-ended:
			if code != 0 {
				t.Errorf("exit code %d of queue report", code)
			}
		case <-time.After(10 * time.Minute):
			t.Fatal("the run does not end")
		}
	}
	if kills < 5 {
		t.Errorf("only %d kills", kills)
	}
	deliveries := 0
	for _, r := range m.results(id) {
		deliveries += r.Delivery
	}
	t.Logf("%d jobs, %d kills of workers and 2 of the server, %d deliveries, %s", len(m.repos)*m.tasks, kills-2, deliveries, time.Since(began).Round(time.Second))
	m.leave()
	m.checkPassed()
}

// TestQueueKilledBetweenEffects kills a worker after each effect of a job. The next delivery adds
// what is missing, and repeats nothing. For every change it does so after the first effect, and between those that
// leave the machine.
func TestQueueKilledBetweenEffects(t *testing.T) {
	points := map[failpoint.Point]int{
		failpoint.CommitStored: 6, // nobody else has the commit
		failpoint.PushSent:     3,
		failpoint.ForgeAfter:   3,
		failpoint.ResultLogged: 3,
	}
	if nightly.On() {
		maps.Copy(points, map[failpoint.Point]int{
			failpoint.PushBefore:   6,
			failpoint.ForgeBefore:  3,
			failpoint.EventBefore:  3,
			failpoint.ResultBefore: 3,
			failpoint.ResultAfter:  3,
		})
	}
	for point, requests := range points {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			m := newMachines(t, 1, 1, queueTask)
			id := m.submit("--lease", "10s", "--max-deliveries", "20")
			m.start(0, []string{killVariable + "=" + when(1, 0, named(point))})
			<-m.workers[0].done
			if code := exitCode(t, m.workers[0].err); code != 128+9 {
				t.Errorf("exit code %d", code)
			}
			delete(m.workers, 0)
			p := m.start(1, nil, "--max-idle", "30s")
			m.ended(id, 0)
			<-p.done
			delete(m.workers, 1)
			if m.served < requests || requests == 3 && m.served != 3 {
				t.Errorf("%d requests, want %d", m.served, requests)
			}
			m.checkPassed()
			if n := strings.Count(m.read("r/sessions/j0.jsonl"), "The work is complete."); n != 3 || !strings.Contains(m.read("r/patches/j0.patch"), "+done") {
				t.Errorf("the transcript has the final message %d times, patch:\n%s", n, m.read("r/patches/j0.patch"))
			}
			m.git("--git-dir", m.bare(0), "update-ref", "-d", "refs/heads/millhand/j0")
			if again := m.submit(); again == id {
				t.Error("the job is still in the queue")
			}
			m.leave()
		})
	}
}

// named returns the name of a point, with its kind.
func named(p failpoint.Point) string {
	switch {
	case strings.HasPrefix(string(p), "forge."):
		return string(p) + " POST"
	case p == failpoint.EventBefore:
		return string(p) + " job.ended"
	}
	return string(p)
}

// TestQueueKilledAfterComment kills a worker that has created a sticky comment. The next delivery
// updates it, and reports that the run has created it; the next run, that it has not.
func TestQueueKilledAfterComment(t *testing.T) {
	t.Parallel()
	m := newMachines(t, 1, 1, strings.Replace(queueTask, "{mode: pr}", "{mode: none, comment: {issue: 7, sticky: true}}", 1))
	killed := m.start(0, []string{killVariable + "=" + when(1, 0, named(failpoint.ForgeAfter))})
	for run := range 2 {
		id := m.submit("--lease", "10s")
		if run == 0 {
			<-killed.done
			delete(m.workers, 0)
			m.start(1, nil)
		}
		m.ended(id, 0)
		if c := m.queuedReport().Jobs[0].Comment; c == nil || c.Created != (run == 0) || len(m.forge.Notes()) != 1 {
			t.Errorf("run %d: comment %+v of %+v", run, c, m.forge.Notes())
		}
	}
	m.leave()
}

// TestQueueStopped stops a worker for longer than its lease. It has no effects afterwards.
func TestQueueStopped(t *testing.T) {
	points := []failpoint.Point{failpoint.PushBefore, failpoint.ResultBefore, failpoint.RequestAfter, failpoint.CommitStored, failpoint.ForgeBefore}
	for _, point := range points[:nightly.Count(2, len(points), len(points))] {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			m := newMachines(t, 1, 1, queueTask)
			id := m.submit("--lease", "10s", "--max-deliveries", "20")
			stopped := m.start(0, []string{stopVariable + "=" + when(1, 0, named(point))})
			stat := fmt.Sprintf("/proc/%d/stat", stopped.Process.Pid)
			m.until("the worker is stopped", func() bool { return m.contains(stat, ") T ") })
			m.start(1, nil)
			m.ended(id, 0)
			before, result := m.resolve("acme/r0", "millhand/j0"), m.results(id)
			if err := stopped.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			m.until("the worker gives up", func() bool { return m.contains(stopped.log, "stopped j0") || m.contains(stopped.log, "not stored") })
			if after, now := m.resolve("acme/r0", "millhand/j0"), m.results(id); after != before || fmt.Sprint(now) != fmt.Sprint(result) {
				t.Errorf("the branch was at %s and is at %s; the results were %v and are %v", before, after, result, now)
			}
			m.leave()
			m.checkPassed()
		})
	}
}

// TestQueueLongJob runs a job for more than twice its lease: it is delivered once.
func TestQueueLongJob(t *testing.T) {
	t.Parallel() // it waits for most of the time
	m := newMachines(t, 1, 1, queueTask)
	m.asked = func(string, int) *script.Turn {
		time.Sleep(10 * time.Second)
		return nil
	}
	id := m.submit("--lease", "12s")
	for machine := range 2 {
		m.start(machine, nil)
	}
	m.ended(id, 0)
	for job, r := range m.results(id) {
		if r.Delivery != 1 {
			t.Errorf("job %s was delivered %d times", job, r.Delivery)
		}
	}
	m.leave()
	m.checkPassed()
}

// TestAJobThatKillsEachWorkerFailsAlone kills the worker of a job each time it is delivered. The job fails with the
// history of its deliveries, and the others pass.
func TestAJobThatKillsEachWorkerFailsAlone(t *testing.T) {
	t.Parallel() // it waits for most of the time
	m := newMachines(t, 1, 3, queueTask)
	poison, killed := make(chan struct{}), make(chan struct{})
	m.asked = func(job string, _ int) *script.Turn {
		if strings.HasPrefix(job, "j1 ") {
			poison <- struct{}{}
			<-killed
		}
		return nil
	}
	id := m.submit("--lease", "10s")
	m.start(0, nil)
	for range 3 {
		select {
		case <-poison:
		case <-time.After(5 * time.Minute):
			t.Fatal("the job is not delivered three times")
		}
		m.end(m.workers[0], syscall.SIGKILL)
		killed <- struct{}{}
		m.start(0, nil)
	}
	m.ended(id, 70)
	m.leave()
	for _, j := range m.queuedReport().Jobs {
		switch {
		case !strings.HasPrefix(j.ID, "j1"):
			if j.Outcome != "passed" {
				t.Errorf("job %s: %s: %s", j.ID, j.Outcome, j.Reason)
			}
		case j.Outcome == "passed" || !strings.Contains(j.Reason, "3 deliveries did not end the job") || strings.Count(j.Reason, "its worker was killed") != 3 || j.Turns != 3 || j.CostUSD < 0.003*3:
			t.Errorf("job %s: %s: %s; %d turns, $%f", j.ID, j.Outcome, j.Reason, j.Turns, j.CostUSD)
		}
	}
	m.checkBranches(2)
}
