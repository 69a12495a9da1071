// Package session is the loop: it sends a conversation to a model, runs the tool
// calls of the response, sends the results back, and continues until the model is
// done or a limit is exceeded. How a session ended, and why, is data (an [End]); the
// caller decides what follows from it.
//
// Everything that happens is emitted as events, and the conversation goes to the caller's
// journal. Package tools decides each call by the profile and runs it
// ([tools.Registry.Dispatch]). The package knows nothing of manifests, repositories, commits or reports.
package session
