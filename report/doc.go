// Package report folds the events of a run into a [Report] and encodes it as JSON, as report.json has it. The fold
// is pure: the same events result in the same bytes, during the run, after it, and from a stream that was
// truncated by a kill. [Merge] merges the streams of several runs, for example of the shards of a plan.
//
// The JSON form of Report is a stable interface; package reportschema has its specification. Other formats are
// packages below this one, beside those that write its JSON (jsonlayout) and store its texts (packing). Text of models, tools and repositories is untrusted: each format escapes it.
//
// The package reads and writes no files and does not use the clock. Outcomes and exit
// codes come from the events.
package report
