// Package step is the step of the GitHub action: it decides whether the event may start a run, makes a command line of the inputs,
// and writes what the run did into annotations, outputs and the summary. It runs nothing.
package step
