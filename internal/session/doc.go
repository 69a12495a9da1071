// Package session is the loop: it sends a conversation to a model, carries out
// the tool calls that the model asks for, sends the results back, and goes on
// until the model is done or a limit is reached. That a session ended, and
// why, is data (an [End]); only the package's caller decides what follows from
// it.
//
// Everything that happens is told as events. The package knows nothing of
// manifests, repositories, commits or reports.
package session
