package site

import (
	"errors"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/ending"
)

// breach is the first tampering of a job. It can be detected after the job has timed out
// or was cancelled, which must not hide it.
type breach struct {
	mu  sync.Mutex
	err error
}

// fail ends the job: for tampering, which it records, or because the sandbox can't start commands.
// What the machine refuses is tried again, and ends the job after that, as a [proc.MachineError].
func (j *Job) fail(err error) {
	switch {
	case errors.As(err, new(*proc.MachineError)):
		j.End(event.EndCause{Code: event.CodeMachine, Reason: err.Error()})
		return
	case proc.LacksToStart(err):
		return
	}
	if !errors.As(err, new(*permission.Error)) {
		j.End(event.EndCause{Code: event.CodeEnvironment, Reason: err.Error()})
		return
	}
	j.breach.mu.Lock()
	defer j.breach.mu.Unlock()
	if j.breach.err == nil {
		j.breach.err = err
	}
	j.End(err)
}

// CheckGuard returns the end of a phase; tampering precedes.
func (j *Job) CheckGuard(end *ending.Stop) *ending.Stop {
	j.breach.mu.Lock()
	defer j.breach.mu.Unlock()
	var denied *permission.Error
	if errors.As(j.breach.err, &denied) {
		return &ending.Stop{Code: event.CodeDenied, Detail: denied.Decision.By()}
	}
	return end
}
