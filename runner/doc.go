// Package runner runs a plan. [Preflight] checks every repository before
// anything is spent; [Run] then takes each job through its phases (prepare,
// setup, session, disk, changes, commit, publish), several jobs in parallel,
// within the run's budget, and reports everything that happens as events.
//
// A job's phases pass values to each other: prepare returns a site (where the
// job works), the session phase a result, and a landing brings the work out of
// the site, as a patch, a commit and a push. A job that fails is data in its last
// event and never ends the others; so is one that panics. The package writes the
// run's own files (transcripts, patches, outputs) but no report: reports are
// folds of the events.
package runner
