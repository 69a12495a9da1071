package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
)

func TestSignalsWithinTheWindowCountAsOne(t *testing.T) {
	tests := []struct {
		name string
		at   []time.Duration // of each signal
		want []int           // 0: the same as the one before
	}{
		{"timeout sends two", []time.Duration{0, 3 * time.Millisecond}, []int{1, 0}},
		{"at the end of the window", []time.Duration{0, 2*time.Second - 1, 2 * time.Second}, []int{1, 0, 2}},
		{"GitHub's cancellation", []time.Duration{0, 7500 * time.Millisecond}, []int{1, 2}},
		{"a steady stream", []time.Duration{0, 1e9, 2e9, 3e9, 4e9, 5e9, 6e9}, []int{1, 0, 2, 0, 3, 0, 4}},
		{"each twice", []time.Duration{0, 1, 3e9, 3e9 + 1, 6e9, 6e9 + 1, 9e9}, []int{1, 0, 2, 0, 3, 0, 4}},
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range tests {
		s := signals{window: SameSignal}
		for i, at := range tt.at {
			if got := s.received(start.Add(at)); got != tt.want[i] {
				t.Errorf("%s: signal %d: got %d, want %d", tt.name, i+1, got, tt.want[i])
			}
		}
	}
}

// The clock is synctest's: the goroutine that obeys reads the time of a signal
// before the next one is sent.
func TestFourthDistinctSignalExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sigs, exits := make(chan os.Signal), make(chan int, 1)
		ctx, end := handleSignals(t.Context(), sigs, &signals{window: SameSignal}, func(code int) { exits <- code })
		defer end()
		hurried := func() bool {
			select {
			case <-proc.Hurried(ctx):
				return true
			default:
				return false
			}
		}
		send := func(sig syscall.Signal) { // twice, as timeout does
			sigs <- sig
			sigs <- sig
			synctest.Wait()
		}

		send(syscall.SIGINT)
		var cause event.Interrupt
		if !errors.As(context.Cause(ctx), &cause) || cause != (event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt}) || hurried() {
			t.Fatalf("after the first: cause %v, hurried %v", context.Cause(ctx), hurried())
		}
		time.Sleep(SameSignal)
		send(syscall.SIGTERM)
		if !hurried() {
			t.Fatal("the second does not end grace periods")
		}
		time.Sleep(SameSignal)
		send(syscall.SIGTERM)
		if len(exits) > 0 {
			t.Fatal("the third ends the process")
		}
		time.Sleep(SameSignal)
		send(syscall.SIGTERM)
		if code := <-exits; code != int(event.ExitInterrupt) {
			t.Errorf("exit code %d, want that of the first signal", code)
		}
	})
}

// Until it has something to record, a process can't be deaf to the second signal.
func TestSecondDistinctSignalExitsWhileNothingRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sigs, exits := make(chan os.Signal), make(chan int, 1)
		ctx, end := handleSignals(t.Context(), sigs, &signals{window: SameSignal}, func(code int) { exits <- code })
		defer end()
		checks(func(ctx context.Context) error {
			sigs <- syscall.SIGTERM
			sigs <- syscall.SIGTERM
			synctest.Wait()
			if len(exits) > 0 {
				t.Fatal("the first ends the process")
			}
			time.Sleep(SameSignal)
			proc.SetIdle(ctx, false)
			sigs <- syscall.SIGINT
			synctest.Wait()
			if len(exits) > 0 {
				t.Fatal("the second ends the process of a run")
			}
			time.Sleep(SameSignal)
			proc.SetIdle(ctx, true)
			sigs <- syscall.SIGINT
			if code := <-exits; code != int(event.ExitTerminate) {
				t.Errorf("exit code %d, want that of the first signal", code)
			}
			return nil
		})(ctx)
	})
}

// A signal that arrives when the result is known does not replace the exit code by its own.
func TestASignalAfterTheEndHasNoEffect(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	ctx, stop := Signals(t.Context(), caught, SameSignal)
	stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for len(caught) == 0 { // otherwise it kills this process
		time.Sleep(time.Millisecond)
	}
	if errors.As(context.Cause(ctx), new(event.Interrupt)) {
		t.Error("it interrupts a command that has ended")
	}
}
