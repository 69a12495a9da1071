// Package signals has the signals that end a run, and catches them. It does not decide what a signal does: package
// command does.
package signals

import (
	"os"
	"os/signal"
	"syscall"
)

// Catch returns a channel that receives the signals that end a run. SIGPIPE is caught and ignored: a
// closed log must not stop the run.
func Catch() chan os.Signal {
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// Caught, not ignored: children inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return caught
}
