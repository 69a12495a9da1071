package runner

import (
	"errors"
	"fmt"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
)

// guard looks after git's own files in a directory that commands may write, where
// the level can't keep them from it: they are compared after each command, and
// put back.
type guard struct {
	mu    sync.Mutex // commands may run in parallel
	files *sandbox.Guard
	tell  func(error)
}

// newGuard begins to look after what a level leaves open; nil if that is
// nothing, or the profile lets commands write there.
//
// One that is there already is shared: what another begins with may have been
// tampered with.
func newGuard(g Ground) (*guard, error) {
	if g.within != nil && g.within.guard != nil {
		return g.within.guard, nil
	}
	if g.Level != sandbox.Partial || g.Profile.Allows(permission.Git, ".git/config") {
		return nil, nil //nolint:nilnil // there is nothing to guard
	}
	names := []string{".git"}
	if g.InPlace {
		names = sandbox.GitControls(".git")
	}
	files, err := sandbox.NewGuard(g.Workspace, names)
	if err != nil {
		return nil, err
	}
	return &guard{files: files, tell: g.Tampered}, nil
}

// compare is called when a command has ended with all that it started.
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

// tampering is the error of a command that has written into git's own files.
func tampering(changed []string, err error) error {
	d := permission.Decision{
		Request: permission.Need(permission.Git, changed...),
		Rule:    "git's own files are written only if the profile says \"git: write\"",
		NoRule:  true,
		Source:  "built in",
		Why:     fmt.Sprintf("a command changed them (%s); they were restored", someOf(changed)),
	}
	if err != nil {
		d.Why = fmt.Sprintf("a command changed them (%s), and they can't be restored: %v", someOf(changed), err)
	}
	return &permission.Error{Decision: d}
}

// breach is the first tampering of a job. A command may be found out after its
// job's time is over, or the user has ended it: that must not hide what it did.
type breach struct {
	mu  sync.Mutex
	err error
}

// tampered ends the job.
func (j *job) tampered(err error) {
	j.breach.mu.Lock()
	defer j.breach.mu.Unlock()
	if j.breach.err == nil {
		j.breach.err = err
	}
	j.end(err)
}

// heldTo is the end of a phase; tampering goes before whatever else it was.
func (j *job) heldTo(end *stop) *stop {
	j.breach.mu.Lock()
	defer j.breach.mu.Unlock()
	var denied *permission.Error
	if errors.As(j.breach.err, &denied) {
		return &stop{code: event.CodeDenied, detail: denied.Decision.By()}
	}
	return end
}
