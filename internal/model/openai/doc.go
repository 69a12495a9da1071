// Package openai is the wire to OpenAI, by its SDK: to its Responses API, and to its Chat
// Completions and the many servers that imitate these. Package wire documents what the SDK
// does, and what is ours.
//
// How servers of Chat Completions differ is a [Dialect]; which of them speaks which, package
// provider knows. Their own fields are extra fields of the SDK's types, in both directions.
//
// A conversation is encoded once, see [wire.Histories]: neither the messages of
// a request nor its tools may be changed after it.
//
// The package does not try again (that is model.Retrying), does not price, and
// reads no environment variables.
package openai
