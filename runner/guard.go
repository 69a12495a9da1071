package runner

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/session"
)

// guard protects git's own files in a directory that commands can write, if the level
// can't make them read-only: it compares them after each command and restores them.
type guard struct {
	mu    sync.Mutex // commands may run in parallel
	files *sandbox.Guard
	tell  func(error)
}

// newGuard saves the state of git's files; it returns nil if the level makes them
// read-only, or if the profile allows commands to write them. No level can prevent that a
// directory above a nested repository is renamed, and another one put there.
//
// An existing guard is shared: a command may have tampered with the files before a
// second guard saves them.
func newGuard(g CommandEnv, n nested) (*guard, error) {
	if g.within != nil && g.within.guard != nil {
		return g.within.guard, nil
	}
	names := slices.Clone(n.names)
	switch {
	case g.Level == sandbox.Full:
	case g.InPlace:
		names = append(names, sandbox.GitControls(".git")...)
	default:
		names = append(names, ".git")
	}
	if len(names) == 0 || !g.confines() || g.Profile.Allows(permission.Git, ".git/config") {
		return nil, nil //nolint:nilnil // nothing to guard
	}
	files, err := sandbox.NewGuard(g.Workspace, names)
	if err != nil {
		return nil, err
	}
	return &guard{files: files, tell: g.Fail}, nil
}

// compare restores changed files. It is called after a command and all its processes
// have ended.
func (g *guard) compare() {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed, err := g.files.Changed()
	if err == nil && len(changed) == 0 {
		return
	}
	if restored := g.files.Restore(); restored != nil {
		err = errors.Join(err, restored)
	}
	g.tell(tampering(changed, err))
}

// tampering returns the error of a command that has written into git's own files.
func tampering(changed []string, err error) error {
	d := permission.Decision{
		Request: permission.Need(permission.Git, changed...),
		Rule:    "git's own files are written only if the profile says \"git: write\"",
		NoRule:  true,
		Source:  "built in",
		Why:     fmt.Sprintf("a command changed them (%s); they were restored", firstThree(changed)),
	}
	if err != nil {
		d.Why = fmt.Sprintf("a command changed them (%s), and restoring them failed: %v", firstThree(changed), err)
	}
	return &permission.Error{Decision: d}
}

// breach is the first tampering of a job. It can be detected after the job has timed out
// or was cancelled, which must not hide it.
type breach struct {
	mu  sync.Mutex
	err error
}

// fail ends the job: for tampering, which it records, or because the sandbox can't start commands.
// What the machine refuses is tried again, and ends the job after that, as a [proc.MachineError].
func (j *job) fail(err error) {
	switch {
	case errors.As(err, new(*proc.MachineError)):
		j.end(session.Timeout{Code: event.CodeMachine, Reason: err.Error()})
		return
	case proc.LacksToStart(err):
		return
	}
	if !errors.As(err, new(*permission.Error)) {
		j.end(session.Timeout{Code: event.CodeEnvironment, Reason: err.Error()})
		return
	}
	j.breach.mu.Lock()
	defer j.breach.mu.Unlock()
	if j.breach.err == nil {
		j.breach.err = err
	}
	j.end(err)
}

// checkGuard returns the end of a phase; tampering takes precedence.
func (j *job) checkGuard(end *stop) *stop {
	j.breach.mu.Lock()
	defer j.breach.mu.Unlock()
	var denied *permission.Error
	if errors.As(j.breach.err, &denied) {
		return &stop{code: event.CodeDenied, detail: denied.Decision.By()}
	}
	return end
}
