// Package evidence makes the seal of a report directory and the in-toto Statements about its run, and verifies a
// directory: that its events are a chain, that files, reports and Statements are those of the events, and that the trailers of commits
// name events. It writes no files and no trailers, and knows neither keys nor git: the caller signs, and provides what checks signatures and
// reads repositories.
//
// A chain of hashes proves nothing by itself, because whoever has the directory can make
// another chain. It is anchored by the signature of the Statement, and by the trailers of
// commits that somebody else has.
package evidence
