// Package prompt writes the system prompt of a session from the embedded prompt of its agent, the environment it
// works in, the repository's own AGENTS.md and the instructions of the manifest's author. It reads no files. A
// session only gets the text: what starts a session writes it before.
package prompt
