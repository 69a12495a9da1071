// Package landing has the rules for what of a change may be committed: edit rules ([Edits]), limits of a task
// ([Excesses]), secrets ([Leaks]); and the texts that mark commits, by which later runs recognize them ([Message], [Made],
// [OwnCommits]). The rules of a profile are also used before anything is committed, by preflight, sites and sessions.
//
// It knows neither jobs that run nor their events: the phase that applies the rules, commits and ends the job is in package
// runner (commit.go). It pushes nothing; package publish does.
package landing
