// Package site prepares where a job works, and runs the commands of its manifest there: the linked worktree or the user's
// own tree, the sandboxes of commands, setup, the baseline, verify, hooks, and the states of the tree that are saved.
// [Job.Prepare] returns a [Site], which a job uses until [Site.Release].
//
// It knows no model and no session, and does not decide what becomes of the changes: it only measures
// them. What all jobs of a run share is a [Run].
package site
