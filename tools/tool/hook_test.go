package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/change"
	"github.com/millhand/millhand/tools/outputs"
	"github.com/millhand/millhand/tools/tool"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/redact"
)

// What a hook makes of the arguments is what is validated, decided and run.
func TestHooksReplaceArgumentsBeforeTheDecision(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": "first\n", "b.txt": "second\n", "secret/c.txt": "third\n"})
	s.Deny("read", "secret/**")
	path := ""
	s.Env.Hooks = []tools.Hook{
		{Before: func(_ context.Context, c tools.HookCall) (json.RawMessage, error) {
			if c.Tool != "read" || string(c.Input) != `{"filePath":"a.txt"}` {
				t.Errorf("call %+v", c)
			}
			return json.RawMessage(`{"filePath":"` + path + `"}`), nil
		}},
		{Before: func(_ context.Context, c tools.HookCall) (json.RawMessage, error) { return c.Input, nil }},
	}
	for _, tt := range []struct {
		path   string
		status tools.Status
		text   string
	}{{"b.txt", tools.Completed, "second"}, {"secret/c.txt", tools.Denied, "secret/**"}, {"", tools.Failed, "path"}} {
		path = tt.path
		out := s.Call("Read", tooltest.Args{"filePath": "a.txt"})
		s.Want(out, tt.status, tt.text)
		if out.Input != `{"filePath":"`+path+`"}` {
			t.Errorf("input %s", out.Input)
		}
	}
}

func TestToolsOfHooks(t *testing.T) {
	for _, c := range []struct {
		pattern, tool string
		want          bool
	}{
		{"bash", "bash", true},
		{"shell", "bash", true}, // OpenCode 2
		{"subagent", "task", true},
		{"Shell", "bash", true},
		{"Bash", "bash", true},
		{"files_*", "Files_write", true},
		{"shell", "shell_run", false}, // of an MCP server
		{"shell", "task", false},
		{"bash", "batch", false},
		{"", "read", true},
	} {
		h := tools.Hook{Tools: strings.Fields(c.pattern)}
		if got := h.For(c.tool); got != c.want {
			t.Errorf("a hook of %s runs for %s: %v, want %v", c.pattern, c.tool, got, c.want)
		}
	}
}

// A hook for other tools is not called.
func TestHooksOfOtherTools(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": "first\n"})
	s.Env.Hooks = []tools.Hook{{
		Tools:  []string{"bash", "files_*"},
		Before: func(context.Context, tools.HookCall) (json.RawMessage, error) { return nil, errors.New("no") },
		After:  func(context.Context, tools.HookCall, tools.HookResult) tools.HookResult { return tools.HookResult{} },
	}}
	s.Want(s.Call("Read", tooltest.Args{"filePath": "a.txt"}), tools.Completed, "first")
}

func TestAHookDeniesACall(t *testing.T) {
	s := tooltest.SetUp(t, "full", map[string]string{"a.txt": "first\n"})
	before := s.Tree()
	asked := []string{}
	s.Env.Hooks = []tools.Hook{
		{Rule: "plugin guard", Source: "guard.ts", Before: func(_ context.Context, c tools.HookCall) (json.RawMessage, error) {
			if strings.Contains(string(c.Input), "reset") {
				return nil, errors.New("no resets")
			}
			return c.Input, nil
		}, Ask: func(_ context.Context, _, _ string, _ json.RawMessage, r permission.Request) error {
			asked = append(asked, r.Permission+" "+r.Subject())
			if r.Permission == "edit" {
				return errors.New("no edits")
			}
			return nil
		}},
		{After: func(_ context.Context, c tools.HookCall, r tools.HookResult) tools.HookResult {
			if c.Tool != "read" {
				t.Errorf("after a denied call of %s", c.Tool)
			}
			return r
		}},
	}
	s.Want(s.Call("bash", tooltest.Args{"command": "git reset --hard"}), tools.Denied, `denied: bash "*", by rule plugin guard (guard.ts): no resets`)
	s.Want(s.Call("write", tooltest.Args{"filePath": "b.txt", "content": "x"}), tools.Denied, `denied: edit "b.txt", by rule plugin guard (guard.ts): no edits`)
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Completed, "first")
	s.Unchanged(before)
	if want := []string{"edit b.txt", "read a.txt"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
	s.Deny("read", "*") // by the profile: hooks are not asked
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Denied, "m.yaml:4")
	if len(asked) != 2 {
		t.Errorf("asked %q", asked)
	}
}

func TestHooksChangeResults(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": "first\n"})
	s.Env.Limits = outputs.Limits{Lines: 10}
	calls := 0
	add := ""
	s.Env.Hooks = []tools.Hook{{After: func(_ context.Context, _ tools.HookCall, r tools.HookResult) tools.HookResult {
		calls++
		if add == "" {
			return tools.HookResult{Title: "other", Output: "all new"}
		}
		r.Output += add
		return r
	}}}
	s.Env.Changes, s.Env.Cache = &change.Tracker{}, &tools.Cache{}
	if out := s.Call("read", tooltest.Args{"filePath": "a.txt"}); out.Title != "other" || out.Output != "all new" || out.Status != tools.Completed {
		t.Errorf("%+v", out)
	}
	add = "\nnote"
	if out := s.Call("read", tooltest.Args{"filePath": "a.txt"}); !strings.Contains(out.Output, "first") || !strings.HasSuffix(out.Output, "\nnote") || calls != 2 {
		t.Errorf("%d calls, %+v", calls, out)
	}
	add = strings.Repeat("line\n", 1000)
	if out := s.Call("read", tooltest.Args{"filePath": "a.txt"}); !out.Truncated || !strings.Contains(out.Output, "first") || len(out.Output) > 1000 {
		t.Errorf("%+v", out)
	}
}

func TestMetadataAboveTheLimitsIsOmitted(t *testing.T) {
	wide, deep := `{"a": "`+strings.Repeat("x", tool.MaxCustom)+`"}`, `{"a": `+strings.Repeat("[", tool.MaxCustomDepth)+strings.Repeat("]", tool.MaxCustomDepth)+`}`
	for _, tt := range []struct {
		tool, hook, want string
		omitted          int
	}{
		{"", "", "", 0},
		{"{}", "{}", "", 0},
		{`{"a": 1}`, "", `{"a":1}`, 0},
		{`{"a": 1}`, `{"a": 2}`, `{"a":2}`, 0},
		{`{"a": 1}`, `{}`, "", 0},
		{`[1]`, `"text"`, "", 0},
		{`{"a": "of sesame-4711-4711"}`, "", `{"a":"of [redacted]"}`, 0},
		{"", `{"sesame-4711-4711": ["sesame-4711-4711"]}`, `{"[redacted]":["[redacted]"]}`, 0},
		{wide, "", "", tool.MaxCustom + 8},
		{"", wide, "", tool.MaxCustom + 8},
		{deep, "", "", len(deep) - 1},
		{wide, `{"a": 2}`, `{"a":2}`, 0},
	} {
		s := tooltest.SetUp(t, "readonly", nil)
		s.Env.Redact = redact.New([]string{"sesame-4711-4711"})
		s.WithExternal("", func(string) (tools.ExternalResult, error) {
			return tools.ExternalResult{Text: "t", Metadata: json.RawMessage(tt.tool)}, nil
		})
		s.Env.Hooks = []tools.Hook{{After: func(_ context.Context, _ tools.HookCall, r tools.HookResult) tools.HookResult {
			if strings.Contains(string(r.Metadata), "sesame-4711-4711") {
				t.Errorf("a hook sees %s", r.Metadata)
			}
			if tt.hook != "" {
				r.Metadata = json.RawMessage(tt.hook)
			}
			return r
		}}}
		out := s.Raw("files_read", "{}")
		if m := out.Metadata; string(m.Custom) != tt.want || m.CustomOmitted != tt.omitted || m.IsZero() != (tt.want == "" && tt.omitted == 0) {
			t.Errorf("%.30s, %.30s: %+v", tt.tool, tt.hook, m)
		}
	}
}

// What a process reports is an object that reports can have, or nothing.
func FuzzReportedMetadata(f *testing.F) {
	for _, text := range []string{"", "{}", `{"a": [1, {"b": null}]}`, `[1]`, `{"a": 1} {}`, `{"a": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var m tools.Metadata
		m.SetCustom(json.RawMessage(text))
		if m.Custom == nil {
			return
		}
		if m.CustomOmitted != 0 || len(m.Custom) > tool.MaxCustom || !json.Valid(m.Custom) || m.Custom[0] != '{' {
			t.Errorf("%q: %+v", text, m)
		}
	})
}
