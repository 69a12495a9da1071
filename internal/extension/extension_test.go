package extension

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/testing/lsptest"
	"github.com/millhand/millhand/internal/testing/mcptest"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/command"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "mcp-server" {
		os.Exit(mcptest.Main(os.Args[2:], os.Environ, os.Exit))
	}
	if len(os.Args) > 1 && os.Args[1] == "language-server" {
		os.Exit(lsptest.Main(os.Args[2:], os.Environ, os.Exit))
	}
	os.Exit(m.Run())
}

// record has what a set reported.
type record struct {
	mu       sync.Mutex
	last     map[string]event.Extension // by name
	warnings []string
	launched []string // language servers
	changes  int      // of tools that are followed
}

func (r *record) warned(t *testing.T, text string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.warnings, func(w string) bool { return strings.Contains(w, text) }) {
		t.Errorf("no warning has %q: %q", text, r.warnings)
	}
}

// custom returns a custom tool.
func custom(t *testing.T, name string) []tools.Tool {
	t.Helper()
	tool, err := tools.NewCustom(command.Custom{Name: name, Description: "does nothing", Command: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	return []tools.Tool{tool}
}

// config returns the configuration of servers whose processes are not confined.
func config(t *testing.T, r *record, servers ...tasks.MCPServer) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.last = map[string]event.Extension{}
	for i := range servers {
		servers[i].Timeout, servers[i].CallTimeout = time.Minute, time.Minute
	}
	all := permission.Profile{Name: "p", Rules: []permission.Rule{{Permission: "*_*", Pattern: "*", Effect: permission.Allow}}}
	return Config{
		Servers: servers, Profiles: []permission.Profile{all}, Custom: custom(t, "a_echo"), Version: "1", Sandbox: "A", Now: time.Now,
		Launch: func(_ context.Context, s tasks.MCPServer) (proc.Command, error) {
			return proc.Command{Args: append([]string{self, "mcp-server"}, s.Process.Command...), Dir: t.TempDir(), Grace: 100 * time.Millisecond}, nil
		},
		Changed: func() { r.changes++ },
		Emit: func(e event.Extension) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.last[e.Name] = e
		},
		Warn: func(text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.warnings = append(r.warnings, text)
		},
	}
}

func names(set *Set) (all []string) {
	for _, t := range set.Tools("s", "build") {
		all = append(all, t.Spec().Name)
	}
	return all
}

func TestToolsOfServers(t *testing.T) {
	r := &record{}
	set, err := Start(t.Context(), config(t, r,
		tasks.MCPServer{Name: "b", Switches: []tasks.ToolSwitch{{Pattern: "*"}, {Pattern: "echo", On: true}}},
		tasks.MCPServer{Name: "a", Switches: []tasks.ToolSwitch{{Pattern: "*"}, {Pattern: "e*", On: true}}},
	))
	if err != nil {
		t.Fatal(err)
	}
	if got := names(set); !slices.Equal(got, []string{"b_echo", "a_env"}) {
		t.Errorf("tools %q", got)
	}
	r.warned(t, "tool echo of MCP server a is left out: the name a_echo is in use")
	if a := r.last["a"]; a.Status != event.ExtensionReady || a.ToolsOffered != 1 || !slices.Contains(a.ToolsLeftOut, "echo") || !slices.IsSorted(a.ToolsLeftOut) || a.Server == nil || a.Server.Name != "mcptest" {
		t.Errorf("state %+v", a)
	}

	// Processes that were paused start again, and the totals are those of all.
	tool := set.Tools("s", "build")[0]
	for range 2 {
		pending, err := tool.Prepare(nil, json.RawMessage(`{"text": "x"}`))
		if err != nil {
			t.Fatal(err)
		}
		if res, err := pending.Do(t.Context()); err != nil || res.Output != "x" {
			t.Errorf("%+v (%v)", res, err)
		}
		set.Pause()
	}
	set.Close()
	if b := r.last["b"]; b.Calls != 2 || b.Restarts != 0 {
		t.Errorf("totals %+v", b)
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	exits := []string{"-fault", "exit"}
	r := &record{}
	set, err := Start(t.Context(), config(t, r, tasks.MCPServer{Name: "a", Process: tasks.Process{Command: exits}}, tasks.MCPServer{Name: "b", Process: tasks.Process{Command: exits}}))
	if err == nil || !strings.Contains(err.Error(), "MCP server a: start: it exited with code 4; standard error: cannot open the database; fix mcp.a, or make it optional: true") || !strings.Contains(err.Error(), "fix mcp.b") {
		t.Errorf("error %v", err)
	}
	if set.Close(); r.last["a"].Status != event.ExtensionFailed || r.last["a"].StderrTail != "cannot open the database\n" {
		t.Errorf("%+v", r.last["a"])
	}

	r = &record{}
	c := config(t, r, tasks.MCPServer{Name: "a", Process: tasks.Process{Command: exits}, Optional: true}, tasks.MCPServer{Name: "b"}, tasks.MCPServer{Name: "c"})
	c.Profiles[0].Rules = append(c.Profiles[0].Rules, permission.Rule{Permission: "c_*", Pattern: "*"})
	set, err = Start(t.Context(), c)
	if err != nil || !slices.Contains(names(set), "b_echo") {
		t.Errorf("tools %q (%v)", names(set), err)
	}
	r.warned(t, "the job continues without it")
	r.warned(t, "MCP server c is not started")
	if set.Close(); r.last["a"].Status != event.ExtensionAbsent || r.last["c"].Status != event.ExtensionNotNeeded {
		t.Errorf("%+v", r.last)
	}
}

// Servers start although tool files and plugins can't, and the error names all.
func TestScriptsThatCanNotBeStarted(t *testing.T) {
	r := &record{}
	c := config(t, r, tasks.MCPServer{Name: "a"})
	c.Scripts = &Scripts{Failed: errors.New("no runtime")}
	set, err := Start(t.Context(), c)
	if err == nil || err.Error() != "tool files and plugins: no runtime; fix tools_from or plugins" {
		t.Errorf("error %v", err)
	}
	set.Close()
	if js := r.last[kindJS]; js.Status != event.ExtensionFailed || js.Error != err.Error() || r.last["a"].Server == nil {
		t.Errorf("%+v", r.last)
	}
}

// An optional server that is slow delays the job only shortly, and not if another one is slower.
func TestOptionalServersAreNotWaitedFor(t *testing.T) {
	r := &record{}
	set, err := Start(t.Context(), config(t, r, tasks.MCPServer{Name: "a", Process: tasks.Process{Command: []string{"-fault", "silent"}}, Optional: true}, tasks.MCPServer{Name: "b"}))
	if err != nil || len(names(set)) == 0 {
		t.Errorf("tools %q (%v)", names(set), err)
	}
	r.warned(t, "not ready after 5s, and it is optional")
	if set.Close(); r.last["a"].Status != event.ExtensionAbsent {
		t.Errorf("%+v", r.last["a"])
	}
}

func TestTooManyTools(t *testing.T) {
	set, err := Start(t.Context(), config(t, &record{}, tasks.MCPServer{Name: "few"}, tasks.MCPServer{Name: "many", Process: tasks.Process{Command: []string{"-tools", "200"}}}))
	if err == nil || !strings.Contains(err.Error(), "more than 128; the server many has 2") {
		t.Errorf("error %v", err)
	}
	set.Close()
}
