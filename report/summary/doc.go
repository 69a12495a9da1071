// Package summary writes what people read of a report: a Markdown summary, tables and texts for a terminal, and the list of
// repositories to run again. It escapes texts of models, tools and repositories (escape.go). It reads no files: patches are
// given to it.
package summary
