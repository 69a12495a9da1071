// Package site prepares where a job works, and runs the commands of its manifest there: the linked worktree or the
// user's own tree, the sandboxes of commands, setup, the baseline, verify, hooks, the states of the tree that are
// saved, and clean checkouts for trials ([TrialTree]). [Job.Prepare] returns a [Site], which a job uses until
// [Site.Release].
//
// It runs no session and calls no model, but ends a session whose time or job has ended, by its context. It does
// not decide what becomes of the changes: it measures them, and has the message and signature of a commit. It
// knows whether the job has read untrusted content (package untrusted) and closes the network of its commands
// then. What all jobs of a run share is a [Run].
package site
