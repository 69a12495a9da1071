package tools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/permission"
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
