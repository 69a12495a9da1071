package tasks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/policy"
)

// MCPServer is an MCP server whose tools jobs can call.
type MCPServer struct {
	Name        string
	Command     []string          // program and arguments; run in the workspace
	Environment map[string]string // in addition to PATH, HOME, TMPDIR and LANG
	Timeout     time.Duration     // of the start, and of each request except calls
	CallTimeout time.Duration     // of a call without progress
	Optional    bool              // a job continues without it
	Switches    []ToolSwitch      // of its tools; the last match decides, without one they are on

	// What its process may access in addition to what commands of the job's profile may:
	// absolute paths. Its network and caches are its own.
	Read, Write []string
	Network     permission.Network
	Cache       []string

	Secrets  []string   `json:"-"` // values in Environment that are from variables
	Readable []Readable `json:"-"` // what its command names
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

// mcpServer is a server while it is read.
type mcpServer struct {
	MCPServer
	program     program
	environment []template
	callTimeout *time.Duration
	enabled     bool
	network     *permission.Network
	cache       *[]string
	read, write []programPath
}

// programPath is a path as it is used, and as it is written.
type programPath struct{ path, written string }

// serverName is the form of a server's name: it is the start of its tools' names.
var serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

var (
	mcpForm         = mapOf("NAME", typeOf((*mcpServer).keys), readServers)
	toolSwitchForm  = mapOf("PATTERN", boolForm.Type, readSwitches)
	environmentForm = mapOf("NAME", stringForm.Type, readEnvironment)
	timeoutForm     = form[time.Duration]{Type{Name: "duration"}, readTimeout}
	serverPathForm  = form[programPath]{Type{Name: "string"}, readServerPath}
)

// readServers reads the MCP servers of a manifest.
func readServers(v value) ([]definition[mcpServer], bool) {
	var all []definition[mcpServer]
	entries, ok := v.definitions()
	for _, e := range entries {
		name := e.key.Value
		same := func(d definition[mcpServer]) bool { return strings.EqualFold(d.is.Name, name) }
		switch {
		case !serverName.MatchString(name):
			e.keyProblem("invalid server name "+quote(name), "use up to 32 letters, digits, _ and -, starting with a letter or digit")
		case slices.ContainsFunc(all, same):
			e.keyProblem(fmt.Sprintf("the server name %s differs from another only in case", quote(name)), "choose another")
		case e.refused(policy.Extensions, "the MCP server "+quote(name), name):
		default:
			if d := readServer(e); d.is.enabled {
				all = append(all, d)
			}
		}
	}
	return all, ok
}

func readServer(v value) definition[mcpServer] {
	s := withDefaults((*mcpServer).keys)
	s.Name = v.key.Value
	s.keys().read(v)
	s.Command = s.program.args
	if s.CallTimeout = s.Timeout; s.callTimeout != nil {
		s.CallTimeout = *s.callTimeout
	} else if s.Timeout == 0 {
		s.CallTimeout = defaultCallTimeout
	}
	if s.Timeout == 0 {
		s.Timeout = defaultStartTimeout
	}
	if s.network != nil {
		s.Network = *s.network
	}
	if s.cache != nil {
		s.Cache = *s.cache
	}
	written := func(paths []programPath) (all []string) {
		for _, p := range paths {
			all = append(all, p.written)
		}
		return all
	}
	for _, p := range s.read {
		s.Read = append(s.Read, p.path)
	}
	for _, p := range s.write {
		s.Write = append(s.Write, p.path)
	}
	content := digest(s.program.written, spelled(s.environment), s.Timeout, s.CallTimeout, s.Optional, s.Switches, written(s.read), written(s.write), s.Network, s.Cache)
	return definition[mcpServer]{value: v, title: "MCP server " + quote(s.Name), digest: content, is: s}
}

// The timeouts of servers without one in the manifest.
const (
	defaultStartTimeout = 30 * time.Second
	defaultCallTimeout  = 2 * time.Minute
)

// readTimeout reads a duration, or a number of milliseconds as OpenCode has them.
func readTimeout(v value) (time.Duration, bool) {
	if v.isScalar() && v.node.ShortTag() == "!!int" {
		ms, ok := positive().read(v)
		return time.Duration(ms) * time.Millisecond, ok
	}
	return readDuration(v)
}

// readUnfollowed reads whether changes of a server's tools are followed.
func readUnfollowed(v value) (bool, bool) {
	follow, ok := readBool(v)
	if follow {
		v.problem("follow_changes: true is not supported yet", "remove it")
	}
	return false, ok && !follow
}

// readSwitches reads which tools are on, in their order.
func readSwitches(v value) ([]ToolSwitch, bool) {
	var all []ToolSwitch
	entries, ok := v.entries()
	for _, e := range entries {
		if on, ok := readBool(e); ok {
			all = append(all, ToolSwitch{e.key.Value, on})
		}
	}
	return all, ok
}

// envReference is OpenCode's form of a variable of the environment.
var envReference = regexp.MustCompile(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// ownVariables are those that millhand sets for a server.
var ownVariables = []string{"PATH", "HOME", "TMPDIR"}

// readEnvironment reads variables of a process.
func readEnvironment(v value) ([]template, bool) {
	var all []template
	entries, ok := v.entries()
	if len(entries) > maxHeaders {
		v.problem(fmt.Sprintf("%s has more than %d entries", v.name, maxHeaders), "make it shorter")
		return nil, false
	}
	for _, e := range entries {
		name := e.key.Value
		switch {
		case !envName.MatchString(name):
			e.keyProblem("invalid environment variable name "+quote(name), "write for example API_URL")
			continue
		case slices.Contains(ownVariables, name) || strings.HasPrefix(name, "LD_"):
			e.keyProblem("environment variable "+quote(name)+" is set by millhand", "remove it")
			continue
		}
		if t, ok := e.scalar(); ok {
			t.s = envReference.ReplaceAllString(t.s, "$${{ env.$1 }}")
			all = append(all, parseTemplate(t))
		}
	}
	return all, ok
}

// readServerPath reads a path that a server may access.
func readServerPath(v value) (programPath, bool) {
	t, ok := v.filled()
	if !ok {
		return programPath{}, false
	}
	path := resolvePath(v.src.dir, t.s)
	return programPath{path, t.s}, !v.outside(path, t.s)
}

// servers resolves the MCP servers of all manifests.
func servers(b *builder) []definition[mcpServer] {
	all := gather(b.manifests, func(m *manifest) []definition[mcpServer] { return m.servers })
	for i, d := range all {
		s := &all[i].is
		s.Environment = b.filledIn(d.is.environment)
		for _, t := range d.is.environment {
			for _, p := range t.segments {
				if name, ok := strings.CutPrefix(p.variable, "env."); ok {
					s.Secrets = append(s.Secrets, b.options.Getenv(name))
				}
			}
		}
	}
	return all
}
