package event

// Untrusted is the payload of untrusted: what a job has read first of what others have written, after which it
// has the rights only that after_untrusted leaves. Call, Tool and Turn are empty if it was in a prompt.
type Untrusted struct {
	Turn int    `json:"turn"`           // of the session
	Call string `json:"call,omitempty"` // id
	Tool string `json:"tool,omitempty"` // of the call
	What string `json:"what"`           // that was read

	Publish string   `json:"publish,omitempty"` // the most that is published since then; empty for no limit
	Revoked *Revoked `json:"revoked,omitempty"` // the other rights that are lost; nil in logs of earlier releases
}

// Revoked are rights that a job has lost, as after_untrusted has them.
type Revoked struct {
	Network bool     `json:"network,omitempty"` // no tool and no program of the job reaches a host
	NoMCP   bool     `json:"mcp,omitempty"`     // the tools of servers are denied
	Bash    string   `json:"bash,omitempty"`    // readonly or none; empty for no limit
	Servers []string `json:"servers,omitempty"` // names of the servers
	Remote  []string `json:"remote,omitempty"`  // those of them that are reached over the network
	Source  string   `json:"source"`            // where the rights are defined
}

// Watched is that a process notes which untrusted content a job reads first.
type Watched struct {
	Files []string `json:"files,omitempty"` // globs of untrusted files
}
