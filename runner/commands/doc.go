// Package commands runs a setup or verify command in a sandbox ([Program]), saves its output, and determines what a failure
// means: of the environment, of the machine, or of the change. [Judge] compares the results of the baseline with those that the
// task requires, and returns the stop of a job that does not start; [Baselines] has the results that jobs share.
//
// It knows sandboxes, directories, command lines and results, but no sites and sessions. It does not decide which commands run
// and when: package site does.
package commands
