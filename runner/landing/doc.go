// Package landing has the rules for what of a change may be committed: edit rules ([Edits]), limits of a task
// ([Excesses]), secrets ([Leaks]); and the texts that mark commits, by which later runs recognize them ([Message],
// [Made], [OwnCommits]). Preflight and sites use the rules of a profile before anything is committed, package inspection uses
// edit rules and limits after an attempt, and package savedjob those of the profile and of secrets again when it
// publishes later. Packages agent and taskscript use only texts ([Scope], [KeyInPatch]) and patches without secrets ([Patch]);
// package waves recognizes the commits of jobs ([MadeFor]).
//
// It reads commits and files of a repository and changes none, knows no running jobs and emits no events; it has the reasons to end a job by a rule ([OutOfScope], [Protected]).
// Package delivery applies the rules and commits; package runner ends the job. It pushes nothing; package publish does.
package landing
