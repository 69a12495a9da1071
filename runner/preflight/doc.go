// Package preflight checks the repository of every job before anything runs or budget is used: it opens or fetches it, finds the
// commit that the job starts from and the branch, remote, pull request and comment that it ends in, and refuses what would fail
// later.
//
// Its result is a [Start] for each job, a value that the phases of a run read. It runs no job, calls no model, and changes
// repositories only by fetching, and by removing what killed runs have left.
package preflight
