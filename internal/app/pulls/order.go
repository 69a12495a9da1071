package pulls

import (
	"cmp"
	"fmt"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/report"
)

// Verb is what is to become of the pull requests of a run.
type Verb int

// The verbs.
const (
	Show   Verb = iota // only read them
	Merge              // those that are ready
	Close              // without merging them
	Revert             // merged ones by an inverse, others as with Close
)

// Order is a verb with its options.
type Order struct {
	Verb          Verb
	Method        forge.MergeMethod // of Merge
	WithoutChecks bool              // merge those that have no checks at all
	DeleteBranch  bool              // of Close and Revert
	Comment       string            // likewise: the reason for people
	DryRun        bool              // change nothing
}

// action is what is done with a pull request.
type action int

// The actions.
const (
	stay     action = iota // the row is complete
	askAgain               // the forge is finding out: read the pull request again
	doMerge                // open → merged
	doShut                 // open → closed
	doInvert               // merged → an inverse pull request
)

// transition is the next transition of a pull request, or what prevents one.
type transition struct {
	do     action
	result Result // of the row, after the transition
	reason string
	exit   event.Exit
	last   bool // with stay: its branch can be deleted if that was ordered
}

// next returns the transition of a pull request in its present state. It alone decides what a verb
// means in a state:
//
//	        open              merged    closed
//	show    stay              stay      stay
//	merge   askAgain or doMerge  stay      stay
//	shut    doShut            stay      stay, delete the branch
//	revert  doShut            doInvert  stay, delete the branch
func (o Order) next(pr forge.PullRequest, j report.Job) transition {
	switch {
	case o.Verb == Show:
		return transition{reason: reasonOpen(pr, j)}
	case o.Verb == Merge:
		return o.nextMerge(pr, j)
	case pr.State == forge.Merged && o.Verb == Revert:
		return transition{do: doInvert, result: ResultReverted}
	case pr.State == forge.Merged:
		return transition{result: ResultMerged, reason: "it was merged before"}
	case pr.Head.Branch != j.Published.Branch:
		return transition{result: ResultNotClosed, reason: fmt.Sprintf("it is for branch %s, but the run pushed %s", pr.Head.Branch, j.Published.Branch), exit: event.ExitFailed}
	case pr.State == forge.Closed:
		return transition{result: ResultClosed, reason: "it was closed before", last: true}
	case o.DryRun:
		return transition{result: ResultWouldClose}
	}
	return transition{do: doShut, result: ResultClosed}
}

// nextMerge is next for Merge.
func (o Order) nextMerge(pr forge.PullRequest, j report.Job) transition {
	switch pr.State {
	case forge.Merged:
		return transition{result: ResultMerged, reason: "it was merged before"}
	case forge.Closed:
		return transition{result: ResultClosed, reason: "it was closed before, without merging it"}
	case forge.Open:
	}
	switch reason := notReady(pr, j, o.WithoutChecks); {
	case reason == undecided:
		if pr.Conflict {
			reason = "it has conflicts with " + pr.Base + ", or the forge has not yet checked it"
		}
		return transition{do: askAgain, result: ResultNotReady, reason: reason, exit: event.ExitFailed}
	case reason != "":
		return transition{result: ResultNotReady, reason: reason, exit: event.ExitFailed}
	case o.DryRun:
		return transition{result: ResultWouldMerge}
	}
	return transition{do: doMerge, result: ResultMerged}
}

// deletes reports whether the branch of a pull request is deleted that has nothing else left to do.
func (o Order) deletes() bool { return o.DeleteBranch && !o.DryRun }

// How often, and after which time, a pull request is read again whose forge is still
// finding out whether it can be merged.
const (
	mergeableTries = 5
	mergeableWait  = 2 * time.Second
)

// undecided is why a pull request is not ready whose forge is finding out.
const undecided = "the forge has not yet found out whether it can be merged: try again"

// notReady returns why an open pull request must not be merged; "" if it may.
func notReady(pr forge.PullRequest, j report.Job, withoutChecks bool) string {
	switch {
	case pr.SHA != j.Published.Hash:
		return foreignHead(pr, j) + ": review and merge it yourself"
	case pr.Draft:
		return "it is a draft: mark it as ready for review"
	case pr.Checks == forge.ChecksFailed:
		return "its checks failed"
	case pr.Checks == forge.ChecksPending:
		return "its checks have not completed"
	case pr.Checks == forge.NoChecks && !withoutChecks:
		return "it has no checks: merge it with --without-checks"
	case pr.Mergeable == forge.MergeUnknown:
		return undecided
	case pr.Conflict:
		return "it has conflicts with " + pr.Base
	case pr.Mergeable != forge.CanMerge:
		return cmp.Or(pr.Blocked, "a rule of the repository blocks it, such as a required review, or it is behind "+pr.Base)
	}
	return ""
}

// reasonOpen returns what people should know about an open pull request; "" for nothing.
func reasonOpen(pr forge.PullRequest, j report.Job) string {
	switch {
	case pr.State != forge.Open:
		return ""
	case pr.SHA != j.Published.Hash:
		return foreignHead(pr, j)
	}
	return pr.Blocked
}

// foreignHead describes a head that is not the commit that the run has pushed.
func foreignHead(pr forge.PullRequest, j report.Job) string {
	return fmt.Sprintf("its head is at %.10s, but the run pushed %.10s", pr.SHA, j.Published.Hash)
}
