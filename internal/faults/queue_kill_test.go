package faults

import (
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/nightly"
)

// TestQueueKilled kills workers of a queue after random requests to the model, and replaces them,
// and kills its server twice. All jobs end once, with their effects.
func TestQueueKilled(t *testing.T) {
	m := newMachines(t, nightly.Count(5, 20, 20), nightly.Count(4, 10, 10))
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
	m.leave()
	m.checkPassed()
}
