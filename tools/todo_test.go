package tools_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"

	"github.com/google/go-cmp/cmp"
)

func TestTodoWriteReplacesTheList(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	if out := s.Call("todoread", tooltest.Args{}); out.Output != "[]" || out.Title != "0 open todos" {
		t.Errorf("at first: %+v", out)
	}
	first := []tooltest.Args{
		{"content": "look", "status": "completed", "priority": "high"},
		{"content": "change", "status": "in_progress"},
		{"content": "check", "status": "pending", "priority": ""},
		{"content": "dream", "status": "cancelled"},
	}
	out := s.Call("todowrite", tooltest.Args{"todos": first})
	s.Want(out, tools.Completed, `"content": "change"`)
	if out.Title != "2 open todos" {
		t.Errorf("title %q", out.Title)
	}
	s.Want(s.Call("todowrite", tooltest.Args{"todos": []tooltest.Args{{"content": "rest", "status": "pending"}}}), tools.Completed)
	want := "[\n  {\n    \"content\": \"rest\",\n    \"status\": \"pending\"\n  }\n]"
	out = s.Call("todoread", tooltest.Args{})
	if diff := cmp.Diff(want, out.Output); diff != "" || out.Title != "1 open todo" {
		t.Errorf("%s: %s", out.Title, diff)
	}
	if diff := cmp.Diff([]tools.Todo{{Content: "rest", Status: "pending"}}, s.Env.Todos.List()); diff != "" {
		t.Error(diff)
	}
	s.Want(s.Call("todowrite", tooltest.Args{"todos": `[{"content": "as text", "status": "pending", "priority": null}]`}), tools.Completed)
	if diff := cmp.Diff([]tools.Todo{{Content: "as text", Status: "pending"}}, s.Env.Todos.List()); diff != "" {
		t.Error(diff)
	}
	s.Want(s.Call("todowrite", tooltest.Args{"todos": []tooltest.Args{}}), tools.Completed)
	if out := s.Call("todoread", tooltest.Args{}); out.Output != "[]" {
		t.Errorf("at last: %q", out.Output)
	}
}

func TestAnInvalidTodoListIsRejected(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	s.Want(s.Call("todowrite", tooltest.Args{"todos": []tooltest.Args{{"content": "stay", "status": "pending"}}}), tools.Completed)
	for _, tt := range []struct {
		todos any
		want  string
	}{
		{[]tooltest.Args{{"content": "a", "status": "pending"}, {"content": "b", "status": "done"}}, `todos.1.status: expected one of pending, in_progress, completed, cancelled, got "done"`},
		{[]tooltest.Args{{"content": "a", "status": ""}}, `todos.0.status: expected one of pending, in_progress, completed, cancelled, got ""`},
		{[]tooltest.Args{{"content": "a", "status": "pending", "priority": "urgent"}}, `todos.0.priority: expected one of high, medium, low, got "urgent"`},
		{[]tooltest.Args{{"content": "a"}}, "todos.0: missing required argument status"},
		{[]tooltest.Args{{"content": 1, "status": "pending"}}, "todos.0.content: expected string, got number"},
		{[]string{"a"}, "todos.0: expected object, got string"},
		{"a", "todos: expected array, got string"},
		{`[{"content": "a", "status": "pending"}`, "todos: expected array, got string"},
		{`[] []`, "todos: expected array, got string"},
		{`"[]"`, "todos: expected array, got string"},
		{`{}`, "todos: expected array, got object"},
		{`["a"]`, "todos.0: expected object, got string"},
		{strings.Repeat("[", 100) + strings.Repeat("]", 100), "todos: expected array, got string"},
		{nil, "todos: expected array, got null"},
	} {
		s.Want(s.Call("todowrite", tooltest.Args{"todos": tt.todos}), tools.Failed, tt.want)
	}
	if diff := cmp.Diff([]tools.Todo{{Content: "stay", Status: "pending"}}, s.Env.Todos.List()); diff != "" {
		t.Error(diff)
	}
}

func TestTodosAreSafeForConcurrentUse(t *testing.T) {
	var todos tools.Todos
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			todos.Set([]tools.Todo{{Content: "x"}})
			todos.List()
		})
	}
	group.Wait()
	list := todos.List()
	list[0].Content = "changed"
	if todos.List()[0].Content != "x" {
		t.Error("the list that was given out is the session's own")
	}
}
