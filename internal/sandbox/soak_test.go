//go:build linux

package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/proc"
)

// soakLines are the commands of a long session: normal ones, failures, stray processes
// and commands that don't end.
var soakLines = []struct {
	line    string
	timeout time.Duration
}{
	{`true`, 0},
	{`seq 100 | sort -R | wc -l >f$$`, 0},
	{`exit 7`, 0},
	{`kill -9 $$`, 0},
	{`sleep 1000 & setsid sleep 1000 & exit 3`, 0},
	{`(setsid sh -c '(setsid sleep 1000 &)'); echo x`, 0},
	{`sleep 1000 | sleep 1000`, 30 * time.Millisecond},
	{`setsid sh -c 'sleep 1000 & sleep 1000' & sh -c 'sleep 1000; :'; :`, 50 * time.Millisecond},
	{`no-such-program`, 0},
	{`head -c 100000 /dev/zero | tr '\0' x`, 0},
}

// After many commands there are no zombies and no strays, and the numbers of open files
// and goroutines have not grown.
func TestManyCommandsLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	commands := nightly.Count(100, 2000, 20_000)
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			spec := p.spec()
			spec.Limits.Pids = 4096 // as jobs have it: their first forks are a race of threads
			s := inside(t, spec, level)
			mark := "MILLHAND_MARK=" + p.dir
			soak(t, s, p, mark, len(soakLines)) // what is opened once for all is open now
			files, routines := openFiles(t), runtime.NumGoroutine()
			soak(t, s, p, mark, commands)
			if now := openFiles(t); now != files {
				t.Errorf("%d files are open, and were %d before", now, files)
			}
			waitFor(t, func() bool { return runtime.NumGoroutine() <= routines })
			if left := marked(t, mark); len(left) > 0 {
				t.Errorf("alive: %v", left)
			}
			if z := zombies(t); len(z) > 0 {
				t.Errorf("zombies: %v", z)
			}
		})
	}
}

// soak runs commands concurrently.
func soak(t *testing.T, s *Sandbox, p fixture, mark string, commands int) {
	t.Helper()
	todo := make(chan int)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for i := range todo {
				c := soakLines[i%len(soakLines)]
				_, err := proc.Run(t.Context(), proc.Command{
					Args: []string{"bash", "-c", c.line}, Dir: p.workspace, Env: []string{searchPath, mark}, Timeout: c.timeout, Output: io.Discard, Confine: s.Confine,
				})
				if err != nil {
					t.Errorf("%s: %v", c.line, err)
				}
			}
		})
	}
	for i := range commands {
		todo <- i
	}
	close(todo)
	workers.Wait()
}

func openFiles(t *testing.T) int {
	t.Helper()
	runtime.GC() // files that nobody holds any more are closed
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// zombies lists the unreaped children of this process.
func zombies(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		status, err := os.ReadFile(f)
		if err == nil && statusField(string(status), "PPid") == strconv.Itoa(os.Getpid()) && strings.HasPrefix(statusField(string(status), "State"), "Z") {
			found = append(found, f)
		}
	}
	return found
}

// When a timeout or a cancellation is reported, all processes of the command are dead,
// regardless of their relation to each other.
func TestDeadlineKillsProcessTree(t *testing.T) {
	const tree = `trap '' TERM INT HUP
for i in 1 2 3; do
	setsid sh -c 'trap "" TERM; (sleep 1000; :) & setsid sh -c "sleep 1000; :" & touch up'$i'; wait' &
	(sh -c 'kill -STOP $$' &)
done
until test -e up1 -a -e up2 -a -e up3; do sleep 0.01; done
touch ready; while :; do sleep 1; done`
	// As a run does: on a slow machine the supervisor is killed before it has killed all.
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	for _, level := range confining() {
		for _, way := range []string{"time is up", "the job is given up"} {
			if testing.Short() && way == "time is up" {
				continue // the same kill, after two seconds
			}
			t.Run(string(level)+", "+way, func(t *testing.T) {
				p := newFixture(t)
				s := inside(t, p.spec(), level)
				mark := "MILLHAND_MARK=" + p.dir
				ctx, end := context.WithCancel(t.Context())
				defer end()
				c := proc.Command{Args: []string{"bash", "-c", tree}, Dir: p.workspace, Env: []string{searchPath, mark}, Grace: 200 * time.Millisecond, Output: io.Discard, Confine: s.Confine}
				if way == "time is up" {
					c.Timeout = 2 * time.Second
				}
				type finished struct {
					proc.Result
					error
				}
				ended := make(chan finished, 1)
				go func() { r, err := proc.Run(ctx, c); ended <- finished{r, err} }()
				waitFor(t, func() bool {
					_, err := os.Stat(filepath.Join(p.workspace, "ready"))
					return err == nil || len(ended) > 0
				})
				if c.Timeout == 0 {
					end()
				}
				got := <-ended
				if left := marked(t, mark); len(left) > 0 {
					t.Errorf("alive: %v", left)
				}
				if c.Timeout > 0 && (!got.TimedOut || got.error != nil) || c.Timeout == 0 && !errors.Is(got.error, context.Canceled) {
					t.Errorf("got %+v, %v", got.Result, got.error)
				}
			})
		}
	}
}
