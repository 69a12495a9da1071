package confinement

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/textcut"
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
func newGuard(g Env, n nested) (*guard, error) {
	if g.Within != nil && g.Within.guard != nil {
		return g.Within.guard, nil
	}
	names := slices.Clone(n.names)
	switch {
	case g.Level == sandbox.Full:
	case g.InPlace:
		names = append(names, sandbox.GitControls(".git")...)
	default:
		names = append(names, ".git")
	}
	if len(names) == 0 || !g.Confines() || g.Profile.Allows(permission.Git, ".git/config") {
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
		Why:     fmt.Sprintf("a command changed them (%s); they were restored", textcut.List(changed)),
	}
	if err != nil {
		d.Why = fmt.Sprintf("a command changed them (%s), and restoring them failed: %v", textcut.List(changed), err)
	}
	return &permission.Error{Decision: d}
}
