package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/millhand/millhand/tools/tool"
)

// session is an environment of a tool in another one.
type session struct{ greeting string }

type greetInput struct {
	Name string `json:"name" jsonschema:"whom to greet"`
}

func greet(greeting string, in greetInput) (tool.Pending, error) {
	if in.Name == "" {
		return tool.Pending{}, errors.New("name is empty")
	}
	return tool.Pending{Title: in.Name, Do: func(context.Context) (tool.Result, error) {
		return tool.Result{Output: greeting + ", " + in.Name}, nil
	}}, nil
}

func greeter() tool.Tool[*session] {
	return tool.In(tool.Define(tool.Spec{Name: "greet"}, greet), func(s *session) string { return s.greeting })
}

func TestADefinedToolReadsItsArguments(t *testing.T) {
	for input, want := range map[string]string{
		`{"name": "Ada"}`:           "Hello, Ada",
		`{"name": "Ada", "age": 1}`: "Hello, Ada\n\n(ignored unknown argument age)",
		`{"name": ""}`:              "name is empty",
		`{}`:                        "invalid arguments: missing required argument name",
	} {
		got := ""
		pending, err := greeter().Prepare(&session{"Hello"}, json.RawMessage(input))
		if err != nil {
			got = err.Error()
		} else if res, err := pending.Do(t.Context()); err == nil {
			got = res.Output
		}
		if got != want {
			t.Errorf("%s: %q, should be %q", input, got, want)
		}
	}
	if s := greeter().Spec(); s.Name != "greet" || s.Schema["type"] != "object" {
		t.Errorf("got %+v", s)
	}
}

func TestNotesSurroundAResult(t *testing.T) {
	p := tool.Pending{Do: func(context.Context) (tool.Result, error) { return tool.Result{Output: "text"}, nil }}
	p.Note("after")
	p.Warn("before")
	if res, err := p.Do(t.Context()); err != nil || res.Output != "(before)\n\ntext\n\n(after)" {
		t.Errorf("got %q, %v", res.Output, err)
	}
}

func TestTheCallIDIsInTheContext(t *testing.T) {
	if id := tool.CallID(tool.WithCallID(t.Context(), "call_1")); id != "call_1" {
		t.Errorf("got %q", id)
	}
	if id := tool.CallID(t.Context()); id != "" {
		t.Errorf("got %q", id)
	}
}

func TestChangedLinesAreCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after  string
		added, removed int
	}{
		"nothing":        {"a\n", "a\n", 0, 0},
		"a new file":     {"", "a\nb", 2, 0},
		"a replacement":  {"a\nb\nc\n", "a\nx\nc\n", 1, 1},
		"very many same": {strings.Repeat("x\n", tool.MaxDiff), strings.Repeat("x\n", tool.MaxDiff) + "y\n", 1, 0},
	} {
		var m tool.Metadata
		m.CountLines(tt.before, tt.after)
		if *m.Added != tt.added || *m.Removed != tt.removed {
			t.Errorf("%s: +%d -%d", name, *m.Added, *m.Removed)
		}
	}
	if zero := (tool.Metadata{}); !zero.IsZero() {
		t.Error("a zero value has data")
	}
}
