// Package lsp uses language servers through their standard input and output: it notifies them
// of opened and changed files, collects the errors that they find in them, and asks them
// for definitions, references and the like. [Servers] are those of a workspace. A server is started when the first file for it is
// opened. It does not know sessions, permissions, or how servers are confined.
package lsp
