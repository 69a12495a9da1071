package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/proc/failpoint"
)

// room is the free space of the small disks, in KiB: what the run reserves, and enough for all else.
const room = 8 << 10

// TestBulkOnFullDisks fills the disk of the report directory of a bulk run when it is about to
// write something, at every such point that has a name, and resumes it after there is room again.
func TestBulkOnFullDisks(t *testing.T) {
	if exec.CommandContext(t.Context(), "unshare", "-m", "true").Run() != nil {
		t.Skip("this user can mount no small disk")
	}
	template := bulkTemplate(t)
	random := nightly.Random(t)
	hits, _ := undisturbed(t, template)
	writes := slices.DeleteFunc(failpoint.Names(), func(name string) bool {
		return hits[name] == 0 || !slices.ContainsFunc([]string{"event.before", "journal.before", "file.written", "snapshot.before", "call.before", "run.finishing"}, func(p string) bool { return strings.HasPrefix(name, p) })
	})
	random.Shuffle(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
	var mu sync.Mutex
	ended := counts{}
	t.Run("disks", func(t *testing.T) {
		for _, name := range writes[:nightly.Count(1, len(writes), len(writes))] {
			moment := when(1+random.IntN(hits[name]), 0, name)
			t.Run(moment, func(t *testing.T) {
				t.Parallel()
				b := newBulk(t, template, bulkTasks())
				b.variant = moment
				code := b.endedOnSmallDisk("r", room, fillVariable+"=../r "+moment)
				b.checkProcesses()
				unsaved := b.removeUnsaved()
				b.finish()
				if n, which := b.repeated(unsaved...); n > bulkParallel {
					t.Errorf("%d requests were repeated: %q", n, which)
				}
				mu.Lock()
				defer mu.Unlock()
				ended[fmt.Sprintf("exit code %d", code)]++
			})
		}
	})
	ended.log(t)
}

// endedOnSmallDisk is like ended, with one of the run's directories on a small disk.
func (b *bulk) endedOnSmallDisk(dir string, free int, variables ...string) int {
	b.t.Helper()
	run := b.next(b.t.Context(), variables...)
	cmd := exec.CommandContext(b.t.Context(), "unshare", append([]string{"-m", "sh", "-c", onSmallDisk, "sh", dir, fmt.Sprint(free)}, run.Args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = b.dir, run.Env, run.Stdout, run.Stderr, run.WaitDelay
	code := exitCode(b.t, cmd.Run())
	fmt.Fprintf(&b.out, "exit code %d\n", code)
	return code
}

// unsavedWorkspace finds the jobs whose changes could be saved nowhere: such a job fails, its workspace stays, and is
// named, and a resume starts it again.
var unsavedWorkspace = regexp.MustCompile(`warning: (j\d+)-(\w+): the changes of the job could be saved neither as a patch nor as a commit: they are in (\S+)`)

// removeUnsaved removes the workspaces of such jobs, as a user does who has looked at them. It returns the jobs, as they are
// named in requests.
func (b *bulk) removeUnsaved() (jobs []string) {
	b.t.Helper()
	temporary := "" // directory of the run
	for _, found := range unsavedWorkspace.FindAllStringSubmatch(b.out.String(), -1) {
		dir := found[3]
		if text, err := os.ReadFile(filepath.Join(dir, "work-"+found[1]+".txt")); err != nil || len(text) == 0 {
			b.t.Errorf("job %s-%s: its work is %q in %s: %v", found[1], found[2], text, dir, err)
		}
		if found[2] == "shop" {
			b.git("worktree", "remove", "--force", dir)
		}
		temporary = filepath.Dir(filepath.Dir(dir))
		jobs = append(jobs, found[1]+" in "+found[2])
	}
	if err := os.RemoveAll(temporary); err != nil {
		b.t.Error(err)
	}
	return jobs
}

// TestBulkWithoutReader closes the pipes of a bulk run's output at random lines. The run goes on.
func TestBulkWithoutReader(t *testing.T) {
	template := bulkTemplate(t)
	random := nightly.Random(t)
	for range nightly.Count(1, 20, 100) {
		lines := random.IntN(40)
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			t.Parallel()
			b := newBulk(t, template, bulkTasks())
			b.variant = fmt.Sprintf("the reader leaves after %d lines", lines)
			run := b.next(t.Context())
			cmd := exec.CommandContext(t.Context(), "bash", append([]string{"-c", `"${@:2}" 2>&1 | head -n "$1"; exit "${PIPESTATUS[0]}"`, "bash", fmt.Sprint(lines)}, run.Args...)...)
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = run.Dir, run.Env, run.Stdout, run.Stderr, run.WaitDelay
			if code := exitCode(t, cmd.Run()); code != 0 {
				t.Errorf("exit code %d", code)
			}
			b.check()
		})
	}
}

// TestClockJumps sets the machine's clock, also between a kill and the resumption. It runs only
// where MILLHAND_CLOCK states that the clock is the test's own, in a virtual machine (.ci/kernel).
func TestClockJumps(t *testing.T) {
	if os.Getenv("MILLHAND_CLOCK") == "" {
		t.Skip("the clock is not the test's own")
	}
	template := bulkTemplate(t)
	random := nightly.Random(t)
	hits, _ := undisturbed(t, template)
	all := 0
	for _, n := range hits {
		all += n
	}
	for range nightly.Count(2, 6, 20) {
		first, second := jump(random, all), jump(random, all/2)
		t.Run(first+", then "+second, func(t *testing.T) {
			b := newBulk(t, template, bulkTasks())
			b.variant = first + ", then " + second
			if random.IntN(2) == 0 {
				b.ended(clockVariable+"="+first, killVariable+"="+instant(random, all))
				b.checkProcesses()
			}
			b.ended(clockVariable + "=" + second)
			b.finish()
			if n, which := b.repeated(); n > bulkParallel {
				t.Errorf("%d requests were repeated: %q", n, which)
			}
		})
	}
}

// jump returns a jump of the clock, from seconds to days, at a random moment.
func jump(random *rand.Rand, points int) string {
	by := time.Duration(1+random.IntN(100)) * []time.Duration{time.Second, time.Minute, time.Hour}[random.IntN(3)]
	if random.IntN(2) == 0 {
		by = -by
	}
	return fmt.Sprintf("%s %s", by, instant(random, points))
}
