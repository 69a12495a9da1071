package command

import (
	"context"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
)

// SameSignal is how long after a signal another one counts as the same.
// timeout(1) sends each signal twice, to its child and to its process group, and
// so do terminals behind a wrapper that forwards signals.
const SameSignal = 2 * time.Second

// The distinct signals that exit the process immediately: one while there is nothing to record, the
// other at any time.
const (
	lastIdleSignal = 2
	lastSignal     = 4
)

// signals counts the distinct signals that the process has received.
type signals struct {
	window time.Duration // see SameSignal
	count  int
	last   time.Time // when the last distinct signal was received
	idle   atomic.Bool
}

// checks returns a command's function that starts idle. A run that it starts is not.
func checks(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		proc.SetIdle(ctx, true)
		return run(ctx)
	}
}

// received returns the number of distinct signals so far, including this one; 0 if
// it counts as the same as the previous one. The window starts at the last distinct
// signal, so that a steady stream of signals does not count as one.
func (s *signals) received(now time.Time) int {
	if s.count > 0 && now.Sub(s.last) < s.window {
		return 0
	}
	s.count++
	s.last = now
	return s.count
}

// Signals returns a context that the first of the caught signals ([signals.Catch]) cancels
// with a [event.Interrupt] as its cause. The second distinct signal kills
// commands that are still within their grace period (see [proc.WithHurry]); the
// work is still recorded. The fourth exits the process immediately, and so does the second
// while input is read and checked. Signals within
// the window of a distinct one count as the same; see [SameSignal]. Those after stop have no effect: the exit code is
// known and reported by then, and a process that they killed would end with another one.
func Signals(parent context.Context, sigs chan os.Signal, window time.Duration) (ctx context.Context, stop func()) {
	return handleSignals(parent, sigs, &signals{window: window}, os.Exit)
}

// handleSignals implements [Signals] with signals from a channel.
func handleSignals(parent context.Context, sigs <-chan os.Signal, s *signals, exit func(int)) (ctx context.Context, end func()) {
	hurry := make(chan struct{})
	ctx, cancel := context.WithCancelCause(proc.WithIdle(proc.WithHurry(parent, hurry), &s.idle))
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var first event.Interrupt
		for {
			select {
			case <-done:
				return
			case sig := <-sigs:
				n := s.received(time.Now())
				switch n {
				case 1:
					first = interrupt(sig)
					cancel(first)
				case 2:
					close(hurry)
				}
				if n == lastSignal || n >= lastIdleSignal && s.idle.Load() {
					exit(int(first.Exit))
				}
			}
		}
	}()
	return ctx, func() {
		close(done)
		<-ended
		cancel(nil)
	}
}

func interrupt(sig os.Signal) event.Interrupt {
	i := event.Interrupt{Exit: event.ExitTerminate}
	if sig == syscall.SIGINT {
		i.Exit = event.ExitInterrupt
	}
	if number, ok := sig.(syscall.Signal); ok {
		i.Signal = unix.SignalName(number)
	}
	return i
}
