package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// waveRuns is the maximum number of processes of a rollout after its last kill.
const waveRuns = 12

// newWaves returns a bulk run with a rollout of three waves.
func newWaves(t *testing.T, template string) *bulk {
	t.Helper()
	b := newBulk(t, template, bulkTasks())
	b.forge.Message = func(repo, sha string) (message, parent string) {
		out, err := exec.Command("git", "-C", filepath.Join(b.dir, repo+".git"), "log", "-1", "--format=%P%n%B", sha).Output()
		if err != nil {
			return "", ""
		}
		parent, message, _ = strings.Cut(string(out), "\n")
		return message, parent
	}
	text, err := os.ReadFile(filepath.Join(b.dir, "run.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b.write("run.yaml", "name: fleet\nrollout: {waves: [2, 50%], advance: {passed: 100%}, max_open: 100, per_hour: 100}\n"+string(text), 0o600)
	return b
}

// invoke runs the command that cron repeats, and returns its exit code.
func (b *bulk) invoke(variables ...string) int {
	b.t.Helper()
	cmd := b.next(b.t.Context(), variables...)
	cmd.Args = []string{"millhand", "run", "../run.yaml", "--report-dir", "../r", "--jobs", fmt.Sprint(bulkParallel), "--max-cost", bulkCost}
	code := exitCode(b.t, cmd.Run())
	if code == 128+9 {
		b.kills++
	}
	fmt.Fprintf(&b.out, "exit code %d\n", code)
	return code
}

// roll repeats the command until the rollout is complete.
func (b *bulk) roll() (processes int) {
	b.t.Helper()
	for processes = 1; processes <= waveRuns; processes++ {
		if code := b.invoke(); code != 0 {
			b.t.Fatalf("exit code %d\n%s", code, b.out.String())
		}
		written, err := os.ReadFile(filepath.Join(b.dir, "r/report.json"))
		var doc struct {
			Run  struct{ Outcome string }
			Jobs []struct{ ID, Outcome, Reason string }
		}
		if err == nil {
			err = json.Unmarshal(written, &doc)
		}
		if err != nil {
			b.t.Fatal(err)
		}
		for _, j := range doc.Jobs {
			if j.Outcome != "passed" {
				b.t.Errorf("job %s: %s: %s", j.ID, j.Outcome, j.Reason)
			}
		}
		if doc.Run.Outcome == "passed" {
			return processes
		}
	}
	b.t.Fatalf("the rollout is not complete after %d runs\n%s", waveRuns, b.out.String())
	return 0
}

// checkWaves checks what a rollout left, and that a repeated command does nothing.
func (b *bulk) checkWaves() {
	b.t.Helper()
	b.mu.Lock()
	paid := b.paid
	b.mu.Unlock()
	b.roll()
	if b.paid != paid {
		b.t.Errorf("%d requests after the end of the rollout", b.paid-paid)
	}
	b.checkProcesses()
	b.checkBulkRepositories()
	b.checkPulls()
	b.checkSecrets()
	if n, which := b.repeated(); n > b.kills*bulkParallel {
		b.t.Errorf("%d requests were repeated after %d kills: %q", n, b.kills, which)
	}
}

// TestWavesKilled kills runs of a rollout at random instants, and repeats the command as cron
// does: nothing is pushed, published or paid twice.
func TestWavesKilled(t *testing.T) {
	template := bulkTemplate(t)
	random := nightly.Random(t)
	b := newWaves(t, template)
	hits := 0
	if b.invoke(b.recording("first")) != 0 {
		t.Fatalf("the first wave failed\n%s", b.out.String())
	}
	for _, n := range b.hits("first") {
		hits += n
	}
	if n := b.roll(); n != 2 {
		t.Errorf("the rollout was complete after %d runs, want 3", n+1)
	}
	b.checkWaves()
	var mu sync.Mutex
	ended := counts{}
	t.Run("kills", func(t *testing.T) {
		for range nightly.Count(1, 100, 400) {
			var moments []string
			for range 1 + random.IntN(3) {
				moments = append(moments, instant(random, hits))
			}
			t.Run(strings.Join(moments, ", then "), func(t *testing.T) {
				t.Parallel()
				b := newWaves(t, template)
				b.variant = strings.Join(moments, ", then ")
				for _, moment := range moments {
					code := b.invoke(killVariable + "=" + moment)
					b.checkProcesses()
					if code != 0 && code != 128+9 {
						t.Fatalf("exit code %d\n%s", code, b.out.String())
					}
				}
				b.roll()
				b.checkWaves()
				mu.Lock()
				defer mu.Unlock()
				ended[fmt.Sprintf("%d kills", b.kills)]++
			})
		}
	})
	ended.log(t)
}
