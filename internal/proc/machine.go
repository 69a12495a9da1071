package proc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/proc/clock"
)

// MachineError is the error of a program that could not be started because the machine refused what
// every start needs: open files, processes, memory or disk space. The program is not at fault.
type MachineError struct{ Err error }

// Error includes the remedy.
func (e *MachineError) Error() string {
	return fmt.Sprintf("%v: the machine refused it: %s", e.Err, remedy(e.Err))
}

// Unwrap returns the error of the start.
func (e *MachineError) Unwrap() error { return e.Err }

// shortage is the error of a machine that lacks something, with what to do.
type shortage struct {
	errno  syscall.Errno
	always bool // also of a call that starts no program
	text   string
}

var remedies = []shortage{
	{syscall.EMFILE, true, "raise the limit on open files (ulimit -n), or lower jobs"},
	{syscall.ENFILE, true, "raise the system's limit on open files (fs.file-max), or lower jobs"},
	{syscall.ENOMEM, true, "free memory or raise its limit, or lower jobs"},
	{syscall.EAGAIN, false, "raise the limit on processes (ulimit -u, or that of the container), or lower jobs"},
	{syscall.ENOSPC, false, "free disk space"},
	{syscall.EDQUOT, false, "raise the quota of the disk, or free space"},
}

func remedy(err error) string {
	for _, r := range remedies {
		if errors.Is(err, r.errno) {
			return r.text
		}
	}
	return "free what it lacks"
}

// IsMachine reports whether an error means that the machine lacks something, whatever was tried: a
// [MachineError], the start of a program by another package, such as git, or no open files or memory for
// something else.
func IsMachine(err error) bool {
	if errors.As(err, new(*MachineError)) {
		return true
	}
	if start := (*fs.PathError)(nil); errors.As(err, &start) && start.Op == "fork/exec" && LacksToStart(start) {
		return true
	}
	for _, r := range remedies {
		if r.always && errors.Is(err, r.errno) {
			return true
		}
	}
	return false
}

// LacksToStart reports whether the error of a start means that the machine lacks something.
func LacksToStart(err error) bool {
	return slices.ContainsFunc(remedies, func(r shortage) bool { return errors.Is(err, r.errno) })
}

// OfStart returns the error of a start, as a [MachineError] if it is one.
func OfStart(err error) error {
	if LacksToStart(err) && !errors.As(err, new(*MachineError)) {
		return &MachineError{err}
	}
	return err
}

// startTries is the number of attempts to start a program while the machine refuses it,
// startPause the time between two attempts. Other programs may end in the meantime.
const (
	startTries = 10
	startPause = 100 * time.Millisecond
)

// patiently calls start until the machine does not refuse it.
func patiently(ctx context.Context, start func() error) error {
	for try := 1; ; try++ {
		err := OfStart(start())
		if try == startTries || !errors.As(err, new(*MachineError)) {
			return err
		}
		if clock.Wait(ctx, startPause) != nil {
			return err
		}
	}
}
