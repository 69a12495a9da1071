package gitdir

import (
	"errors"
	"strings"
)

// Errors that callers check for. They are wrapped with the operation.
var (
	ErrNotRepository = errors.New("not a git repository")
	ErrBranchExists  = errors.New("branch already exists")
	ErrConflict      = errors.New("repository is locked by another process or was modified concurrently")
)

// UnsupportedError is the error for a repository or a change that can't be
// handled the way git would.
type UnsupportedError struct {
	Reason string
	Paths  []string // slash-separated, relative to the root; nil for the entire repository
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

// ErrBare is the error of an operation that requires a working tree, in a bare
// repository.
var ErrBare = &UnsupportedError{Reason: "repository is bare and has no working tree"}
