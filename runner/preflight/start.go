package preflight

import (
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/runner/threads"
)

// Start is the state that a job starts from.
type Start struct {
	Origin     *gitops.Repo // nil for a copy, which is created when its first job starts
	Below      string       // the workspace in the work tree, slash separated; "" for the root
	Base       string       // commit; "" in place and for a copy, where it is found when the job begins
	Target     string       // commit of the target branch; base may be another, of the branch that the job appends to
	Tip        string       // commit that the job's branch is at before, in origin; "" for none
	Remote     remote.Repo
	branch     string          // that the job creates, with the repository or remote where it does; "" for none
	Lease      string          // commit that the remote's branch is at before; "" for none
	locked     string          // the branch, with refs/heads/, if a killed run has left a lock on it; "" if not
	CheckedOut bool            // the job's branch, in a clean tree: a revert changes that
	Clean      CleanTree       // of the user's own tree
	files      *state.Snapshot // of the base, if the preflight has read them and the job is one of the first: keeps them in memory
	Skip       *ending.Stop    // why the job is not started; nil if it is

	Earlier  event.Commit          // that is only to be pushed: of an earlier run or an earlier process of this one; the zero value for none
	Own      bool                  // earlier is of this run
	Onto     Rebase                // the zero value unless the job's commits are applied to base
	Comment  publish.CommentTarget // where its final message is posted; the zero value for nowhere
	OnPull   OnPull                // the branch of a pull request that it works on
	Requests publish.Requests      // where the changes go that its agent requests, without the job; the zero value for nowhere
	Context  threads.Source        // what its prompt has of a forge is read there; the zero value for nothing
	Pull     publish.Target        // where its pull request goes; the zero value for none
	Signer   publish.Signing       // of commits that the forge makes; the zero value for others
	// NoWorkflows is why the push can't contain changes of GitHub's workflows; "" if it can,
	// or it is unknown.
	NoWorkflows string
}

// notFetched returns the stop of a job whose repository can't be fetched.
func notFetched(what string, err error) *ending.Stop {
	return ending.Fault(event.CodeClone, fmt.Errorf("%s: %w", what, err))
}
