// Package runner carries out a plan. [Check] looks at every repository before
// anything is spent; [Run] then takes each job through its phases (prepare,
// setup, session, changes, commit), several jobs side by side, within the
// run's budget, and tells everything that happens as events.
//
// A job that fails is data in the [Summary] and never ends the others; so is
// one that panics. The package writes the run's own files (transcripts,
// patches, kept outputs) but no report: reports are folds of the events.
package runner
