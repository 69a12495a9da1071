// Package step is the step of the GitHub action: it decides whether the event may start a run, makes a command line of the inputs,
// and writes what the run did into annotations, outputs and the summary. It starts no run and no process. To decide about an
// event, it may ask the GitHub API whether the actor has write access, and whether a pull request is from a fork.
package step
