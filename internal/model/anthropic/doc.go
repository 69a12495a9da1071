// Package anthropic is the wire to Anthropic's Messages API, by the types of its SDK.
//
// Four marks define what the provider caches: after the tools, the system prompt,
// and the last two user turns. Thinking is sent back with its signatures, from the
// message's state. Usage is in the neutral form: input includes cached tokens.
//
// Deadlines, the classes of failures and the assembly of calls are package
// wire's. A conversation is encoded once, see [wire.Histories]: neither the
// messages of a request nor its tools may be changed after it.
//
// The package does not try again (that is model.Retrying), does not price, and
// reads no environment variables.
package anthropic
