// Package runner runs a plan. [preflight.Check] checks every repository before
// money is spent; [Run] then runs each job in phases (prepare,
// setup, baseline, session, disk, changes, commit, publish), several jobs in parallel,
// within the run's budget, and reports everything that happens as events.
//
// A job's phases pass values to each other: prepare returns a [site.Site] (the workspace and
// its sandbox), the session phase a result, and landed saves the changes of the site
// as a patch, a commit and a push. The failure of a job, even a panic, is data in its
// last event and never ends other jobs. The package writes transcripts, patches and
// outputs, but no reports: these are made from the events.
package runner
