// Package openai is the wire to OpenAI: to its Responses API, and to its Chat
// Completions and the many servers that speak these. The types of requests and of
// events are declared here, with the fields that are used: the official SDK would add
// 18 MB to the binary. Tests compare with it.
//
// What a response means is decided here, because servers differ and a lenient
// reader loses data without a word: a response is whole only when the provider
// said so, an error inside a stream of status 200 is an error, and tool calls
// are put together by package wire, as are deadlines and the classes of
// failures. How servers of Chat Completions differ is a [Dialect]; which of them
// speaks which, package provider knows.
//
// A conversation is encoded once, see [wire.Histories]: neither the messages of
// a request nor its tools may be changed after it.
//
// The package does not try again (that is model.Retrying), does not price, and
// reads no environment variables.
package openai
