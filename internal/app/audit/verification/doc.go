// Package verification verifies a report directory with evidence: that its events are a chain, that files, reports and Statements
// are those of the events, and that the trailers of commits name events. It writes nothing, and knows neither keys nor git: package
// audit provides what checks signatures and reads repositories.
package verification
