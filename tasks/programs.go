package tasks

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/permission"
)

// HookEvent is when a hook runs.
type HookEvent string

// The events of hooks.
const (
	RunStart     HookEvent = "run_start"
	RunEnd       HookEvent = "run_end"
	JobStart     HookEvent = "job_start"
	JobEnd       HookEvent = "job_end"
	BeforeTool   HookEvent = "before_tool"
	AfterTool    HookEvent = "after_tool"
	BeforeCommit HookEvent = "before_commit"
	AfterCommit  HookEvent = "after_commit"
)

// OfRun reports whether hooks of the event belong to no job.
func (e HookEvent) OfRun() bool { return e == RunStart || e == RunEnd }

// Hook is a command that runs on an event. It reads JSON from standard input.
type Hook struct {
	Name     string // in messages and reports: the event, with an index if it has several hooks
	On       HookEvent
	Command  []string // program and arguments, or a shell line behind bash -c
	Tools    []string // names of tools whose calls it is run for, with wildcards; none for all
	Time     time.Duration
	Optional bool // a failure is a warning

	Workspace bool `json:",omitempty"` // as of a Process
	// Profile is that of the manifest, for hooks of the run; the others have that of the job.
	Profile permission.Profile `json:",omitzero"`

	Source   string     `json:"-"` // FILE:LINE, for messages
	Readable []Readable `json:"-"` // what its command names
}

// LSP are the language servers of jobs.
type LSP struct {
	Servers []LanguageServer
	Wait    time.Duration // for diagnostics after an edit; 0: they are not reported
}

// LanguageServer is a language server. Its process can't write to the workspace, and has no
// network.
type LanguageServer struct {
	Name           string
	Process        Process
	Extensions     []string        // of the files that it is for, with their dots
	Initialization json.RawMessage `json:",omitempty"` // options that it gets at the start
	IfFound        bool            // it is used only where its program is on PATH
}

// MCPServer is an MCP server whose tools jobs can call.
type MCPServer struct {
	Name        string
	Process     Process       // of a local server
	Remote      *Remote       `json:",omitempty"` // nil for a local server
	Timeout     time.Duration // of the start, and of each request except calls
	CallTimeout time.Duration // of a call without progress
	Optional    bool          // a job continues without it
	Follow      bool          // tools that it changes are used from the next turn on
	Switches    []ToolSwitch  // of its tools; the last match decides, without one they are on
}

// ToolSwitch leaves out tools of an MCP server, or includes them again.
type ToolSwitch struct {
	Pattern string // of the server's own names; * and ? are wildcards
	On      bool
}

// Offers reports whether a tool of the server is offered.
func (s *MCPServer) Offers(tool string) bool {
	for _, sw := range slices.Backward(s.Switches) {
		if permission.Match(sw.Pattern, tool) {
			return sw.On
		}
	}
	return true
}

// Remote is an MCP server that millhand itself uses over HTTP.
type Remote struct {
	URL     string
	Headers map[string]string `json:"-"`
	Secrets []string          `json:"-"`          // values of Headers and OAuth that are from variables
	OAuth   *OAuth            `json:",omitempty"` // nil if no tokens are requested for it
}

// OAuth is how a remote server is authorized without a login of a person: by tokens that an
// authorization server issues to a client.
type OAuth struct {
	TokenURL  string
	IDEnv     string   // variable with the client's ID
	SecretEnv string   // variable with its secret
	Scopes    []string `json:",omitempty"`
	ID        string   `json:"-"` // value of IDEnv
	Secret    string   `json:"-"` // value of SecretEnv
}

// LocalMCP returns the MCP servers that are processes on this machine.
func (p *Plan) LocalMCP() []MCPServer {
	return slices.DeleteFunc(slices.Clone(p.MCP), func(s MCPServer) bool { return s.Remote != nil })
}

// CustomTool is a command that models may call as a tool: its arguments come as
// JSON on standard input, its standard output is the result.
type CustomTool struct {
	Name        string
	Description string
	Command     []string       // program and arguments, or a shell line behind bash -c
	Schema      map[string]any // JSON Schema of its arguments, an object
	Time        time.Duration  // deadline of a call, always set
	ReadOnly    bool
	Workspace   bool       `json:",omitempty"` // as of a Process
	Readable    []Readable `json:"-"`          // what the command can read in addition
}

// Process is a program beside the model that serves a job, and what it may access.
type Process struct {
	Command     []string          // program and arguments; run in the workspace
	Environment map[string]string // in addition to PATH, HOME, TMPDIR and LANG

	// What it may access in addition to what commands of the job's profile may:
	// absolute paths. Its network and caches are its own.
	Read, Write []string
	Workspace   bool `json:",omitempty"` // it may write the workspace, although the job's profile allows no changes
	Network     permission.Network
	Cache       []string

	Secrets  []string   `json:"-"` // values in Environment that are from variables
	Readable []Readable `json:"-"` // what its command names
}

// Grant is a program that serves jobs and may write more than commands of a job whose profile allows no
// changes.
type Grant struct {
	Kind, Name string
	Workspace  bool
	Dirs       []string
}

// Grants returns the programs that may write somewhere because their own write key states it.
func (p *Plan) Grants() []Grant {
	var all []Grant
	add := func(kind, name string, workspace bool, dirs []string) {
		if workspace || len(dirs) > 0 {
			all = append(all, Grant{kind, name, workspace, dirs})
		}
	}
	for _, t := range p.Tools {
		add("tool", t.Name, t.Workspace, nil)
	}
	for _, s := range p.MCP {
		add("mcp", s.Name, s.Process.Workspace, s.Process.Write)
	}
	if p.Scripts.Used() {
		add("js", "js", p.Scripts.Process.Workspace, p.Scripts.Process.Write)
	}
	if p.LSP != nil {
		for _, s := range p.LSP.Servers {
			add("lsp", s.Name, false, s.Process.Write)
		}
	}
	for _, h := range p.Hooks {
		add("hook", h.Name, h.Workspace, nil)
	}
	return all
}

// Program is a program beside the model, and how it is called in messages.
type Program struct {
	Name    string
	Command []string
}

// Programs returns the programs that run in the workspace of jobs: hooks, tools and servers.
func (p *Plan) Programs() []Program {
	var all []Program
	for _, h := range p.Hooks {
		all = append(all, Program{"hook " + h.Name, h.Command})
	}
	for _, t := range p.Tools {
		all = append(all, Program{"tool " + t.Name, t.Command})
	}
	for _, s := range p.MCP {
		all = append(all, Program{"MCP server " + s.Name, s.Process.Command})
	}
	if p.LSP != nil {
		for _, s := range p.LSP.Servers {
			all = append(all, Program{"language server " + s.Name, s.Process.Command})
		}
	}
	return all
}

// UsesBash reports whether any session of the plan may run commands.
func (p *Plan) UsesBash() bool {
	return slices.ContainsFunc(p.Jobs, func(j Job) bool { return !j.Profile.Hides("bash") })
}

// StartsProcesses reports whether jobs have programs beside the model.
func (p *Plan) StartsProcesses() bool {
	return len(p.LocalMCP())+len(p.Hooks) > 0 || p.Scripts.Used() || p.LSP != nil
}

// RunsCommands reports whether the plan has commands to confine, of agents or in the
// manifest.
func (p *Plan) RunsCommands() bool {
	return p.UsesBash() || len(p.Tools) > 0 || p.StartsProcesses() ||
		slices.ContainsFunc(p.Jobs, func(j Job) bool { return len(j.Setup)+len(j.Verify) > 0 || j.Script != nil })
}

// Scripts are tool files and plugins in OpenCode's format, which one process of a job runs.
type Scripts struct {
	ToolFiles   []ScriptFile
	Plugins     []ScriptFile
	Runtime     string        // node, bun, or auto for the first of them on the PATH
	CallTimeout time.Duration // of a call of a tool
	HookTimeout time.Duration // of a hook of a plugin
	Process     Process       // without its command
}

// OfWorkspace reports whether a file is one of the job's repository, as of its base commit.
func (s Scripts) OfWorkspace() bool {
	is := func(f ScriptFile) bool { return f.Workspace }
	return slices.ContainsFunc(s.ToolFiles, is) || slices.ContainsFunc(s.Plugins, is)
}

// Used reports whether jobs have tool files or plugins.
func (s *Scripts) Used() bool { return len(s.ToolFiles)+len(s.Plugins) > 0 }

// ScriptFile is a tool file, a plugin, or a directory with tool files.
type ScriptFile struct {
	Name      string // as it is written
	Path      string // absolute; of a workspace: relative to the repository's root, with slashes
	Workspace bool   // it is of the job's repository, at its base commit
	Options   json.RawMessage
	Optional  bool
}

// WorkspacePrefix is how a path in the job's repository starts.
const WorkspacePrefix = "workspace:"

// IsScript reports whether a file's name is that of a tool file or a plugin.
func IsScript(name string) bool {
	return slices.Contains([]string{".ts", ".js", ".mts", ".mjs"}, path.Ext(name)) && !strings.HasSuffix(name, ".d.ts")
}

// ToolFilesIn returns the tool files of a directory, as OpenCode finds them: those directly in its
// directories tool and tools, by name.
func ToolFilesIn(dir string) []string {
	var all []string
	for _, sub := range []string{"tool", "tools"} {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			continue
		}
		for _, e := range entries {
			ext := path.Ext(e.Name())
			if !e.IsDir() && (ext == ".ts" || ext == ".js") && IsScript(e.Name()) {
				all = append(all, filepath.Join(dir, sub, e.Name()))
			}
		}
	}
	return all
}
