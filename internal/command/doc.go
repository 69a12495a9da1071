// Package command is millhand's command line: one file for each subcommand, and the wiring of the other packages. Use
// cases print their results and warnings to the streams that it gives them; it prints help and the errors that they
// return, and exits with the code of the error (package fault). It decides nothing about runs: use cases do (below
// internal/app), one call for each subcommand.
package command
