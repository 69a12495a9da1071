package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed todowrite.md
var todoWriteDescription string

//go:embed todoread.md
var todoReadDescription string

// Todo is one entry of a session's todo list.
type Todo struct {
	Content  string `json:"content" jsonschema:"description of the step"`
	Status   string `json:"status" enum:"pending,in_progress,completed,cancelled" jsonschema:"state of the step"`
	Priority string `json:"priority,omitempty" enum:"high,medium,low" jsonschema:"priority of the step"`
}

// Todos is a session's todo list. The zero value is an empty list. It is safe
// for concurrent use.
type Todos struct {
	mu   sync.Mutex
	list []Todo
}

// List returns a copy of the list.
func (t *Todos) List() []Todo {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.list)
}

func (t *Todos) set(list []Todo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = list
}

type todoWriteInput struct {
	Todos []Todo `json:"todos" jsonschema:"complete todo list; replaces the previous one"`
}

func todoWriteTool() Tool {
	return tool.Define(Spec{Name: "todowrite", Description: todoWriteDescription, Internal: true, Deadline: time.Minute}, prepareTodoWrite)
}

func prepareTodoWrite(env *Env, in todoWriteInput) (Pending, error) {
	return Pending{Needs: needTodo("todowrite"), Title: todoTitle(in.Todos), Do: func(context.Context) (Result, error) {
		env.Todos.set(in.Todos)
		return todoResult(in.Todos)
	}}, nil
}

func todoReadTool() Tool {
	return tool.Define(Spec{Name: "todoread", Description: todoReadDescription, ReadOnly: true, Deadline: time.Minute}, prepareTodoRead)
}

func prepareTodoRead(env *Env, _ struct{}) (Pending, error) {
	return Pending{Needs: needTodo("todoread"), Do: func(context.Context) (Result, error) {
		return todoResult(env.Todos.List())
	}}, nil
}

func needTodo(tool string) []permission.Request {
	return []permission.Request{permission.Need(tool, "*")}
}

func todoResult(list []Todo) (Result, error) {
	if list == nil {
		list = []Todo{}
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return Result{}, fmt.Errorf("encode todo list: %w", err)
	}
	return Result{Title: todoTitle(list), Output: string(text)}, nil
}

func todoTitle(list []Todo) string {
	open := 0
	for _, t := range list {
		if t.Status == "pending" || t.Status == "in_progress" {
			open++
		}
	}
	return figures.Count(open, "open todo")
}
