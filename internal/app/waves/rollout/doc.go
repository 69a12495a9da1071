// Package rollout decides which jobs of a plan with waves a run executes, and when it stops.
//
// It stores nothing: what earlier runs did follows from their events ([History]) and from the pull requests on the forge
// ([Pull]), which package waves reads. During a run, the runner sends a [Rollout] the events and asks it before each job
// (as [admission.Rollout]). It reads no files and sends no requests.
package rollout
