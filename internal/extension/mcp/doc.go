// Package mcp is a client of MCP servers (Model Context Protocol, revision 2025-11-25 and
// earlier ones). A [Server] is started for a job, lists its tools once, and is started
// again if it ends. Package runner confines its process and offers its tools to sessions.
//
// The protocol is that of the SDK, the transport is our own: output that is not a message
// is ignored, a message has a maximum size, and a server that reads or writes nothing
// delays nobody.
package mcp
