package tools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/redact"
)

// What a hook makes of the arguments is what is validated, decided and run.
func TestHooksReplaceArgumentsBeforeTheDecision(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": "first\n", "b.txt": "second\n", "secret/c.txt": "third\n"})
	s.deny("read", "secret/**")
	path := ""
	s.env.Hooks = []Hook{
		{Before: func(_ context.Context, c HookCall) (json.RawMessage, error) {
			if c.Tool != "read" || string(c.Input) != `{"filePath":"a.txt"}` {
				t.Errorf("call %+v", c)
			}
			return json.RawMessage(`{"filePath":"` + path + `"}`), nil
		}},
		{Before: func(_ context.Context, c HookCall) (json.RawMessage, error) { return c.Input, nil }},
	}
	for _, tt := range []struct {
		path   string
		status Status
		text   string
	}{{"b.txt", Completed, "second"}, {"secret/c.txt", Denied, "secret/**"}, {"", Failed, "path"}} {
		path = tt.path
		out := s.call("Read", args{"filePath": "a.txt"})
		s.want(out, tt.status, tt.text)
		if out.Input != `{"filePath":"`+path+`"}` {
			t.Errorf("input %s", out.Input)
		}
	}
}

func TestHooksDeny(t *testing.T) {
	s := setUp(t, "full", map[string]string{"a.txt": "first\n"})
	before := s.tree()
	asked := []string{}
	s.env.Hooks = []Hook{
		{Rule: "plugin guard", Source: "guard.ts", Before: func(_ context.Context, c HookCall) (json.RawMessage, error) {
			if strings.Contains(string(c.Input), "reset") {
				return nil, errors.New("no resets")
			}
			return c.Input, nil
		}, Ask: func(_ context.Context, _ HookCall, r permission.Request) error {
			asked = append(asked, r.Permission+" "+r.Subject())
			if r.Permission == "edit" {
				return errors.New("no edits")
			}
			return nil
		}},
		{After: func(_ context.Context, c HookCall, r HookResult) HookResult {
			if c.Tool != "read" {
				t.Errorf("after a denied call of %s", c.Tool)
			}
			return r
		}},
	}
	s.want(s.call("bash", args{"command": "git reset --hard"}), Denied, `denied: bash "*", by rule plugin guard (guard.ts): no resets`)
	s.want(s.call("write", args{"filePath": "b.txt", "content": "x"}), Denied, `denied: edit "b.txt", by rule plugin guard (guard.ts): no edits`)
	s.want(s.call("read", args{"filePath": "a.txt"}), Completed, "first")
	s.unchanged(before)
	if want := []string{"edit b.txt", "read a.txt"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
	s.deny("read", "*") // by the profile: hooks are not asked
	s.want(s.call("read", args{"filePath": "a.txt"}), Denied, "m.yaml:4")
	if len(asked) != 2 {
		t.Errorf("asked %q", asked)
	}
}

func TestHooksChangeResults(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": "first\n"})
	s.env.Limits = OutputLimits{Lines: 10}
	calls := 0
	add := ""
	s.env.Hooks = []Hook{{After: func(_ context.Context, _ HookCall, r HookResult) HookResult {
		calls++
		if add == "" {
			return HookResult{Title: "other", Output: "all new"}
		}
		r.Output += add
		return r
	}}}
	s.env.Tree, s.env.Cache = &Tree{}, &Cache{}
	if out := s.call("read", args{"filePath": "a.txt"}); out.Title != "other" || out.Output != "all new" || out.Status != Completed {
		t.Errorf("%+v", out)
	}
	add = "\nnote"
	if out := s.call("read", args{"filePath": "a.txt"}); !strings.Contains(out.Output, "first") || !strings.HasSuffix(out.Output, "\nnote") || calls != 2 {
		t.Errorf("%d calls, %+v", calls, out)
	}
	add = strings.Repeat("line\n", 1000)
	if out := s.call("read", args{"filePath": "a.txt"}); !out.Truncated || !strings.Contains(out.Output, "first") || len(out.Output) > 1000 {
		t.Errorf("%+v", out)
	}
}

func TestReportedMetadata(t *testing.T) {
	wide, deep := `{"a": "`+strings.Repeat("x", maxCustom)+`"}`, `{"a": `+strings.Repeat("[", maxCustomDepth)+strings.Repeat("]", maxCustomDepth)+`}`
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
		{wide, "", "", maxCustom + 8},
		{"", wide, "", maxCustom + 8},
		{deep, "", "", len(deep) - 1},
		{wide, `{"a": 2}`, `{"a":2}`, 0},
	} {
		s := setUp(t, "readonly", nil)
		s.env.Redact = redact.New([]string{"sesame-4711-4711"})
		s.withExternal("", func(string) (ExternalResult, error) {
			return ExternalResult{Text: "t", Metadata: json.RawMessage(tt.tool)}, nil
		})
		s.env.Hooks = []Hook{{After: func(_ context.Context, _ HookCall, r HookResult) HookResult {
			if strings.Contains(string(r.Metadata), "sesame-4711-4711") {
				t.Errorf("a hook sees %s", r.Metadata)
			}
			if tt.hook != "" {
				r.Metadata = json.RawMessage(tt.hook)
			}
			return r
		}}}
		out := s.raw("files_read", "{}")
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
		var m Metadata
		m.custom(json.RawMessage(text))
		if m.Custom == nil {
			return
		}
		if m.CustomOmitted != 0 || len(m.Custom) > maxCustom || !json.Valid(m.Custom) || m.Custom[0] != '{' {
			t.Errorf("%q: %+v", text, m)
		}
	})
}
