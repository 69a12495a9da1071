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
)

// TestJobsKilledAtEveryPoint kills the only job of a run at each point that it passes, and resumes it, a third of the runs after another
// kill: jobs with a review, with ablate, that escalate and keep the work so far or not, and with all of that. Nothing is lost, and
// no request is repeated but the one that a kill interrupts.
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
	for _, task := range []int{0, 1, 2, 6, everything} {
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
				interrupted := b.killAt("first", k.point)
				if k.again > 0 && b.kills > 0 {
					interrupted += b.killAt("second", k.again)
				}
				b.finish()
				if n, which := b.repeated(); n > interrupted {
					t.Errorf("%d requests were repeated, and %d were interrupted: %q", n, interrupted, which)
				}
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

// killAt kills the next process of the run at a point, and returns how many requests that has interrupted: their responses were not saved.
func (b *bulk) killAt(name string, point int) (interrupted int) {
	b.t.Helper()
	code := b.ended(b.recording(name), killVariable+"="+when(point, 0, anyPoint))
	b.checkProcesses()
	switch code {
	case 128 + 9:
	case 0: // a process that resumes has less to do
		return 0
	default:
		b.t.Fatalf("exit code %d before the kill\n%s", code, b.out.String())
	}
	passed := b.points(name)
	slices.Reverse(passed)
	last := func(name string) int { // counted from the kill
		if i := slices.Index(passed, name); i >= 0 {
			return i
		}
		return len(passed)
	}
	if last("request.before") < last("journal.after message") {
		return 1
	}
	return 0
}
