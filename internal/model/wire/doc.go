// Package wire holds what the wires over HTTP have in common, each once.
//
// Of a request, the SDK of the provider makes the URL, the headers and the body, by its types, and
// sends it by its service; the client has no retries of its own (that is model.Retrying). Of a
// response, it decodes the events into its types. The rest is ours, because servers that only
// imitate a provider lose data in the SDKs without an error, and because it is what users buy:
//
//   - the middleware (attempt.go) puts the conversation into the body, which was encoded once by
//     the types of the SDK (history.go, body.go), sends a new key after a rejected one, and
//     classifies what is no response: status, certificate, proxy (fault.go, unusable.go);
//   - the body that the SDK reads (feed.go, events.go) has events in the form that it expects:
//     mislabelled and malformed streams, "error": null, which ends the stream of the SDK, types that are
//     only in the name of an event, NaN; errors within a response are errors;
//   - the HTTP client and the timers (options.go, watchdog.go) limit waiting and bytes: for a
//     response, for the next byte, for content, for the usage after it;
//   - tool calls are assembled by ids and indexes (calls.go), because the accumulators of the SDKs
//     merge calls of servers without indexes;
//   - a response is complete only if it has an end (attempt.go, ending.go): the SDKs return no error
//     for a connection that was closed before.
//
// The package does not know the messages of a provider: those are the wires' own, behind [Decoder].
// It does not price, and reads no environment variables but net/http's own proxy settings, if no
// HTTP client is given.
package wire
