// Package rollout decides which jobs of a plan with waves a run executes, and when it stops.
//
// It has no state of its own: what earlier runs did follows from their events ([History]) and
// from the pull requests on the forge ([Pull]), which the caller reads. It reads no files and
// sends no requests.
package rollout
