package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools"
)

// stage is a session with a scripted model over a real directory.
type stage struct {
	*Session
	dir    string
	player *script.Player
	mu     sync.Mutex
	events []event.Event
}

// setUp makes a stage; change may alter the session's configuration.
func setUp(t *testing.T, preset, turns string, change func(*Config)) *stage {
	t.Helper()
	s, err := script.Parse([]byte("version: 1\nturns:\n"+turns), "model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{dir: t.TempDir()}
	if st.player, err = s.Player(""); err != nil {
		t.Fatal(err)
	}
	space, err := workspace.Open(st.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	profile, _ := permission.Preset(preset)
	cfg := Config{
		ID: "s1", Job: "j1", Agent: "build", Model: st.player, ModelName: "script:model.yaml",
		Env: &tools.Env{
			Workplace: tools.Workplace{Workspace: space, ChildEnv: []string{"PATH=" + os.Getenv("PATH")}},
			Profile:   profile, Todos: &tools.Todos{}, Now: time.Now,
		},
		Emit: func(e event.Event) {
			st.mu.Lock()
			defer st.mu.Unlock()
			st.events = append(st.events, e)
		},
		Now: time.Now,
	}
	if change != nil {
		change(&cfg)
	}
	if cfg.Tools, err = tools.For(cfg.Env); err != nil {
		t.Fatal(err)
	}
	st.Session = New(cfg)
	return st
}

// calls lists every call's statuses, in the order of the events.
func (s *stage) calls() []string {
	var list []string
	for _, e := range s.events {
		if e.Call != nil {
			list = append(list, fmt.Sprintf("%s %s %s", e.Call.ID, e.Call.Tool, e.Call.Status))
		}
	}
	return list
}

func (s *stage) ended(id string) event.Call {
	for _, e := range s.events {
		if e.Call != nil && e.Call.ID == id && e.Call.Status != event.CallPending && e.Call.Status != event.CallRunning {
			return *e.Call
		}
	}
	return event.Call{}
}

func TestSessionRunsUntilModelIsDone(t *testing.T) {
	s := setUp(t, "build", `
  - text: I'll write it.
    calls:
      - {tool: write, args: {filePath: a.txt, content: "one\n"}}
      - {tool: bash, args: {command: "cat a.txt", description: look}}
    usage: {input: 10, output: 5}
  - expect: ["Created|successfully", "^one$|one"]
    calls: [{tool: Read, args: {filePath: a.txt}}]
    usage: {input: 20, output: 5, cache_read: 10}
  - expect: ["1: one"]
    text: Done.
    usage: {input: 30, output: 5}
`, nil)
	end := s.Run(t.Context(), "write one")
	if !end.Done() || end.Text != "Done." {
		t.Fatalf("end: %+v", end)
	}
	if err := s.player.Finish(); err != nil {
		t.Error(err)
	}
	want := []string{
		"call_1_1 write pending", "call_1_2 bash pending", // while the response streams
		"call_1_1 write pending", "call_1_2 bash pending", // with their inputs
		"call_1_1 write running", "call_1_1 write completed",
		"call_1_2 bash running", "call_1_2 bash completed",
		"call_2_1 Read pending", "call_2_1 Read pending", "call_2_1 Read running", "call_2_1 Read completed", // under the name that the model used
	}
	if diff := cmp.Diff(want, s.calls()); diff != "" {
		t.Error(diff)
	}
	got := s.Totals()
	if got.Turns != 3 || got.Calls != 3 || got.Usage != (money.Usage{Input: 60, Output: 15, CacheRead: 10}) {
		t.Errorf("totals: %+v", got)
	}
}

func TestEveryCallGetsOneResult(t *testing.T) {
	var file bytes.Buffer
	s := setUp(t, "edit", `
  - calls:
      - {tool: read, args: {filePath: missing}}
      - {tool: no_such_tool, args: {}}
      - {tool: bash, args: {command: ls, description: x}}
      - {tool: read, raw: '{"filePath": "a.t'}
      - {tool: write, args: {filePath: /etc/x, content: y}}
      - {tool: read, args: {file_path: a}}
  - text: ok
`, func(c *Config) { c.Journal = journaled(t, &file) })
	if end := s.Run(t.Context(), "go"); !end.Done() {
		t.Fatalf("end: %+v", end)
	}
	want := map[string]event.CallStatus{
		"call_1_1": event.CallError, "call_1_2": event.CallError, "call_1_3": event.CallDenied,
		"call_1_4": event.CallError, "call_1_5": event.CallDenied, "call_1_6": event.CallError,
	}
	var results []string
	for _, m := range saved(t, &file).Messages {
		if m.Role == model.ToolRole {
			results = append(results, m.CallID)
			c := s.ended(m.CallID)
			if c.Status != want[m.CallID] || c.Error == "" || !strings.Contains(m.Text, c.Error) {
				t.Errorf("%s: %+v answered by %q", m.CallID, c, m.Text)
			}
		}
	}
	if diff := cmp.Diff([]string{"call_1_1", "call_1_2", "call_1_3", "call_1_4", "call_1_5", "call_1_6"}, results); diff != "" {
		t.Error(diff)
	}
	if c := s.ended("call_1_4"); string(c.Input) != `"{\"filePath\": \"a.t"` {
		t.Errorf("arguments that are no JSON are recorded as %s", c.Input)
	}
	if c := s.ended("call_1_3"); c.Decision == nil || c.Decision.Effect != "deny" || c.Decision.Source == "" {
		t.Errorf("the denial is recorded as %+v", c.Decision)
	}
}

// Two reads that wait for each other can only end if they run concurrently.
func TestReadOnlyCallsRunConcurrentlyAndOthersInOrder(t *testing.T) {
	s := setUp(t, "build", `
  - calls:
      - {tool: bash, args: {command: "echo 1 > order", description: x}}
      - {tool: read, args: {filePath: order}}
      - {tool: read, args: {filePath: order}}
      - {tool: bash, args: {command: "echo 2 > order", description: x}}
      - {tool: read, args: {filePath: order}}
  - expect: ["(?s)1: 1.*1: 1.*1: 2"]
    text: ok
`, nil)
	if end := s.Run(t.Context(), "go"); !end.Done() {
		t.Fatalf("end: %+v", end)
	}
	calls := s.calls()
	running := func(id string) int { return slices.Index(calls, id+" read running") }
	done := func(id, tool string) int { return slices.Index(calls, id+" "+tool+" completed") }
	if running("call_1_2") < done("call_1_1", "bash") || running("call_1_5") < done("call_1_4", "bash") {
		t.Errorf("a read did not wait for the command before it: %q", calls)
	}
	if slices.Index(calls, "call_1_4 bash running") < max(done("call_1_2", "read"), done("call_1_3", "read")) {
		t.Errorf("a command did not wait for the reads before it: %q", calls)
	}
}

func TestLimitsAreCheckedBeforeEachModelCall(t *testing.T) {
	cost := money.Dollar / 2
	forever := strings.Repeat("  - {calls: [{tool: glob, args: {pattern: x}}], usage: {input: 100, output: 10}}\n", 6)
	failing := strings.Repeat("  - {calls: [{tool: read, args: {filePath: missing}}]}\n", 6)
	denied := strings.Repeat("  - {calls: [{tool: bash, args: {command: ls, description: x}}]}\n", 6)
	tests := []struct {
		name   string
		turns  string
		change func(*Config)
		want   event.Code
		after  int
	}{
		{"turns", forever, func(c *Config) { c.Limits.Turns = 3 }, event.CodeLimit, 3},
		{"tokens", forever, func(c *Config) { c.Limits.Tokens = 200 }, event.CodeLimit, 2},
		{"denials", denied, func(c *Config) { c.Limits.Denials = 2 }, event.CodeDenied, 2},
		{"failures in a row", failing, func(c *Config) { c.Limits.Failures = 4 }, event.CodeFailedCalls, 4},
		{"the job's limits", forever, func(c *Config) {
			requests := 0
			c.JobLimits = func(bool) *End {
				if requests++; requests > 2 {
					return &End{Code: event.CodeLimit, Reason: "job limit exceeded"}
				}
				return nil
			}
		}, event.CodeLimit, 2},
		{"money", forever, func(c *Config) {
			c.Model = model.Priced(c.Model, func(money.Usage) (money.USD, bool) { return cost, true })
			c.Budget = money.NewBudget("run budget", 0, time.Now, nil).Child("job budget", money.Dollar)
		}, event.CodeOverBudget, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t, "edit", tt.turns, tt.change)
			end := s.Run(t.Context(), "go")
			if end.Code != tt.want || end.Reason == "" || s.Totals().Turns != tt.after {
				t.Errorf("ended after %d turns: %+v; want %s after %d", s.Totals().Turns, end, tt.want, tt.after)
			}
		})
	}
}

func TestTheLimitsForTotals(t *testing.T) {
	used := event.Totals{Turns: 3, Denied: 2, Usage: money.Usage{Input: 60, Output: 40}}
	for name, c := range map[string]struct {
		limits  Limits
		summary bool
		want    event.Code
	}{
		"none":                    {Limits{}, false, ""},
		"turns":                   {Limits{Turns: 3}, false, event.CodeLimit},
		"one more turn":           {Limits{Turns: 4}, false, ""},
		"the final summary":       {Limits{Turns: 3, Tokens: 100}, true, ""},
		"tokens":                  {Limits{Tokens: 100}, false, event.CodeLimit},
		"tokens left":             {Limits{Tokens: 101}, false, ""},
		"denials":                 {Limits{Denials: 2}, false, event.CodeDenied},
		"denials, in the summary": {Limits{Denials: 2}, true, event.CodeDenied},
		"fewer denials":           {Limits{Denials: 3}, false, ""},
	} {
		var got event.Code
		if end := c.limits.Exceeded(used, c.summary); end != nil {
			got = end.Code
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAnUnknownCostMakesTheTotalUnknown(t *testing.T) {
	s := setUp(t, "readonly", "  - text: ok\n", nil)
	s.Run(t.Context(), "go")
	if got := s.Totals().Cost.USD(); got != nil {
		t.Errorf("cost is %v, want unknown", *got)
	}
}

func TestFailedRequestEndsSession(t *testing.T) {
	for _, class := range []string{"auth", "rate", "context", "unavailable"} {
		s := setUp(t, "readonly", "  - error: {class: "+class+", message: nope}\n", nil)
		if end := s.Run(t.Context(), "go"); string(end.Code) != class || !strings.Contains(end.Reason, "nope") {
			t.Errorf("%s: %+v", class, end)
		}
	}
	s := setUp(t, "readonly", "  - {expect: [never], text: x}\n", nil)
	if end := s.Run(t.Context(), "go"); end.Code != event.CodeFailed {
		t.Errorf("an expectation that is not met: %+v", end)
	}
}

func TestTheContextEndsASession(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	s := setUp(t, "build", `
  - calls:
      - {tool: bash, args: {command: "touch started; sleep 1000", description: x}}
      - {tool: bash, args: {command: "touch never", description: x}}
  - text: never
`, func(c *Config) {
		emit := c.Emit
		c.Emit = func(e event.Event) {
			emit(e)
			if e.Call != nil && e.Call.Status == event.CallRunning {
				cancel(why)
			}
		}
	})
	end := s.Run(ctx, "go")
	if end.Code != event.CodeInterrupted || end.Reason != "enough" {
		t.Errorf("end: %+v", end)
	}
	if c := s.ended("call_1_1"); c.Status != event.CallError {
		t.Errorf("the running call ended as %+v", c)
	}
	if c := s.ended("call_1_2"); c.Status != event.CallError {
		t.Errorf("the waiting call ended as %+v", c)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "never")); err == nil {
		t.Error("a call began after the end")
	}
	timed, stop := context.WithTimeoutCause(t.Context(), time.Nanosecond, event.EndCause{Code: event.CodeRunTime, Reason: "timed out"})
	defer stop()
	<-timed.Done()
	if end := setUp(t, "build", "  - text: x\n", nil).Run(timed, "go"); end.Code != event.CodeRunTime || end.Reason != "timed out" {
		t.Errorf("a deadline: %+v", end)
	}
}

func TestASecondPromptContinuesTheConversation(t *testing.T) {
	s := setUp(t, "readonly", "  - text: first\n  - {expect: [again], text: second}\n", nil)
	if end := s.Run(t.Context(), "go"); end.Text != "first" {
		t.Fatalf("%+v", end)
	}
	end := s.Run(t.Context(), "again")
	s.Close(end)
	if end.Text != "second" || s.Totals().Turns != 2 {
		t.Errorf("%+v", end)
	}
	last := s.events[len(s.events)-1]
	if last.Type != event.SessionEnded || last.SessionInfo.End != "done" {
		t.Errorf("the last event is %+v", last)
	}
}

func TestCallsOfABatchHaveARecordEach(t *testing.T) {
	st := setUp(t, "edit", `  - calls:
      - {tool: batch, args: {tool_calls: [{tool: read, parameters: {filePath: a}}, {tool: bash, parameters: {command: ls}}, {tool: read, parameters: {filePath: a}}]}}
  - {expect: ["3 calls", "hello"], text: ok}
`, func(c *Config) { c.Env.Batch = true })
	if err := os.WriteFile(filepath.Join(st.dir, "a"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if end := st.Run(t.Context(), "go"); !end.Done() {
		t.Fatalf("%+v", end)
	}
	final := map[string]string{}
	for _, e := range st.events {
		if e.Call != nil && e.Call.Status != event.CallPending && e.Call.Status != event.CallRunning {
			final[e.Call.ID] += e.Call.Tool + " " + string(e.Call.Status)
		}
	}
	want := map[string]string{"call_1_1": "batch completed", "call_1_1.1": "read completed", "call_1_1.2": "bash denied", "call_1_1.3": "read completed"}
	if diff := cmp.Diff(want, final); diff != "" {
		t.Errorf("the calls' ends (-want +got):\n%s", diff)
	}
	if got := st.Totals(); got.Calls != 4 || got.Denied != 1 {
		t.Errorf("%d calls, %d of them denied", got.Calls, got.Denied)
	}
}
