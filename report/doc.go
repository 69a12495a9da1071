// Package report folds the events of a run into a [Report] and writes it as
// report.json, JUnit XML, a Markdown summary and a plain table. The fold and
// the writers are pure: the same events give the same bytes, while the run goes
// on, after it, and from a stream that a kill has torn.
//
// Report, in the form that [JSON] gives it, is a promise; [Schema] is its
// specification. Everything that a model, a tool or a repository wrote is
// foreign text: each writer makes it harmless in its own way (escape.go).
//
// The package does not read or write files, does not know the clock, and
// decides nothing: outcomes and exit codes come from the events.
package report
