// Package preflight checks the repository of every job before anything runs or budget is used: it opens or fetches it, finds the
// commit that the job starts from and the branch, remote, pull request and comment that it ends in, and refuses what would fail
// later. Build artifacts (package changes) do not count as uncommitted changes of the user.
//
// For a job of an earlier run, it asks package history for the base. Its result is a [Start] for each job, a value that the phases of a run read, with the pull request and comment
// as package publish needs them ([publish.Target]); it also has what setup commands may reach ([Result.SetupOf]),
// and where the prompt's context of an issue or pull request is read later. Package site makes some of the checks again
// when it prepares a job ([StatusOf], [ModelOutput]). The package runs no job and calls no model. It
// changes repositories only by fetching, and by removing what killed runs have left; it reserves the branches of
// the run in files of this machine, and asks forges without changing anything there.
package preflight
