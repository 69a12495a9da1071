// Package proc starts child processes and makes sure that they end. It is the
// only importer of os/exec except internal/gitops/gitdir: every child is the leader of a process
// group of its own, has no standard input, an explicit environment and a
// deadline, and nothing of its group is alive when [Run] returns.
//
// It knows no policy: what may be run, and confined how, is decided before.
package proc
