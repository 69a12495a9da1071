// Package report folds the events of a run into a [Report] and writes it as
// report.json, JUnit XML, a Markdown summary, a plain table and a list of the
// repositories to run again. The fold and the writers are pure: the same events
// result in the same bytes, during the run, after it, and from a stream that was
// truncated by a kill. [Merge] merges the streams of several runs, for example of
// the shards of a plan.
//
// The JSON form of Report is a stable interface; [Schema] is its specification. Text
// of models, tools and repositories is untrusted: each writer escapes it (escape.go).
//
// The package reads and writes no files and does not use the clock. Outcomes and exit
// codes come from the events.
package report
