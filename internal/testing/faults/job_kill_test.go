package faults

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/event"
)

// TestJobsKilledAtEveryPoint kills the only job of a run at each point that it passes, and resumes it, a third of the runs after another
// kill: jobs with a review, with ablate, that escalate and keep the work so far or not, whose agent changes the files,
// and with all of that. Nothing is lost, and
// no request is repeated but the one that a kill interrupts, and each call is reported as often as it ended.
func TestJobsKilledAtEveryPoint(t *testing.T) {
	if !nightly.On() {
		t.Skip("long: make nightly-faults runs it")
	}
	template := bulkTemplate(t)
	random, ended := nightly.Random(t), counts{}
	type kill struct {
		task, point, again int // again is 0 for one kill
		repo, name         string
	}
	var kills []kill
	for _, task := range []int{0, 1, 2, 6, 7, everything} {
		for _, repo := range slices.Sorted(maps.Keys(bulkRepos)) {
			b := newBulkOf(t, template, []int{task}, []string{repo})
			if code := b.ended(b.recording("all")); code != 0 {
				t.Fatalf("an undisturbed run: exit code %d\n%s", code, b.out.String())
			}
			b.check()
			points := b.points("all")
			for i, name := range points {
				k := kill{task: task, repo: repo, point: i + 1, name: name}
				if random.IntN(3) == 0 {
					k.again = 1 + random.IntN(len(points))
				}
				kills = append(kills, k)
			}
			t.Logf("j%d on %s: %d points", task, repo, len(points))
		}
	}
	random.Shuffle(len(kills), func(i, j int) { kills[i], kills[j] = kills[j], kills[i] })
	var mu sync.Mutex
	t.Run("kills", func(t *testing.T) {
		for _, k := range kills[:nightly.Count(0, min(500, len(kills)), len(kills))] {
			t.Run(fmt.Sprintf("j%d on %s at %d (%s), then at %d", k.task, k.repo, k.point, k.name, k.again), func(t *testing.T) {
				t.Parallel()
				b := newBulkOf(t, template, []int{k.task}, []string{k.repo})
				b.variant = t.Name()
				lost := b.killAt("first", k.point)
				if k.again > 0 && b.kills > 0 {
					more := b.killAt("second", k.again)
					lost.requests, lost.calls = lost.requests+more.requests, lost.calls+more.calls
				}
				b.finish(b.recording("last"))
				if n, which := b.repeated(); n > lost.requests {
					t.Errorf("%d requests were repeated, and %d were interrupted: %q", n, lost.requests, which)
				}
				b.checkCalls(lost.calls)
				mu.Lock()
				defer mu.Unlock()
				ended[fmt.Sprintf("j%d on %s: %d kills", k.task, k.repo, b.kills)]++
			})
		}
	})
	ended.log(t)
}

// points returns the names of the points that a process has passed, in their order.
func (b *bulk) points(name string) []string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, "hits-"+name))
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	return strings.Split(string(bytes.TrimSpace(data)), "\n")
}

// lost is what a kill has interrupted: requests whose responses were not saved, and calls that had ended, and whose end was not recorded.
type lost struct{ requests, calls int }

// killAt kills the next process of the run at a point.
func (b *bulk) killAt(name string, point int) (interrupted lost) {
	b.t.Helper()
	code := b.ended(b.recording(name), killVariable+"="+when(point, 0, anyPoint))
	b.checkProcesses()
	switch code {
	case 128 + 9:
	case 0: // a process that resumes has less to do
		return lost{}
	default:
		b.t.Fatalf("exit code %d before the kill\n%s", code, b.out.String())
	}
	passed := b.points(name)
	slices.Reverse(passed)
	last := func(prefix string) int { // counted from the kill
		if i := slices.IndexFunc(passed, func(name string) bool { return strings.HasPrefix(name, prefix) }); i >= 0 {
			return i
		}
		return len(passed)
	}
	if last("request.before") < last("journal.after message") {
		interrupted.requests = 1
	}
	if last("call.after") < last("event.after call") {
		interrupted.calls = 1
	}
	return interrupted
}

// checkCalls checks that the report has each call as often as it ended, except a number of calls whose end was not recorded.
func (b *bulk) checkCalls(unrecorded int) {
	b.t.Helper()
	ended, reported := -unrecorded, 0
	for _, name := range []string{"first", "second", "last"} {
		for _, point := range b.points(name) {
			if strings.HasPrefix(point, "call.after") {
				ended++
			}
		}
	}
	for _, j := range b.report("r").Jobs {
		for _, c := range j.Calls {
			if c.Status != event.CallPending && c.Status != event.CallRunning {
				reported++
			}
		}
	}
	if reported != ended {
		b.t.Errorf("%d calls are reported, %d ended", reported, ended)
	}
}
