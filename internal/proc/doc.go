// Package proc runs child processes and ensures that they exit. It is the only
// importer of os/exec except internal/gitops/gitdir: every child is the leader
// of its own process group, with an explicit environment, and no process of the
// group is alive when [Run] returns. Commands have no standard input and a deadline;
// a [Service] has pipes, and is ended by its owner.
//
// It makes no decisions: the caller checks what may run, and in which sandbox.
package proc
