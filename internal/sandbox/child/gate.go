//go:build linux

package child

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// gate decides which of a command's system calls that start a process or a thread
// may go on. It is for root, whom RLIMIT_NPROC doesn't bind, where no control
// group can be created. The kernel lets each such call wait for the answer, so
// that no fork bomb is too fast for it.
type gate struct {
	limit int              // processes and threads that there may be
	left  int              // how many may start before the next count
	count func() int       // how many there are
	pause <-chan time.Time // until the next count, if the last one left no room
	full  func()           // called at the first refusal
}

// gated reports whether a plan has a gate.
func gated(plan *Plan) bool { return plan.Limits.Keeper == Gate && plan.Limits.Pids > 0 }

// newGate makes the gate of a plan, nil if it has none. There must be no command
// yet.
func newGate(plan *Plan) *gate {
	limit := plan.Limits.Pids
	if !gated(plan) {
		return nil
	}
	return &gate{
		limit: limit, left: limit,
		count: func() int { return tasks(plan.Namespaces) },
		full: func() {
			unix.Write(2, fmt.Appendf(nil, "\nmillhand: limits.processes (%d) exceeded: no more processes or threads\n", limit)) //nolint:errcheck // nobody may read the output any more
		},
	}
}

// pausePerTask is the pause between two counts, by process or thread that was
// counted: some ten times as long as counting one takes.
const pausePerTask = 100 * time.Microsecond

// pass reports whether one more may start. What was let through and has not
// started yet isn't counted, so there can be more than the limit for a moment: at
// most as many again.
func (g *gate) pass() bool {
	if g.left == 0 && g.mayCount() {
		n := g.count()
		g.left = max(0, g.limit-n)
		if g.left == 0 {
			g.pause = time.After(time.Duration(n) * pausePerTask)
		}
	}
	if g.left == 0 {
		if g.full != nil {
			g.full()
			g.full = nil
		}
		return false
	}
	g.left--
	return true
}

func (g *gate) mayCount() bool {
	if g.pause == nil {
		return true
	}
	select {
	case <-g.pause:
		g.pause = nil
		return true
	default:
		return false
	}
}

// secret returns a number by which the filter knows the fork that starts the
// command: 0 if the plan has no gate. That fork must not wait for an answer: it
// keeps its processor in the eyes of Go's scheduler, which then may not run the
// goroutine that answers. The number is in the half of clone's flags that the
// kernel ignores. Guessing it requires about two billion forks, each of which the gate
// answers.
func secret(plan *Plan) (uint32, error) {
	if !gated(plan) {
		return 0, nil
	}
	random := make([]byte, 4)
	if _, err := unix.Getrandom(random, 0); err != nil {
		return 0, fmt.Errorf("limit processes: %w", err)
	}
	return max(1, binary.NativeEndian.Uint32(random)), nil // every other fork has a 0 there
}

// tasks counts the processes and threads that descend from this process. In a PID
// namespace, of which it is the init, those are all others.
func tasks(namespace bool) int {
	all, self, total := processes(), os.Getpid(), 0
	mine := descendants(all, self)
	if namespace {
		delete(all, self)
		mine = all
	}
	for _, p := range mine {
		total += max(1, p.threads) // a zombie has no thread, and holds a PID
	}
	return total
}
