package mcp

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

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/testing/mcptest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "mcp-server" {
		os.Exit(mcptest.Main(os.Args[2:], os.Environ, os.Exit))
	}
	os.Exit(m.Run())
}

// notices collects the notices of a server.
type notices struct {
	mu  sync.Mutex
	all []Notice
}

func (n *notices) add(notice Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, notice)
}

func (n *notices) has(want Notice) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.all, want)
}

// config returns the configuration of a test server with flags.
func config(t *testing.T, n *notices, flags ...string) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Name: "test", Version: "1", Timeout: time.Minute, CallTimeout: time.Minute, Now: time.Now, Notify: n.add,
		Command: proc.Command{Args: append([]string{self, "mcp-server"}, flags...), Dir: t.TempDir(), Grace: 100 * time.Millisecond},
	}
}

func start(t *testing.T, flags ...string) (*Server, []Tool, *notices) {
	t.Helper()
	n := &notices{}
	s, tools, err := Start(t.Context(), config(t, n, flags...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, tools, n
}

func call(t *testing.T, s *Server, tool, text string) (*Result, error) {
	t.Helper()
	arguments, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	return s.Call(t.Context(), tool, arguments)
}

func TestToolsAreListedAndCalled(t *testing.T) {
	s, tools, _ := start(t, "-page", "5", "-tools", "7")
	if !slices.IsSortedFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("tools are not sorted")
	}
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == "echo" })
	if len(tools) < 20 || i < 0 || !strings.Contains(string(tools[i].Schema), `"required":["text"]`) {
		t.Fatalf("%d tools: %+v", len(tools), tools)
	}
	if res, err := call(t, s, "echo", "héllo"); err != nil || res.Text != "héllo" || res.Failed {
		t.Errorf("got %+v, %v", res, err)
	}
	if res, err := call(t, s, "fail", ""); err != nil || res.Text != "it did not work" || !res.Failed {
		t.Errorf("got %+v, %v", res, err)
	}
	info := s.Info()
	if info.Name != "mcptest" || info.Version != "1.2.3" || info.Protocol != "2025-11-25" || info.Calls != 2 || info.Errors != 1 {
		t.Errorf("info is %+v", info)
	}
}

func TestEarlierRevisions(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-03-26", "2024-11-05"} {
		s, _, _ := start(t, "-protocol", revision)
		if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" || s.Info().Protocol != revision {
			t.Errorf("%s: got %+v, %v; %s", revision, res, err, s.Info().Protocol)
		}
	}
	if _, _, err := Start(t.Context(), config(t, &notices{}, "-protocol", "1999-01-01")); err == nil || !strings.Contains(err.Error(), "1999-01-01") {
		t.Errorf("error is %v", err)
	}
}

func TestResults(t *testing.T) {
	s, _, _ := start(t)
	for tool, want := range map[string]string{
		"mixed":      "one\n(audio, audio/wav, 3 bytes, not supported)\n(resource file:///etc/passwd)\ninside\n(hologram content of 33 bytes, not supported)\ntwo",
		"structured": `{"n":1}`,
		"nothing":    "",
		"image":      "",
	} {
		if res, err := call(t, s, tool, ""); err != nil || res.Text != want {
			t.Errorf("%s: got %+v, %v; want %q", tool, res, err, want)
		}
	}
	if res, err := call(t, s, "image", ""); err != nil || len(res.Images) != 1 || res.Images[0].MIME != "image/png" || !strings.HasPrefix(string(res.Images[0].Data), "\x89PNG") {
		t.Errorf("got %+v, %v", res, err)
	}
	if _, err := call(t, s, "refuse", ""); err == nil || err.Error() != "MCP server test: call refuse: no such thing (code -32602)" {
		t.Errorf("error is %v", err)
	}
}

func TestFaultsOfTheStart(t *testing.T) {
	for fault, want := range map[string]string{
		"exit":   "MCP server test: start: it exited with code 4",
		"textid": "MCP server test: start: response id \"1\" is a string; the request's id was the number 1 (code -32600)",
		"cursor": "MCP server test: list its tools: page 2 of its tools has the cursor \"next\" of an earlier page",
		"silent": "MCP server test: start: timed out after 300ms",
		"deaf":   "MCP server test: start: timed out after 300ms",
	} {
		c := config(t, &notices{}, "-fault", fault)
		if fault == "silent" || fault == "deaf" {
			c.Timeout = 300 * time.Millisecond
		}
		s, _, err := Start(t.Context(), c)
		if err == nil || err.Error() != want {
			t.Errorf("%s: error is %v, want %s", fault, err, want)
		}
		if fault == "exit" && s.Info().Stderr != "cannot open the database\n" {
			t.Errorf("standard error is %q", s.Info().Stderr)
		}
	}
	c := config(t, &notices{})
	c.Command = proc.Command{Args: []string{"no-such-server"}, Dir: "/", Env: []string{"PATH=/nowhere"}}
	if _, _, err := Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), "no-such-server") {
		t.Errorf("error is %v", err)
	}
}

func TestResponseWithItsIDAsTextIsAnError(t *testing.T) {
	s, _, _ := start(t, "-fault", "names")
	_, err := call(t, s, "textid", "")
	if err == nil || !strings.Contains(err.Error(), "MCP server test: call textid: response id \"") || !strings.Contains(err.Error(), "is a string; the request's id was the number ") {
		t.Errorf("error is %v", err)
	}
	if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" {
		t.Errorf("the next call: %+v, %v", res, err)
	}
}

func TestOutputThatIsNoMessageIsIgnored(t *testing.T) {
	s, _, n := start(t, "-fault", "noise,invalid,changing")
	if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" {
		t.Errorf("got %+v, %v", res, err)
	}
	if !n.has(Notice{Noise, "Server running on stdio"}) || n.has(Notice{Noise, "[1, 2]"}) {
		t.Errorf("notices are %+v", n.all)
	}
	if !n.has(Notice{Kind: Changed}) {
		t.Errorf("notices are %+v", n.all)
	}
	invalid := 0
	for _, notice := range n.all {
		if notice.Kind == InvalidTool {
			invalid++
		}
	}
	if invalid != 3 {
		t.Errorf("notices are %+v", n.all)
	}
}

func TestServersAreStartedAgain(t *testing.T) {
	s, _, _ := start(t)
	for i := range maxRestarts + 1 {
		_, err := call(t, s, "crash", "")
		if want := "MCP server test: call crash: it exited with code 7; it ended while working on it; whether it had an effect is not known; standard error: out of luck"; err == nil || err.Error() != want {
			t.Fatalf("crash %d: %v", i, err)
		}
	}
	if _, err := call(t, s, "echo", "x"); err == nil || !strings.Contains(err.Error(), "not started again") {
		t.Errorf("error is %v", err)
	}
	if i := s.Info(); i.Restarts != maxRestarts || i.Stderr != "out of luck\n" {
		t.Errorf("info is %+v", i)
	}
}

func TestPausedServersStartAgain(t *testing.T) {
	s, _, _ := start(t)
	for range maxRestarts + 2 {
		s.Pause()
		s.Pause() // no call since the last one
		if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" {
			t.Fatalf("got %+v, %v", res, err)
		}
	}
	call(t, s, "crash", "")
	s.Pause() // it has ended: that is a restart
	if _, err := call(t, s, "echo", "x"); err != nil || s.Info().Restarts != 1 {
		t.Errorf("%d restarts (%v)", s.Info().Restarts, err)
	}
}

func TestConcurrentCallsRestartOnce(t *testing.T) {
	s, _, _ := start(t)
	call(t, s, "crash", "")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
	group.Wait()
	if got := s.Info().Restarts; got != 1 {
		t.Errorf("%d restarts", got)
	}
}

func TestMessagesHaveAMaximumSize(t *testing.T) {
	s, _, _ := start(t)
	_, err := call(t, s, "huge", "")
	if err == nil || !strings.Contains(err.Error(), "message exceeds 32 MiB; whether it had an effect is not known") {
		t.Errorf("error is %v", err)
	}
	if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestCallsTimeOutWithoutProgress(t *testing.T) {
	n := &notices{}
	c := config(t, n)
	c.CallTimeout = 350 * time.Millisecond
	s, _, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := call(t, s, "hang", ""); err == nil || err.Error() != "MCP server test: call hang: timed out after 350ms without progress" {
		t.Errorf("error is %v", err)
	}
	for !strings.Contains(s.Info().Stderr, "cancelled:") {
		time.Sleep(10 * time.Millisecond)
	}
	takesSteps(t, c)
	interrupted := errors.New("interrupted by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(interrupted) })
	if _, err := s.Call(ctx, "hang", nil); !errors.Is(err, interrupted) {
		t.Errorf("error is %v", err)
	}
}

// takesSteps calls a tool that takes longer than the timeout, with progress meanwhile. On a busy machine a step can take too
// long: then it is tried again with longer ones.
func takesSteps(t *testing.T, c Config) {
	t.Helper()
	for step := 100 * time.Millisecond; ; step *= 4 {
		c.CallTimeout = step * 7 / 2
		s, _, err := Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		res, err := call(t, s, "steps", step.String())
		s.Close()
		if err == nil && res.Text == "done" {
			return
		}
		if step > time.Minute {
			t.Fatalf("got %+v, %v", res, err)
		}
	}
}

func TestRequestsOfServersAreRefused(t *testing.T) {
	s, _, n := start(t)
	for _, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "strange/thing"} {
		res, err := call(t, s, "ask", method)
		if err != nil || !strings.Contains(res.Text, "unattended") {
			t.Errorf("%s: got %+v, %v", method, res, err)
		}
		if !n.has(Notice{Refused, method}) {
			t.Errorf("%s: notices are %+v", method, n.all)
		}
	}
	if res, err := call(t, s, "ask", "ping"); err != nil || res.Text != "{}" {
		t.Errorf("ping: got %+v, %v", res, err)
	}
}

func TestStubbornServersAreKilled(t *testing.T) {
	s, _, _ := start(t, "-fault", "stubborn,logs")
	if res, err := call(t, s, "silent.close", ""); err == nil || !strings.Contains(err.Error(), "whether it had an effect") {
		t.Errorf("got %+v, %v", res, err)
	}
	if got := s.Info().Stderr; len(got) > 64<<10 || !strings.HasSuffix(got, "last line\n") {
		t.Errorf("standard error has %d bytes", len(got))
	}
	s.Close()
	if _, err := call(t, s, "echo", "x"); err == nil || !strings.Contains(err.Error(), "has ended with the job") {
		t.Errorf("error is %v", err)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("long", 20)
	got := Names([]Tool{{Server: "a", Name: "b.c/d"}, {Server: "a", Name: "Echo"}, {Server: "a", Name: "echo"}, {Server: "a_b", Name: "c"}, {Server: "a", Name: "b_c"}, {Server: "a", Name: long}})
	want := []string{"a_b_c_d", "a_Echo_", "a_echo_", "a_b_c_", "a_b_c_", "a_" + long[:53] + "_"}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) || len(got[i]) > maxName {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		t.Errorf("names are not unique: %q", got)
	}
}
