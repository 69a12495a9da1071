// Package mcp is a client of MCP servers (Model Context Protocol, revision 2025-11-25 and earlier ones). [Start]
// starts a [Server] for a job, as a process or by HTTP, and lists its tools once; the server is started again if
// it ends. Who may call which tool is decided by package permission, and package extension offers the tools to
// sessions. It decides neither, and how a server's process is confined is up to its user.
//
// The protocol and the transports are those of the SDK, behind filters of our own: output that is not a message
// is ignored, a message has a maximum size, a failure is that of one request, and a server that reads or
// writes nothing delays nobody.
package mcp
