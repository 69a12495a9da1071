package faults

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
)

// TestQueueBudget kills workers that share a budget that does not suffice. The provider was never
// paid more than the queue has recorded, and that is within the limit.
func TestQueueBudget(t *testing.T) {
	workers := nightly.Count(4, 8, 8)
	limit := float64(nightly.Count(8, 60, 200)) / 100 // of about 0.009 for each job
	m := newMachines(t, nightly.Count(3, 10, 20), nightly.Count(4, 10, 20), queueTask)
	random := nightly.Random(t)
	moments, left := make(chan struct{}, 1000), 5
	m.asked = func(string, int) *script.Turn {
		m.mu.Lock()
		defer m.mu.Unlock()
		if left--; left == 0 {
			left = 3 + random.IntN(8)
			moments <- struct{}{}
		}
		return nil
	}
	id := m.submit("--lease", "6s", "--max-deliveries", "50", "--max-cost", strconv.FormatFloat(limit, 'f', 2, 64))
	for machine := range workers {
		m.start(machine, nil, "--jobs", "3")
	}
	ended, kills := m.reports(id), 0
	for code := -1; code < 0; {
		select {
		case <-moments:
			kills++
			machine := random.IntN(workers)
			m.end(m.workers[machine], syscall.SIGKILL)
			m.start(machine, nil, "--jobs", "3")
		case code = <-ended:
		case <-time.After(10 * time.Minute):
			t.Fatal("the run does not end")
		}
	}
	var status struct {
		Spent    float64 `json:"spent_usd"`
		Reserved float64 `json:"reserved_usd"`
	}
	out, err := m.command(98, nil, "millhand", "queue", "status", id, "--json").Output()
	if err == nil {
		err = json.Unmarshal(out, &status)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.leave()
	usage := m.model.Usage()
	paid := float64(usage.Input+usage.Output) / 1e6
	counts := map[string]int{}
	for _, j := range m.queuedReport().Jobs {
		counts[j.Outcome+" "+j.Code]++
	}
	t.Logf("%d kills, paid $%g, recorded $%g, jobs %v", kills, paid, status.Spent, counts)
	const rounding = 1e-9
	if paid > status.Spent+rounding || status.Spent > limit+rounding || status.Reserved != 0 {
		t.Errorf("the provider was paid $%g, the queue has recorded $%g and $%g reserved, of at most $%g", paid, status.Spent, status.Reserved, limit)
	}
	if kills == 0 || counts["passed "] == len(m.repos)*m.tasks {
		t.Errorf("%d kills, jobs %v: the budget did not matter", kills, counts)
	}
}

// TestQueueFaultyMachines has a worker that can't fetch repositories and one whose disk is full. They stop
// claiming jobs, and another worker runs all.
func TestQueueFaultyMachines(t *testing.T) {
	if exec.CommandContext(t.Context(), "unshare", "-m", "true").Run() != nil {
		t.Skip("this user can mount no small disk")
	}
	m := newMachines(t, 2, 2, queueTask)
	id := m.submit("--lease", "10s", "--max-deliveries", "10")
	m.start(0, []string{"FORGE_TOKEN=wrong"})
	full := m.command(1, nil, "millhand", "worker")
	full.Args = append([]string{"unshare", "-m", "sh", "-c", `mount -t tmpfs -o size=64m none tmp && exec "$@"`, "sh"}, full.Args...)
	full.Path, _ = exec.LookPath("unshare")
	m.workers[1] = m.background("worker1.log", full)
	for machine := range 2 {
		p := m.workers[machine]
		m.until("a worker stops claiming jobs", func() bool { return m.contains(p.log, "no jobs are claimed") })
	}
	m.start(2, nil, "--jobs", "2")
	m.ended(id, 0)
	if m.contains(m.workers[1].log, "started j") {
		t.Error("the worker with a full disk has claimed a job")
	}
	m.leave()
	m.checkPassed()
}

// TestQueueRateLimit rejects one request of a worker for too many requests: no worker sends one
// during the pause that it has announced.
func TestQueueRateLimit(t *testing.T) {
	t.Parallel()
	const pause, delivery = 30 * time.Second, 15 * time.Second // in which all workers know of it
	m := newMachines(t, 1, 2, strings.NewReplacer("verify", "# verify", "commit", "# commit", "publish", "# publish").Replace(queueTask))
	q, err := queue.Open(t.Context(), queue.Options{URL: m.url, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	announced := make(chan time.Time, 1)
	go q.Signals(t.Context(), func(string) {}, func(string, queue.Cooldown) { announced <- time.Now() })
	var mu sync.Mutex
	var requests []time.Time
	jobs, rejected, done := map[string]bool{}, false, false
	m.asked = func(job string, n int) *script.Turn {
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, time.Now())
		jobs[job] = true
		if n > 0 && len(jobs) == 2 && !rejected {
			rejected = true
			return &script.Turn{Error: &model.Error{Class: model.ClassRate, Status: 429, RetryAfter: pause, Err: errors.New("too many requests")}}
		}
		if done {
			return &script.Turn{Text: "The work is complete.", Finish: model.FinishStop}
		}
		time.Sleep(50 * time.Millisecond)
		call := model.ToolCall{ID: "call", Name: "write", Input: `{"filePath": "a.txt", "content": "` + strings.Repeat("a", n+1) + `"}`}
		return &script.Turn{Calls: []model.ToolCall{call}, Finish: model.FinishTools}
	}
	id := m.submit()
	for machine := range 2 {
		m.start(machine, nil)
	}
	var from time.Time
	select {
	case from = <-announced:
	case <-time.After(5 * time.Minute):
		t.Fatal("no pause is announced")
	}
	m.until("requests are sent again", func() bool {
		mu.Lock()
		defer mu.Unlock()
		done = time.Since(from) > delivery && requests[len(requests)-1].Sub(from) > delivery
		return done
	})
	m.ended(id, 0)
	mu.Lock()
	defer mu.Unlock()
	for _, at := range requests {
		if after := at.Sub(from); after > delivery && after < pause-time.Second {
			t.Errorf("a request %s after a pause of %s was announced", after, pause)
		}
	}
	m.leave()
}
