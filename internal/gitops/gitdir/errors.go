package gitdir

import (
	"errors"
	"strings"
)

// Errors that callers branch on. They are wrapped with what was attempted.
var (
	ErrNotRepository = errors.New("not a git repository")
	ErrBranchExists  = errors.New("branch already exists")
	ErrConflict      = errors.New("repository is locked by another process or was modified concurrently")
)

// UnsupportedError says why a repository or a change can't be handled without
// getting wrong what git would do.
type UnsupportedError struct {
	Reason string
	Paths  []string // slash separated, relative to the root; nil if all of the repository is meant
}

// Error returns the reason and the first few paths.
func (e *UnsupportedError) Error() string {
	if len(e.Paths) == 0 {
		return e.Reason
	}
	const most = 5
	shown := make([]string, 0, most+1)
	for i, p := range e.Paths {
		if i == most {
			shown = append(shown, "...")
			break
		}
		shown = append(shown, QuotePath(p))
	}
	return e.Reason + ": " + strings.Join(shown, ", ")
}

// ErrBare is the error of whatever requires a work tree, in a bare repository.
var ErrBare = &UnsupportedError{Reason: "repository is bare and has no working tree"}
