// Package evidence makes the seal of a report directory and the in-toto Statements about its run. It verifies none (package
// audit/verification does), writes no files and no trailers, and knows neither keys nor git: the caller signs.
//
// A chain of hashes proves nothing by itself, because whoever has the directory can make
// another chain. It is anchored by the signature of the Statement, and by the trailers of
// commits that somebody else has.
package evidence
