// Package report folds the events of a run into a [Report] and writes it as
// report.json, JUnit XML, a Markdown summary, a plain table and a list of the
// repositories to run again. The fold and the writers are pure: the same events
// give the same bytes, while the run goes on, after it, and from a stream that
// a kill has torn. [Merge] makes one such stream of several, as the shards of a
// plan write them.
//
// Report, in the form that [JSON] gives it, is a promise; [Schema] is its
// specification. Everything that a model, a tool or a repository wrote is
// foreign text: each writer makes it harmless in its own way (escape.go).
//
// The package does not read or write files, does not know the clock, and
// decides nothing: outcomes come from the events, and so do the exit codes of
// which a merge takes the worst.
package report
