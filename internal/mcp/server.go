package mcp

import "encoding/json"

// Kind is what a [Notice] is about.
type Kind string

// The kinds.
const (
	Noise       Kind = "noise"        // output that is not a message; only the first
	InvalidTool Kind = "invalid tool" // in the list
	Refused     Kind = "refused"      // a request of the server; Text is its method
	Changed     Kind = "changed"      // the server announced other tools
)

// Notice is what the owner of a server may report.
type Notice struct {
	Kind Kind
	Text string
}

// Tool is a tool of a server.
type Tool struct {
	Server, Name, Description string
	Schema                    json.RawMessage // of its arguments; nil if it has none
}
