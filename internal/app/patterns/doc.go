// Package patterns groups the changes of many jobs by their shape, so that a person reads
// one example of an edit that many repositories share, and the changes of the few jobs
// that have something else.
//
// The lines of each patch become edits: the tokens that were removed and inserted, with names that are not the
// edit's own replaced by numbers. Equal edits are one pattern. No model is asked, and the same patches always have
// the same patterns. The package knows neither reports nor pull requests: package compared writes its result for
// them, and package distill compares two patches by it.
package patterns
