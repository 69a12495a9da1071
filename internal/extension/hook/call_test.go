package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

func optional(h tasks.Hook) tasks.Hook {
	h.Optional = true
	return h
}

func timed(h tasks.Hook) tasks.Hook {
	h.Time = 50 * time.Millisecond
	return h
}

const hangs = "sleep 600"

func TestBeforeTool(t *testing.T) {
	for name, c := range map[string]struct {
		hook              tasks.Hook
		tool              string
		calls             int
		errs, warns, stop string // of the last call
		runs, errors      int
		status            event.ExtensionStatus
	}{
		"allows":             {hook: shell(tasks.BeforeTool, "exit 0"), calls: 2, runs: 2, status: event.ExtensionReady},
		"denies":             {hook: shell(tasks.BeforeTool, "echo ignored; echo no secret-4711-4711 >&2; exit 2"), calls: 3, errs: "no [redacted]", runs: 3, status: event.ExtensionReady},
		"denies silently":    {hook: shell(tasks.BeforeTool, "exit 2"), calls: 1, errs: "no reason given", runs: 1, status: event.ExtensionReady},
		"optional denies":    {hook: optional(shell(tasks.BeforeTool, "exit 2")), calls: 1, errs: "no reason given", runs: 1, status: event.ExtensionReady},
		"prints deny":        {hook: shell(tasks.BeforeTool, `echo '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not here"}}'`), calls: 3, errs: "not here", runs: 3, status: event.ExtensionReady},
		"prints ask":         {hook: shell(tasks.BeforeTool, `echo '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "odd"}}'`), calls: 1, errs: "nobody can give in an unattended run: odd", runs: 1, status: event.ExtensionReady},
		"prints block":       {hook: optional(shell(tasks.BeforeTool, `echo '{"decision": "block"}'`)), calls: 1, errs: "no reason given", runs: 1, status: event.ExtensionReady},
		"prints permission":  {hook: shell(tasks.BeforeTool, `echo '{"permission": "ask", "reason": 1}'`), calls: 1, errs: "approval", runs: 1, status: event.ExtensionReady},
		"prints continue":    {hook: shell(tasks.BeforeTool, `echo '{"continue": false, "reason": "stop"}'`), calls: 1, errs: "stop", runs: 1, status: event.ExtensionReady},
		"prints allow":       {hook: shell(tasks.BeforeTool, `echo '{"hookSpecificOutput": {"permissionDecision": "allow"}, "continue": true}'`), calls: 1, runs: 1, status: event.ExtensionReady},
		"prints text":        {hook: shell(tasks.BeforeTool, "echo deny"), calls: 1, runs: 1, status: event.ExtensionReady},
		"fails":              {hook: shell(tasks.BeforeTool, "echo bad >&2; exit 1"), calls: 3, errs: "hook before_tool: exit code 1: bad", runs: 3, errors: 3, status: event.ExtensionReady},
		"is killed":          {hook: shell(tasks.BeforeTool, "kill -9 $$"), calls: 3, errs: "hook before_tool: killed by signal (killed)", runs: 3, errors: 3, status: event.ExtensionReady},
		"not found":          {hook: tasks.Hook{On: tasks.BeforeTool, Command: []string{"no-such-program-4711"}}, calls: 1, errs: "no-such-program-4711", runs: 1, errors: 1, status: event.ExtensionReady},
		"hangs":              {hook: timed(shell(tasks.BeforeTool, hangs)), calls: 1, errs: "timed out after 50ms", runs: 1, errors: 1, status: event.ExtensionReady},
		"hangs twice":        {hook: timed(shell(tasks.BeforeTool, hangs)), calls: 2, errs: "timed out", stop: "hook before_tool: timed out after 50ms", runs: 2, errors: 2, status: event.ExtensionFailed},
		"broken":             {hook: tasks.Hook{On: tasks.BeforeTool, Command: []string{"broken"}}, calls: 2, errs: "not today", stop: "hook before_tool: create the sandbox: not today", runs: 2, errors: 2, status: event.ExtensionFailed},
		"optional and hangs": {hook: optional(timed(shell(tasks.BeforeTool, hangs))), calls: 3, warns: "timed out after 50ms; the call continues", runs: 3, errors: 3, status: event.ExtensionReady},
		"of tools":           {hook: tasks.Hook{On: tasks.BeforeTool, Command: []string{"false"}, Tools: []string{"files_*", "ba?h"}}, calls: 1, errs: "exit code 1", runs: 1, errors: 1, status: event.ExtensionReady},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.hook)
			around := b.Around("s", "build")
			if !slices.Equal(around[0].Tools, c.hook.Tools) {
				t.Errorf("for the tools %q", around[0].Tools)
			}
			var err error
			for range c.calls {
				var input json.RawMessage
				if input, err = around[0].Before(t.Context(), tools.HookCall{Tool: "bash", Input: json.RawMessage(`{ }`)}); string(input) != "{ }" {
					t.Errorf("the arguments are now %s", input)
				}
			}
			if got := fmt.Sprint(err); (err != nil) != (c.errs != "") || !strings.Contains(got, c.errs) {
				t.Errorf("error %v, want %q", err, c.errs)
			}
			b.Close()
			if got := strings.Join(b.warned, "\n"); (got == "") != (c.warns == "") || !strings.Contains(got, c.warns) {
				t.Errorf("warnings %q, want %q", got, c.warns)
			}
			if got := strings.Join(b.stopped, "\n"); got != c.stop {
				t.Errorf("stopped by %q, want %q", got, c.stop)
			}
			if s := b.states["before_tool"]; s.Calls != c.runs || s.Errors != c.errors || s.Status != c.status || (s.Error != "") != (c.stop != "") {
				t.Errorf("reported %+v", s)
			}
		})
	}
}

func TestAfterTool(t *testing.T) {
	for name, c := range map[string]struct {
		hook                tasks.Hook
		output, want        string
		warns, stop, status string
	}{
		"appends":                  {shell(tasks.AfterTool, "echo more; echo noise >&2"), "first", "first\n\nmore", "", "", "ready"},
		"appends after a line end": {shell(tasks.AfterTool, "echo more"), "first\n", "first\n\nmore", "", "", "ready"},
		"appends to nothing":       {shell(tasks.AfterTool, "printf '\\xff'"), "", "\uFFFD", "", "", "ready"},
		"prints nothing":           {shell(tasks.AfterTool, "true"), "first", "first", "", "", "ready"},
		"fails":                    {shell(tasks.AfterTool, "echo more; exit 2"), "first", "first", "", "hook after_tool: exit code 2", "failed"},
		"hangs":                    {timed(shell(tasks.AfterTool, hangs)), "first", "first", "", "hook after_tool: timed out after 50ms", "failed"},
		"optional and fails":       {optional(shell(tasks.AfterTool, "exit 1")), "first", "first", "hook after_tool: exit code 1", "", "ready"},
	} {
		b := newBench(t, c.hook)
		got := b.Around("s", "build")[0].After(t.Context(), tools.HookCall{Tool: "bash"}, tools.HookResult{Output: c.output})
		if got.Output != c.want {
			t.Errorf("%s: output %q, want %q", name, got.Output, c.want)
		}
		b.Close()
		if w, s := strings.Join(b.warned, "\n"), strings.Join(b.stopped, "\n"); w != c.warns || s != c.stop || string(b.states["after_tool"].Status) != c.status {
			t.Errorf("%s: warned %q, stopped %q, status %s", name, w, s, b.states["after_tool"].Status)
		}
	}
}

// The end of a job is no failure of a hook.
func TestTheEndOfAJobIsNoFailureOfAHook(t *testing.T) {
	cause := errors.New("the job was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	b := newBench(t, optional(shell(tasks.JobStart, hangs)), shell(tasks.AfterTool, hangs), shell(tasks.BeforeTool, hangs))
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	if err := b.Run(ctx, tasks.JobStart, func(*Input) {}); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	around := b.Around("s", "")
	for range 2 {
		if _, err := around[0].Before(ctx, tools.HookCall{}); err == nil || err.Error() != "the call was interrupted" {
			t.Errorf("error %v", err)
		}
	}
	around[1].After(ctx, tools.HookCall{}, tools.HookResult{})
	if len(b.stopped)+len(b.warned) > 0 {
		t.Errorf("stopped %q, warned %q", b.stopped, b.warned)
	}
}

func TestInputOfHooks(t *testing.T) {
	for input, want := range map[string]string{
		``: `{}`, `null`: `{}`, `{"a": 1.50}`: `{"a":1.50}`, `{"a":"x","a":"y"}`: `{"a":"y"}`,
		`{"command": "r\u006d \u0026\u0026 \u003c"}`: `{"command":"rm && <"}`,
		`{"a": `: `"{\"a\":"`, `{} {}`: `"{} {}"`, `not`: `"not"`,
		`{"key":"secret-4711-4711"}`: `{"key":"[redacted]"}`,
	} {
		b := newBench(t, shell(tasks.AfterTool, "cat"))
		got := b.Around("r/j", "build")[0].After(t.Context(), tools.HookCall{ID: "c1", Tool: "bash", Input: json.RawMessage(input)}, tools.HookResult{Title: "t", Error: "e"})
		text := fmt.Sprintf(`{"version":1,"hook_event_name":"after_tool","run_id":"r","job_id":"j","cwd":"%s","session_id":"r/j","agent":"build","tool_name":"bash","tool_use_id":"c1","tool_input":%s,"tool_response":{"title":"t","output":"","error":"e"}}`,
			b.hooks[0].config.Input.Dir, want)
		if got.Output != text {
			t.Errorf("input %s:\n%s\nwant\n%s", input, got.Output, text)
		}
	}
}

func TestASetWithoutHooksDoesNothing(t *testing.T) {
	var none *Set
	none.Close()
	if New(Config{}) != none || none.Has(tasks.JobStart) || none.Run(t.Context(), tasks.JobStart, nil) != nil || none.Around("", "") != nil {
		t.Error("no hooks do something")
	}
}
