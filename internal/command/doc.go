// Package command is millhand's command line: one file for each subcommand, and the wiring of the other packages.
// It alone decides on the content of standard output and standard error, and on the exit code. It decides nothing
// about runs: use cases do (below internal/app), one call for each subcommand.
package command
