package gitops

import (
	"errors"
	"strings"
)

// Errors that callers branch on. They are wrapped with what was attempted.
var (
	ErrNotRepository   = errors.New("not a git repository")
	ErrBranchExists    = errors.New("branch exists already")
	ErrConflict        = errors.New("someone else changed or holds the repository")
	ErrNothingToCommit = errors.New("nothing to commit")
	ErrNoRemote        = errors.New("there is no such remote")
)

// Errors of what is done with a remote. An UnsupportedError is possible too.
var (
	ErrAuth        = errors.New("the remote refuses the credentials, or wants some")
	ErrNotFound    = errors.New("there is no such repository or branch there, or the credentials do not show it")
	ErrUnreachable = errors.New("the remote can't be reached, or breaks off")
	ErrLease       = errors.New("the branch is not where it is expected to be")
	ErrRejected    = errors.New("the remote rejects the push")
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
		shown = append(shown, quotePath(p))
	}
	return e.Reason + ": " + strings.Join(shown, ", ")
}
