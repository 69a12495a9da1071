// Package inspection finds what is wrong with a job's changes after an attempt, or after its script (package taskscript):
// verify commands that fail, paths that the profile denies or git would not commit, limits of the task that are exceeded,
// conflict markers after a rebase, and hunks that nothing needs (package trials). [Of.Faults] has them, with their texts for
// the next attempt, for the report of the script and for the end of the job.
//
// It runs the verify commands in the job's site and changes nothing itself. Whether another attempt follows, and what is
// committed in the end, is for its callers to decide: package agent, and package delivery.
package inspection
