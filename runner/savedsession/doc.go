// Package savedsession has what a run's report directory holds of sessions: their journals, the saved states of their worktrees,
// and the point from which a fork or a revert continues.
//
// It reads files below a report directory that its caller has opened (package rundir), and writes those of a new
// fork. It opens no session, calls no model and changes no repository.
package savedsession
