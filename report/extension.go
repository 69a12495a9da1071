package report

import (
	"maps"
	"slices"

	"github.com/millhand/millhand/internal/event"
)

// Extension is a program beside the model that served a job, such as an MCP server.
type Extension struct {
	Kind         string                `json:"kind"`
	Name         string                `json:"name"`
	Status       event.ExtensionStatus `json:"status"`
	Error        string                `json:"error"`
	Server       *event.ServerInfo     `json:"server"` // nil before the handshake
	Protocol     string                `json:"protocol"`
	Transport    string                `json:"transport"`
	Sandbox      string                `json:"sandbox"`
	StartMS      int64                 `json:"start_ms"`
	ToolsOffered int                   `json:"tools_offered"`
	ToolsLeftOut []string              `json:"tools_left_out"`
	Calls        int                   `json:"calls"`
	Errors       int                   `json:"errors"`
	Restarts     int                   `json:"restarts"`

	RefusedRequests map[string]int `json:"refused_requests"`
	StderrTail      string         `json:"stderr_tail"`
}

func newExtension(e event.Extension) Extension {
	out := Extension{
		Kind: e.Kind, Name: e.Name, Status: e.Status, Error: e.Error, Server: clone(e.Server), Protocol: e.Protocol, Transport: e.Transport, Sandbox: e.Sandbox,
		StartMS: e.StartMS, ToolsOffered: e.ToolsOffered, ToolsLeftOut: append([]string{}, e.ToolsLeftOut...),
		Calls: e.Calls, Errors: e.Errors, Restarts: e.Restarts, RefusedRequests: map[string]int{}, StderrTail: e.StderrTail,
	}
	maps.Copy(out.RefusedRequests, e.RefusedRequests)
	return out
}

// takeExtension replaces the state of an extension.
func (j *job) takeExtension(e event.Event) {
	x := *e.Extension
	x.ToolsLeftOut, x.RefusedRequests, x.Server = slices.Clone(x.ToolsLeftOut), maps.Clone(x.RefusedRequests), clone(x.Server)
	at := slices.IndexFunc(j.environment.extensions, func(o event.Extension) bool { return o.Kind == x.Kind && o.Name == x.Name })
	if at < 0 {
		j.environment.extensions = append(j.environment.extensions, x)
		return
	}
	j.environment.extensions[at] = x
}
