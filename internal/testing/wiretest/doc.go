// Package wiretest serves scripts on the real wires of Chat Completions, OpenAI's
// Responses and Anthropic's Messages, for tests and benchmarks that want
// everything between a session and the socket to be what it is in earnest.
//
// The server keeps no conversations: the number of assistant messages in a
// request determines which turn is due, so that any number of jobs can play one script
// concurrently, each from its start. Only error turns are counted, by the bytes
// of the request that they fail: two jobs that send the very same share them. A
// request for a model that bears the name of an agent of the script gets that
// agent's turns.
//
// Faults put the wire out of order on purpose, see [Fault]. Those with a name
// ([Cases]) say what a client must make of them, and [Conform] holds an adapter
// to it. [Recordings] plays what providers have been seen to send.
package wiretest
