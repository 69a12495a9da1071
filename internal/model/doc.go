// Package model holds the neutral terms in which a session talks to a language
// model: messages, tool calls, a streamed completion, usage and errors. The
// wires live below it (model/openai, model/script), each behind the one
// interface [Model]; policy that is the same for all of them (retrying,
// pricing) wraps that interface, in a file of its own.
//
// It knows nothing of sessions, tools or permission.
package model
