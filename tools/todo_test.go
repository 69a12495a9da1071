package tools

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTodoWriteReplacesTheList(t *testing.T) {
	s := setUp(t, "readonly", nil)
	if out := s.call("todoread", args{}); out.Output != "[]" || out.Title != "0 open todos" {
		t.Errorf("at first: %+v", out)
	}
	first := []args{
		{"content": "look", "status": "completed", "priority": "high"},
		{"content": "change", "status": "in_progress"},
		{"content": "check", "status": "pending", "priority": ""},
		{"content": "dream", "status": "cancelled"},
	}
	out := s.call("todowrite", args{"todos": first})
	s.want(out, Completed, `"content": "change"`)
	if out.Title != "2 open todos" {
		t.Errorf("title %q", out.Title)
	}
	s.want(s.call("todowrite", args{"todos": []args{{"content": "rest", "status": "pending"}}}), Completed)
	want := "[\n  {\n    \"content\": \"rest\",\n    \"status\": \"pending\"\n  }\n]"
	out = s.call("todoread", args{})
	if diff := cmp.Diff(want, out.Output); diff != "" || out.Title != "1 open todo" {
		t.Errorf("%s: %s", out.Title, diff)
	}
	if diff := cmp.Diff([]Todo{{Content: "rest", Status: "pending"}}, s.env.Todos.List()); diff != "" {
		t.Error(diff)
	}
	s.want(s.call("todowrite", args{"todos": `[{"content": "as text", "status": "pending", "priority": null}]`}), Completed)
	if diff := cmp.Diff([]Todo{{Content: "as text", Status: "pending"}}, s.env.Todos.List()); diff != "" {
		t.Error(diff)
	}
	s.want(s.call("todowrite", args{"todos": []args{}}), Completed)
	if out := s.call("todoread", args{}); out.Output != "[]" {
		t.Errorf("at last: %q", out.Output)
	}
}

func TestAnInvalidTodoListIsRejected(t *testing.T) {
	s := setUp(t, "readonly", nil)
	s.want(s.call("todowrite", args{"todos": []args{{"content": "stay", "status": "pending"}}}), Completed)
	for _, tt := range []struct {
		todos any
		want  string
	}{
		{[]args{{"content": "a", "status": "pending"}, {"content": "b", "status": "done"}}, `todos.1.status: expected one of pending, in_progress, completed, cancelled, got "done"`},
		{[]args{{"content": "a", "status": ""}}, `todos.0.status: expected one of pending, in_progress, completed, cancelled, got ""`},
		{[]args{{"content": "a", "status": "pending", "priority": "urgent"}}, `todos.0.priority: expected one of high, medium, low, got "urgent"`},
		{[]args{{"content": "a"}}, "todos.0: missing required argument status"},
		{[]args{{"content": 1, "status": "pending"}}, "todos.0.content: expected string, got number"},
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
		s.want(s.call("todowrite", args{"todos": tt.todos}), Failed, tt.want)
	}
	if diff := cmp.Diff([]Todo{{Content: "stay", Status: "pending"}}, s.env.Todos.List()); diff != "" {
		t.Error(diff)
	}
}

func TestTodosAreSafeForConcurrentUse(t *testing.T) {
	var todos Todos
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			todos.set([]Todo{{Content: "x"}})
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
