// Package wire holds what the wires over HTTP have in common, each once: how
// long to wait for what (watchdog.go), what a failure means (fault.go), how an
// response is read off the socket (line.go, events.go), how tool calls are put
// together from pieces (calls.go), and how a conversation is encoded only once
// (history.go).
//
// It knows no provider's messages: those are the wires' own, behind [Decoder].
// It does not try again (that is model.Retrying), does not price, and reads no
// environment variables but net/http's own proxy settings, if no HTTP client is
// given.
package wire
