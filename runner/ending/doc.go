// Package ending has the reason why a job ends before its last phase, or does not pass ([Stop]), and makes it from what phases
// meet: contexts that have ended, sessions, errors of the machine. A nil *Stop continues.
//
// [Result] is what the sessions of a job have produced when it ends.
//
// It ends nothing and reports nothing: the phases return a stop, and package runner makes the job's last event from it.
package ending
