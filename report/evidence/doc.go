// Package evidence makes and checks the evidence of a run: the seal of its report directory, an
// in-toto Statement about it, and the trailers of its commits.
//
// A chain of hashes proves nothing by itself, because whoever has the directory can make
// another chain. It is anchored by the signature of the Statement, and by the trailers of
// commits that somebody else has.
package evidence
