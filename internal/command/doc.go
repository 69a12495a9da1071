// Package command is millhand's command line: one file for each subcommand,
// the wiring of the other packages, and the only place that decides what goes
// to standard output, to standard error and into the exit code.
package command
