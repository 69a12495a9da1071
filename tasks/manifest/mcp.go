package manifest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/problem"
)

// MCPServer is a server while it is read.
type MCPServer struct {
	tasks.MCPServer
	kind          string // local or remote
	Written       Process
	WrittenRemote Remote
	callTimeout   *time.Duration
	enabled       bool
}

// serverName is the form of a server's name: it is the start of its tools' names.
var serverName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)
})

var (
	mcpForm        = form.MapOf("NAME", form.TypeOf((*MCPServer).keys), readServers)
	toolSwitchForm = form.MapOf("PATTERN", form.Bool.Type, readSwitches)
	timeoutForm    = form.Of[time.Duration]{Type: form.Type{Name: "duration", Or: &form.Type{Name: "integer", Min: 1}}, Read: readTimeout}
)

// readServers reads the MCP servers of a manifest.
func readServers(v form.Value) ([]form.Definition[MCPServer], bool) {
	var all []form.Definition[MCPServer]
	entries, ok := v.Definitions()
	for _, e := range entries {
		name := e.Key.Value
		same := func(d form.Definition[MCPServer]) bool { return strings.EqualFold(d.Is.Name, name) }
		switch {
		case !serverName().MatchString(name):
			e.KeyProblem("invalid server name "+problem.Quote(name), "use up to 32 letters, digits, _ and -, starting with a letter or digit")
		case slices.ContainsFunc(all, same):
			e.KeyProblem(fmt.Sprintf("the server name %s differs from another only in case", problem.Quote(name)), "choose another")
		case e.Refused(policy.Extensions, "the MCP server "+problem.Quote(name), name):
		default:
			if d := readServer(e); d.Is.enabled {
				all = append(all, d)
			}
		}
	}
	return all, ok
}

func readServer(v form.Value) form.Definition[MCPServer] {
	s := form.WithDefaults((*MCPServer).keys)
	s.Name = v.Key.Value
	got := s.keys().Read(v)
	if v.IsMapping() {
		s.checkKind(v, got)
	}
	if s.CallTimeout = s.Timeout; s.callTimeout != nil {
		s.CallTimeout = *s.callTimeout
	} else if s.Timeout == 0 {
		s.CallTimeout = defaultCallTimeout
	}
	if s.Timeout == 0 {
		s.Timeout = defaultStartTimeout
	}
	content := tasks.Digest(s.Written.digest(), s.Timeout, s.CallTimeout, s.Optional, s.Switches)
	if s.Process = s.Written.read(); s.kind == remoteServer {
		s.Remote = &tasks.Remote{URL: s.WrittenRemote.url, OAuth: s.WrittenRemote.oauth}
		content = tasks.Digest(content, s.WrittenRemote.url, spelled(s.WrittenRemote.HeaderTexts))
		if o := s.Remote.OAuth; o != nil {
			content = tasks.Digest(content, o.TokenURL, o.IDEnv, o.SecretEnv, o.Scopes)
		}
	}
	if s.Follow {
		content = tasks.Digest(content, "follow_changes")
	}
	return form.Definition[MCPServer]{Value: v, Title: "MCP server " + problem.Quote(s.Name), Digest: content, Paths: s.Written.paths(), Is: s}
}

// The timeouts of servers without one in the manifest.
const (
	defaultStartTimeout = 30 * time.Second
	defaultCallTimeout  = 2 * time.Minute
)

// readTimeout reads a duration, or a number of milliseconds as OpenCode has them.
func readTimeout(v form.Value) (time.Duration, bool) {
	if v.IsScalar() && v.Node.ShortTag() == "!!int" {
		ms, ok := form.Between(1, int(math.MaxInt64/time.Millisecond)).Read(v)
		return time.Duration(ms) * time.Millisecond, ok
	}
	return form.ReadDuration(v)
}

// readSwitches reads which tools are on, in their order.
func readSwitches(v form.Value) ([]tasks.ToolSwitch, bool) {
	var all []tasks.ToolSwitch
	entries, ok := v.Entries()
	for _, e := range entries {
		if on, ok := form.ReadBool(e); ok {
			all = append(all, tasks.ToolSwitch{Pattern: e.Key.Value, On: on})
		}
	}
	return all, ok
}

// keys have OpenCode's names, except those for access.
func (s *MCPServer) keys() form.Table {
	return append(form.Table{
		{Name: "type", Field: form.Into(&s.kind, form.OneOf([]string{localServer, remoteServer})), Doc: "local: a process, used through its standard input and output (if absent); remote: a server over HTTP"},
		{Name: "command", Field: form.Into(&s.Written.program, programs.Argv), Doc: "Program and arguments of a local server (required); runs in the workspace, in a sandbox of its own"},
		{Name: "url", Field: form.Into(&s.WrittenRemote.url, serverURLForm), Doc: "URL of a remote server (required)"},
		{Name: "headers", Field: form.Into(&s.WrittenRemote.HeaderTexts, serverHeadersForm), Doc: "HTTP headers of each request to a remote server; may contain ${{ env.NAME }}, also as {env:NAME}"},
		{Name: "oauth", Field: form.Noting(&s.WrittenRemote.OAuthAt, form.Into(&s.WrittenRemote.oauth, oauthForm)), Doc: "How tokens for a remote server are requested; false: it gets headers only (if absent), nobody can log in"},
		{Name: "enabled", Field: form.Into(&s.enabled, form.Bool), Def: "true", Doc: "Whether the server is used"},
		{Name: "timeout", Field: form.Into(&s.Timeout, timeoutForm), Doc: "Timeout of the start and of each request, as a duration or in milliseconds (30s if absent)"},
		{Name: "call_timeout", Field: form.Into(&s.callTimeout, form.Optional(timeoutForm)), Doc: "Timeout of a call without progress (timeout, or 2m if both are absent)"},
		{Name: "optional", Field: form.Into(&s.Optional, form.Bool), Def: "false", Doc: "Whether jobs continue without it if it does not start"},
		{Name: "tools", Field: form.Into(&s.Switches, toolSwitchForm), Doc: "Which of its tools are offered, by their own names; the last match decides"},
		{Name: "follow_changes", Field: form.Into(&s.Follow, form.Bool), Def: "false", Doc: "Whether tools that it adds, changes or removes during a job are used so from the next turn on"},
	}, s.Written.keys()...)
}
