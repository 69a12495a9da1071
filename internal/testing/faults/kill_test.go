package faults

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// span measures the duration of an undisturbed run, and checks that the run passes:
// faults happen at random moments of it.
func span(t *testing.T, template string) time.Duration {
	t.Helper()
	w := newWorld(t, template, nil)
	start := time.Now()
	if out, err := w.run(t.Context(), "r").CombinedOutput(); err != nil {
		t.Fatalf("an undisturbed run: %v\n%s", err, out)
	}
	took := time.Since(start)
	w.checkRepositories()
	w.checkLeftovers()
	for _, j := range w.checkReport("r", false).Jobs {
		if j.Outcome != "passed" {
			t.Fatalf("job %s: %s: %s", j.ID, j.Outcome, j.Reason)
		}
	}
	return took
}

// moment is a random moment of a run, or soon after it.
func moment(random *rand.Rand, span time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(span) * 11 / 10))
}

// exitCode returns a finished command's exit code, or 128 plus the signal that ended
// it.
func exitCode(t *testing.T, err error) int {
	t.Helper()
	exit := new(exec.ExitError)
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		t.Fatal(err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// TestKills kills runs at random moments. What was committed is complete, the journal
// is readable, nothing goes on running, and the next run removes what is left, and completes the work without
// paying again for what was committed.
func TestKills(t *testing.T) {
	template := template(t)
	random, ended := nightly.Random(t), counts{}
	took := span(t, template)
	for range nightly.Count(2, 250, 1000) {
		at := moment(random, took)
		t.Run(at.String(), func(t *testing.T) {
			w := newWorld(t, template, nil)
			cmd := w.run(t.Context(), "r")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(at)
			_ = cmd.Process.Kill() // it may have ended
			code := exitCode(t, cmd.Wait())
			w.checkProcesses()
			w.checkRepositories()
			w.checkEvents("r")
			ended[killedAs(w, code)]++
			w.finish()
		})
	}
	ended.log(t)
}

// killedAs checks and returns how far a killed run got.
func killedAs(w *world, code int) string {
	if code == 0 {
		return "ended before the kill"
	}
	if events, _ := os.ReadFile(filepath.Join(w.dir, "r/events.jsonl")); len(events) == 0 {
		return "killed before it began"
	}
	r := w.checkReport("r", true)
	if len(r.Jobs) > 0 && r.Run.Outcome != "error" && r.Run.Outcome != "passed" {
		w.t.Errorf("the outcome of a killed run is %s", r.Run.Outcome)
	}
	if cost := r.Run.Totals; cost.CostUSD == nil && cost.CostUSDAtLeast == nil {
		w.t.Error("neither the cost nor a lower bound is reported")
	}
	return "killed on the way"
}

// finish runs the manifest again. All work is on the remote afterwards, once.
func (w *world) finish() {
	w.t.Helper()
	if out, err := w.run(w.t.Context(), "again").CombinedOutput(); err != nil {
		w.t.Errorf("the next run: %v\n%s", err, out)
	}
	w.checkRepositories()
	w.checkLeftovers()
	w.checkReport("again", false)
	local := w.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/millhand")
	remote := w.git("--git-dir", "../origin.git", "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/millhand")
	if local != remote || strings.Count(local, "\n") != jobs-1 {
		w.t.Errorf("branches after the next run:\n%s\nand on the remote:\n%s", local, remote)
	}
}

// TestSignals interrupts runs at random moments, some of them twice. The reports are
// written, the work of jobs that were under way is saved as patches, and nothing is
// left behind.
func TestSignals(t *testing.T) {
	template := template(t)
	random, ended := nightly.Random(t), counts{}
	took := span(t, template)
	for range nightly.Count(2, 150, 600) {
		at, signal := moment(random, took), []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[random.IntN(2)]
		gap := time.Duration(-1)
		if random.IntN(3) == 0 {
			gap = time.Duration(random.Int64N(int64(200 * time.Millisecond)))
		}
		t.Run(at.String()+" "+signal.String(), func(t *testing.T) {
			w := newWorld(t, template, nil)
			cmd := w.run(t.Context(), "r")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(at)
			_ = cmd.Process.Signal(signal)
			if gap >= 0 {
				time.Sleep(gap)
				_ = cmd.Process.Signal(signal)
			}
			code := exitCode(t, cmd.Wait())
			w.checkProcesses()
			w.checkRepositories()
			w.checkEvents("r")
			w.checkLeftovers()
			ended[w.interrupted(code, 128+int(signal))]++
		})
	}
	ended.log(t)
}

// interrupted checks the report of a run that a signal ended, if it had begun.
func (w *world) interrupted(code, want int) string {
	w.t.Helper()
	if matches, _ := filepath.Glob(filepath.Join(w.dir, "r/*")); matches == nil {
		return "interrupted before it began"
	}
	for _, name := range []string{"report.json", "junit.xml", "summary.md"} {
		if matches, _ := filepath.Glob(filepath.Join(w.dir, "r", name)); matches == nil {
			w.t.Errorf("%s is missing", name)
		}
	}
	r := w.checkReport("r", false)
	if r.Run.Totals.CostUSD == nil {
		w.t.Error("the cost is unknown")
	}
	if code == 0 {
		return "ended before the signal"
	}
	if code != want || r.Run.ExitCode != code {
		w.t.Errorf("exit code %d, reported is %d, want %d", code, r.Run.ExitCode, want)
	}
	return "interrupted on the way"
}
