// Package runner runs a plan. Its options have what package preflight found before
// budget is used; [Run] then runs each job in phases (prepare,
// setup, baseline, session, disk, changes, commit, publish), several jobs in parallel,
// within the run's budget, and reports everything that happens as events. [Revert] and [Rebase] change a job
// of a saved run without a session. What is done with a job of an earlier run is decided in package history.
//
// A job's phases pass values to each other: prepare returns a [site.Site] (the workspace and its sandbox), the
// session phase a result, and package delivery saves the changes of the site as a patch, a commit and a push, and makes what
// an agent requests of the forge. The failure of a job, even a panic, is data in its last event and never ends other jobs. The
// package also runs the hooks of the run. Package session writes the journal of each session,
// with the writer of package agent, package rundir makes reports and transcripts from events and journals, and the feature behind
// package admission decides which jobs of a rollout start: this package does none of these.
package runner
