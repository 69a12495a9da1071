// Package verification verifies a report directory with evidence: that its events are a chain, that files, reports and
// Statements are those of the events, that the trailers of commits name events, and that the signature is of an allowed
// signer, if signers are given. It writes nothing, and opens no repository: package audit provides what repositories
// have.
package verification
