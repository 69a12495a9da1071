package faults

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/proc/failpoint"
)

// bulkTasks is the number of tasks of a bulk run: with both repositories 6 jobs for every change,
// 20 at night.
func bulkTasks() int { return nightly.Count(3, 10, 10) }

// recorded is what undisturbed has counted: the runs are those of each test.
var recorded struct {
	sync.Mutex
	first, resumed map[string]int
}

// undisturbed counts the hits of all points in an undisturbed run, and in one that is resumed, and
// checks both runs; once for all tests, which must not change the counts.
func undisturbed(t *testing.T, template string) (first, resumed map[string]int) {
	t.Helper()
	recorded.Lock()
	defer recorded.Unlock()
	if recorded.resumed == nil {
		recorded.first, recorded.resumed = record(t, template)
	}
	return recorded.first, recorded.resumed
}

func record(t *testing.T, template string) (first, resumed map[string]int) {
	t.Helper()
	b := newBulk(t, template, bulkTasks())
	if code := b.ended(b.recording("first")); code != 0 {
		t.Fatalf("an undisturbed run: exit code %d\n%s", code, b.out.String())
	}
	b.check()
	if n, which := b.repeated(); n > 0 {
		t.Fatalf("an undisturbed run repeats %q", which)
	}
	first = b.hits("first")
	b = newBulk(t, template, bulkTasks())
	if code := b.ended(killVariable + "=3 0s call.after bash"); code != 128+9 {
		t.Fatalf("a run that is killed: exit code %d\n%s", code, b.out.String())
	}
	if code := b.ended(b.recording("resumed")); code != 0 {
		t.Fatalf("a run that is resumed: exit code %d\n%s", code, b.out.String())
	}
	b.check()
	return first, b.hits("resumed")
}

func (b *bulk) recording(name string) string {
	return hitsVariable + "=" + filepath.Join(b.dir, "hits-"+name)
}

// hits returns how often each point was hit.
func (b *bulk) hits(name string) map[string]int {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, "hits-"+name))
	if err != nil {
		b.t.Fatal(err)
	}
	hits := map[string]int{}
	for line := range bytes.Lines(data) {
		hits[strings.TrimSpace(string(line))]++
	}
	return hits
}

// bulkKill is when a bulk run is killed: the processes of it, one after the other.
type bulkKill []string

func (k bulkKill) String() string { return strings.Join(k, ", then ") }

// point returns the point at which the last process is killed.
func (k bulkKill) point() string { return strings.SplitN(k[len(k)-1], " ", 3)[2] }

// when returns a moment of a process.
func when(hit int, later time.Duration, point string) string {
	return fmt.Sprintf("%d %s %s", hit, later, point)
}

// TestBulkKilledAtFailpoints kills a bulk run at every point that has a name, and resumes it. Points of the
// resumption are hit by a second process, which is killed, too.
func TestBulkKilledAtFailpoints(t *testing.T) {
	template := bulkTemplate(t)
	random := nightly.Random(t)
	hits, resumed := undisturbed(t, template)
	var cases []bulkKill
	for _, name := range failpoint.Names() {
		switch {
		case hits[name] > 0:
			cases = append(cases, bulkKill{when(1+random.IntN(hits[name]), 0, name)})
		case resumed[name] > 0:
			cases = append(cases, bulkKill{when(1+random.IntN(4), 0, "call.after bash"), when(1+random.IntN(resumed[name]), 0, name)})
		default:
			t.Errorf("no run hits %q: remove it from the table", name)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(hits)), slices.Collect(maps.Keys(resumed))) {
		if !slices.Contains(failpoint.Names(), name) {
			t.Errorf("add %q to the table", name)
		}
	}
	random.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	// Faults were found at these: they are tried for every change.
	first := func(c bulkKill) int {
		return slices.Index([]string{"event.before run.ended", "forge.before POST", "lock.taken", "event.before model.escalated"}, c.point())
	}
	slices.SortStableFunc(cases, func(a, b bulkKill) int { return first(b) - first(a) })
	killAll(t, template, cases[:nightly.Count(4, len(cases), len(cases))])
}

// TestBulkKilledAtInstants kills bulk runs at random instants, and resumes them, some of which are killed
// again. For every change, runs are killed only at points that have a name, and at an instant if they are small.
func TestBulkKilledAtInstants(t *testing.T) {
	if !nightly.On() {
		t.Skip("long: make nightly-resume runs it")
	}
	template := bulkTemplate(t)
	random := nightly.Random(t)
	first, _ := undisturbed(t, template)
	all := 0
	for _, n := range first {
		all += n
	}
	cases := make([]bulkKill, nightly.Count(0, 200, 1000))
	for i := range cases {
		cases[i] = bulkKill{instant(random, all)}
		for random.IntN(3) == 0 && len(cases[i]) < 4 {
			cases[i] = append(cases[i], instant(random, all/2))
		}
	}
	killAll(t, template, cases)
}

// TestBulkKilledInSubagents kills a bulk run during the last request of a subagent, which then
// continues: its first request is not repeated.
func TestBulkKilledInSubagents(t *testing.T) {
	template := bulkTemplate(t)
	b := newBulk(t, template, 3)
	cmd := b.next(t.Context())
	b.asked = func(request string) {
		if request == "Look at j2 in shop, request 2" {
			b.asked = nil
			_ = cmd.Process.Kill() // it may not have ended
		}
	}
	b.mu.Lock() // of the server, which kills the process
	err := cmd.Start()
	b.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd.Wait()); code != 128+9 {
		t.Fatalf("exit code %d\n%s", code, b.out.String())
	}
	b.kills++
	b.finish()
	if n := b.served["Look at j2 in shop, request 1"]; n != 1 {
		t.Errorf("the first request of the subagent was sent %d times", n)
	}
	if n, which := b.repeated(); n > bulkParallel {
		t.Errorf("%d requests were repeated: %q", n, which)
	}
}

// instant returns a random instant: soon after one of the points, or soon after the process has started.
func instant(random *rand.Rand, points int) string {
	if random.IntN(6) == 0 {
		return when(0, time.Duration(random.Int64N(int64(300*time.Millisecond))), anyPoint)
	}
	return when(1+random.IntN(points), time.Duration(random.Int64N(int64(20*time.Millisecond))), anyPoint)
}

// TestBulkInterrupted sends signals to bulk runs at random instants, to some of them twice. They
// write their reports, and are resumed.
func TestBulkInterrupted(t *testing.T) {
	template := bulkTemplate(t)
	random, ended := nightly.Random(t), counts{}
	hits, _ := undisturbed(t, template)
	all := 0
	for _, n := range hits {
		all += n
	}
	var mu sync.Mutex
	t.Run("signals", func(t *testing.T) {
		for range nightly.Count(1, 100, 500) {
			signal, gap := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[random.IntN(2)], time.Duration(0)
			if random.IntN(3) == 0 {
				gap = time.Duration(1 + random.Int64N(int64(200*time.Millisecond)))
			}
			c := fmt.Sprintf("%d %s %s", signal, gap, instant(random, all))
			t.Run(c, func(t *testing.T) {
				t.Parallel()
				b := newBulk(t, template, bulkTasks())
				b.variant = c
				how := b.interruptedAs(b.ended(signalVariable+"="+c), 128+int(signal))
				b.finish()
				if n, which := b.repeated(); n > bulkParallel {
					t.Errorf("%d requests were repeated: %q", n, which)
				}
				mu.Lock()
				defer mu.Unlock()
				ended[how]++
			})
		}
	})
	ended.log(t)
}

// interruptedAs checks the report of a run that a signal has ended, and returns how far it got.
func (b *bulk) interruptedAs(code, want int) string {
	b.t.Helper()
	b.checkProcesses()
	b.checkLeftovers()
	switch {
	case code == 0:
		return "ended before the signal"
	case code != want:
		b.t.Fatalf("exit code %d, want %d\n%s", code, want, b.out.String())
	case !b.begun():
		return "interrupted before it began"
	}
	r := b.report("r")
	if written, err := os.ReadFile(filepath.Join(b.dir, "r/report.json")); err != nil || !bytes.Contains(written, fmt.Appendf(nil, `"exit_code": %d`, want)) {
		b.t.Errorf("report.json has no exit code %d (%v)", want, err)
	}
	seen := map[string]bool{}
	for _, j := range r.Jobs {
		seen[j.ID] = true
		if j.Outcome != "passed" && j.Reason == "" {
			b.t.Errorf("job %s: %s without a reason", j.ID, j.Outcome)
		}
	}
	if r.Run.ExitCode != want || len(seen) != len(b.tasks)*len(b.repos) || r.Run.Totals.CostUSD == nil {
		b.t.Errorf("reported: exit code %d, jobs %v, cost %v", r.Run.ExitCode, seen, r.Run.Totals.CostUSD)
	}
	return "interrupted on the way"
}

// killAll kills and finishes bulk runs, and checks them.
func killAll(t *testing.T, template string, cases []bulkKill) {
	t.Helper()
	var mu sync.Mutex
	ended := counts{}
	t.Run("kills", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				b := newBulk(t, template, bulkTasks())
				b.variant = c.String()
				for _, moment := range c {
					code := b.ended(killVariable + "=" + moment)
					b.checkProcesses()
					if code == 0 {
						break
					}
					if code != 128+9 {
						t.Fatalf("exit code %d before the kill\n%s", code, b.out.String())
					}
				}
				b.finish()
				b.checkRepeated()
				mu.Lock()
				defer mu.Unlock()
				ended[fmt.Sprintf("%d kills", b.kills)]++
			})
		}
	})
	ended.log(t)
}
