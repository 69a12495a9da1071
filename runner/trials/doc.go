// Package trials accounts for the hunks of a job's change after its verify commands have passed: it runs the trials that package
// ablation asks for in clean checkouts of the job's base (package site), reports each result as an event, and makes the
// account of them.
//
// A trial of an earlier attempt, or whose event an earlier process has reported, is not repeated. The order of trials does not depend on how many
// run concurrently. It has the texts about
// unneeded hunks, for the next attempt and for the reason of the job, and leaves to its caller whether either is used.
package trials
