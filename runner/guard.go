package runner

import (
	"errors"
	"fmt"
	"sync"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
)

// guard looks after git's own files in a folder that commands may write, where
// the level can't keep them from it: they are compared after each command, and
// put back.
type guard struct {
	mu    sync.Mutex // commands may run side by side
	files *sandbox.Guard
	tell  func(error)
}

// newGuard begins to look after what a level leaves open; nil if that is
// nothing, or the profile lets commands write there.
func newGuard(g Ground) (*guard, error) {
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
		Words:   true,
		Source:  "built in",
		Why:     fmt.Sprintf("a command wrote into them (%s), and they were put back", someOf(changed)),
	}
	if err != nil {
		d.Why = fmt.Sprintf("a command wrote into them (%s), and they can't be held to what they were: %v", someOf(changed), err)
	}
	return &permission.Error{Decision: d}
}
