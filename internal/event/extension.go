package event

// Extension is the payload of extension: the state of a program beside the model that serves
// a job. A later event of the same kind and name replaces it.
type Extension struct {
	Kind   string          `json:"kind"` // mcp, js, lsp or hook
	Name   string          `json:"name"` // in the manifest
	Status ExtensionStatus `json:"status"`
	Error  string          `json:"error,omitempty"`

	Server    *ServerInfo `json:"server,omitempty"` // nil before the handshake
	Protocol  string      `json:"protocol,omitempty"`
	Transport string      `json:"transport,omitempty"` // stdio or http
	Sandbox   string      `json:"sandbox,omitempty"`   // level, as in Sandbox; "" for a remote server
	StartMS   int64       `json:"start_ms"`            // until its tools were listed

	ToolsOffered int      `json:"tools_offered"`
	ToolsLeftOut []string `json:"tools_left_out,omitempty"` // by their own names
	Calls        int      `json:"calls"`
	Errors       int      `json:"errors"`
	Restarts     int      `json:"restarts"`

	RefusedRequests map[string]int `json:"refused_requests,omitempty"` // requests of the server, by method
	StderrTail      string         `json:"stderr_tail,omitempty"`
}

// ServerInfo is how a server describes itself.
type ServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// ExtensionStatus is the state of an extension.
type ExtensionStatus string

// The states.
const (
	ExtensionReady     ExtensionStatus = "ready"
	ExtensionFailed    ExtensionStatus = "failed"
	ExtensionAbsent    ExtensionStatus = "absent"     // it is optional and did not start
	ExtensionNotNeeded ExtensionStatus = "not_needed" // the profile allows none of its tools, its event did not happen, or no file for it was used
)
