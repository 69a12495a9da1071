// Package savedsession has what a run's report directory holds of sessions: their journals, the saved states of their worktrees,
// and the point from which a fork or a revert continues. If package preflight refuses the
// branch of a fork, it gets the next one ([Fork.NextBranch]).
//
// It reads files of a report directory, by its path or opened by the caller (package rundir); it writes those of a new
// fork ([Fork.Write]), and removes an incomplete last line of a journal ([Cut]). [Narrow] makes the plan of a fork. It
// opens no session, calls no model and changes no repository.
package savedsession
