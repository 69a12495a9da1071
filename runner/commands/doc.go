// Package commands runs the setup, verify and baseline commands of a job in a sandbox, keeps their output, and determines what a failure
// means: of the environment, of the machine, or of the change.
//
// It knows a sandbox, a directory and a command line, and neither jobs nor the order in which they run commands.
package commands
