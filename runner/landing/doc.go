// Package landing decides what of a change may be committed: edit rules ([Edits]), limits of a task
// ([Excesses]), secrets ([Leaks]). It has the commit's message, by which later runs recognize it ([Message], [Made]),
// and recognizes commits of earlier runs ([OwnCommits]). Its functions get a work tree and what changed in it.
//
// It knows neither jobs that run nor their events: package runner finds the changes, commits them, and ends the job.
// It pushes nothing; package publish does.
package landing
