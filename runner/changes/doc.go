// Package changes finds what a job has changed in a work tree, and who made which of it: the agent, or setup, hooks, verify
// commands and builds, whose files are in no change of the job.
//
// It compares the tree with its state at the start, and reads from package history what earlier processes of the job have recorded
// ([Differences.Recall]). Package preflight ignores what builds have left in the user's tree by [NewArtifacts]. The package knows
// neither phases nor sessions. What of the changes may be committed is decided elsewhere (runner/landing).
package changes
