// Package site prepares where a job works, and runs the commands of its manifest there: the linked worktree or the
// user's own tree, the sandboxes of commands, setup, the baseline, verify, hooks, the states of the tree that are saved,
// and clean checkouts for verify and of the base ([BaseCheckout]). [Job.Prepare] returns a [Site], which a job uses until
// [Site.Release]. It starts from what package preflight has found ([preflight.Start]), and saves states of the tree in the directory
// that package savedsession names.
//
// It runs no session and calls no model, but ends a session whose time or job has ended, by its context. It does not
// decide what becomes of the changes: it measures them, and has the message, author and committer of a commit. If the job has
// read untrusted content (package untrusted), it closes the network of its commands and limits what is published, as the
// task states ([Job.LimitPublishing]). It reads from a forge only the issue or pull request that the prompt has as
// context ([Job.ContextText]). [Options] are those of the run,
// also for the phases after this one; what its sites share is a [Run].
package site
