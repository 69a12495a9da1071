package jshost

import (
	"context"
	"encoding/json"
	"fmt"
)

// ToolCall is a call of a tool.
type ToolCall struct {
	Name    string          `json:"name"`
	ID      string          `json:"call"`
	Session string          `json:"session"`
	Agent   string          `json:"agent"`
	Input   json.RawMessage `json:"input"`
}

// Permission is what a function asks for.
type Permission struct {
	Permission string   `json:"permission"`
	Patterns   []string `json:"patterns"`
}

// Result is the result of a tool.
type Result struct {
	Error       string          `json:"error,omitempty"` // what it threw; then the result has only the title and the metadata
	Title       string          `json:"title"`
	Output      string          `json:"output"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // an object
	Attachments []Attachment    `json:"attachments,omitempty"`
}

// Attachment is a file of a result.
type Attachment struct {
	MIME     string `json:"mime"`
	URL      string `json:"url"`
	Filename string `json:"filename"`
}

// HookedCall is a call that hooks are called for.
type HookedCall struct {
	Plugin  int             `json:"plugin"` // index of its module
	Tool    string          `json:"tool"`
	ID      string          `json:"call"`
	Session string          `json:"session"`
	Input   json.RawMessage `json:"input"`
}

// Call calls a tool. ask decides what the tool asks for. The result of a tool that fails has the title
// and the metadata that it reported before.
func (h *Host) Call(ctx context.Context, c ToolCall, ask func(Permission) error) (Result, error) {
	raw, err := h.call(ctx, "tool", c, h.config.CallTimeout, func(params json.RawMessage) error {
		var p Permission
		if err := json.Unmarshal(params, &p); err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		return ask(p)
	})
	var res Result
	if err == nil {
		err = json.Unmarshal(raw, &res)
	}
	if err == nil && res.Error != "" {
		err = &CallError{res.Error}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.info.Calls++
	if err != nil {
		h.info.Errors++
	}
	return res, err
}

// before calls the hook tool.execute.before of a plugin, and returns the arguments.
func (h *Host) before(ctx context.Context, c HookedCall) (json.RawMessage, error) {
	var res struct{ Input json.RawMessage }
	if err := h.hook(ctx, "before", c, &res); err != nil {
		return nil, err
	}
	return res.Input, nil
}

// after calls the hook tool.execute.after of a plugin with the result of a call, and returns what it
// made of it. Attachments are not given to it.
func (h *Host) after(ctx context.Context, c HookedCall, r Result) (made Result, err error) {
	err = h.hook(ctx, "after", struct {
		HookedCall
		Result
	}{c, r}, &made)
	return made, err
}

// Allowed is the status of a permission that no hook objects to. Others are deny, ask, or what a
// plugin made of it.
const Allowed = "allow"

// ask calls the hook permission.ask of a plugin, and returns the status of the permission.
func (h *Host) ask(ctx context.Context, c HookedCall, p Permission) (status string, err error) {
	var res struct{ Status string }
	err = h.hook(ctx, "ask", struct {
		HookedCall
		Permission
	}{c, p}, &res)
	return res.Status, err
}

// env calls the hook shell.env of a plugin, and returns the variables that it adds.
func (h *Host) env(ctx context.Context, c HookedCall, dir string) (map[string]string, error) {
	var res struct{ Env map[string]string }
	err := h.hook(ctx, "env", struct {
		HookedCall
		Dir string `json:"cwd"`
	}{c, dir}, &res)
	return res.Env, err
}

// Change calls a hook of all plugins that changes its output, in their order, and returns the last
// output. A plugin whose hook fails changes nothing, and its error is one of the problems.
func (h *Host) Change(ctx context.Context, hook string, input, output any) (made json.RawMessage, problems []string, err error) {
	var res struct {
		Output   json.RawMessage
		Problems []string
	}
	err = h.hook(ctx, "change", map[string]any{"hook": hook, "input": input, "output": output}, &res)
	return res.Output, res.Problems, err
}

// Tell calls the hook event of all plugins, if the process runs.
func (h *Host) Tell(ctx context.Context, event any) error {
	h.mu.Lock()
	c, runs := h.live, !h.paused && !h.closed
	h.mu.Unlock()
	if !runs {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.config.HookTimeout, fmt.Errorf("timed out after %s", h.config.HookTimeout))
	defer cancel()
	_, err := c.call(ctx, "event", event, nil)
	return err
}

func (h *Host) hook(ctx context.Context, method string, params, result any) error {
	raw, err := h.call(ctx, method, params, h.config.HookTimeout, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return &Fault{fmt.Errorf("read the result of a hook: %w", err)}
	}
	return nil
}
