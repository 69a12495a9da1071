package faults

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/text/figures"
)

// TestQueueOfManyJobs runs many jobs of one request each, and logs the figures of docs/figures.md.
func TestQueueOfManyJobs(t *testing.T) {
	m := newMachines(t, 1, nightly.Count(50, 10000, 10000), "  - {id: j%[1]d, prompt: \"Do work j%[1]d in r0.\"}\n")
	m.asked = func(string, int) *script.Turn { return &script.Turn{Text: "Done.", Finish: model.FinishStop} }
	id := m.submit()
	q, err := queue.Open(t.Context(), queue.Options{URL: m.url, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	r, err := q.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for machine := range 2 {
		m.start(machine, nil, "--jobs", "2")
	}
	m.progress(func() int {
		n, err := q.Ended(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}, m.tasks)
	ran := time.Since(began)
	for name, p := range map[string]*process{"worker 0": m.workers[0], "worker 1": m.workers[1], "the server": m.server} {
		t.Logf("memory of %s: %s", name, m.memory(p))
	}
	store := int64(0)
	_ = filepath.WalkDir(filepath.Join(m.dir, "store"), func(_ string, e fs.DirEntry, err error) error {
		if info, statErr := e.Info(); err == nil && statErr == nil && info.Mode().IsRegular() {
			store += info.Size()
		}
		return nil
	})
	m.ended(id, 0)
	m.leave()
	t.Logf("%d jobs: run in %s by 2 workers with 2 jobs in parallel; store %s, %s per 10,000 jobs",
		m.tasks, ran.Round(time.Millisecond), figures.Bytes(store), figures.Bytes(store*10000/int64(m.tasks)))
	for _, name := range slices.Sorted(maps.Keys(m.spent)) {
		t.Logf("CPU time of %s: %s", strings.TrimSuffix(name, ".log"), m.spent[name].Round(time.Millisecond))
	}
	for _, j := range m.queuedReport().Jobs {
		if j.Outcome != "passed" {
			t.Errorf("job %s: %s: %s", j.ID, j.Outcome, j.Reason)
		}
	}
	if m.served != m.tasks {
		t.Errorf("%d requests for %d jobs", m.served, m.tasks)
	}
}

// progress waits until a number that grows is as high as wanted. It fails if the number stops growing.
func (m *machines) progress(count func() int, want int) {
	m.t.Helper()
	last, since := -1, time.Now()
	for n := count(); n < want; n = count() {
		if n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) > 3*time.Minute {
			m.t.Fatalf("%d of %d jobs have ended, and no more end", n, want)
		}
		time.Sleep(time.Second)
	}
}

var memoryLine = regexp.MustCompile(`Vm(HWM|RSS):\s*(\d+) kB`)

// memory describes the memory of a process.
func (m *machines) memory(p *process) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	sizes := map[string]string{}
	for _, found := range memoryLine.FindAllSubmatch(text, -1) {
		kib, _ := strconv.ParseInt(string(found[2]), 10, 64)
		sizes[string(found[1])] = figures.Bytes(kib << 10)
	}
	return fmt.Sprintf("at most %s, %s now", sizes["HWM"], sizes["RSS"])
}
