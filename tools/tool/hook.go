package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
)

// Hook is called around each call of a session. Its functions are for one session, may be nil, and are
// called by several goroutines.
type Hook struct {
	Rule   string // its name, as the deciding rule of a denial
	Source string // where it is defined
	// Tools are the names of the tools that Before and After are called for, with wildcards; none for all.
	Tools []string
	// Before is called before the arguments are validated and the call is decided. It
	// returns the arguments that count from there on. An error denies the call; its text is for
	// the model.
	Before func(context.Context, HookCall) (json.RawMessage, error)
	// Ask is called for a call that the profile allows, with each permission that it needs. An
	// error denies the call.
	Ask func(ctx context.Context, id, tool string, input json.RawMessage, need permission.Request) error
	// After is called after a call that was run, and returns the result that counts.
	After func(context.Context, HookCall, HookResult) HookResult
	// Environ is called before a command of bash is run in a directory, and returns variables to add.
	Environ func(ctx context.Context, id, dir string) []string
}

// For reports whether the hook is called around calls of a tool. Letter case does not matter, nor which of its
// names a built-in tool has: a guard that matches nothing would deny nothing.
func (h *Hook) For(tool string) bool {
	return len(h.Tools) == 0 || slices.ContainsFunc(h.Tools, func(pattern string) bool {
		return permission.Match(permission.Alias(strings.ToLower(pattern)), strings.ToLower(tool))
	})
}

// HookCall is a call as hooks see it.
type HookCall struct {
	ID, Tool string
	Input    json.RawMessage // an object, or what the model wrote instead
}

// HookResult is the result of a call as hooks see it: without secrets, truncated. What
// they change or append is truncated again.
type HookResult struct {
	Title  string
	Output string // of a failed call: in addition to its error
	// Metadata is a JSON object that a tool file or a plugin reported; empty for none.
	Metadata json.RawMessage
	Error    string // "" if the call completed; changes are ignored
}

// Hooks are called in their order.
type Hooks []Hook

// Before calls the hooks before a call. input is what they made of the arguments, "" if that is
// nothing else than the model's.
func (hooks Hooks) Before(ctx context.Context, c HookCall) (input string, refused *permission.Decision) {
	for _, h := range hooks {
		if h.Before == nil || !h.For(c.Tool) {
			continue
		}
		made, err := h.Before(ctx, c)
		if err != nil {
			return input, new(h.denial(permission.Need(permission.ForTool(c.Tool), "*"), err))
		}
		if !bytes.Equal(made, c.Input) {
			input, c.Input = string(made), made
		}
	}
	return input, nil
}

// Ask calls the hooks for a call that the profile allows, by the decision d.
func (hooks Hooks) Ask(ctx context.Context, c HookCall, d permission.Decision, needs []permission.Request) permission.Decision {
	for _, h := range hooks {
		if h.Ask == nil {
			continue
		}
		for _, need := range needs {
			if err := h.Ask(ctx, c.ID, c.Tool, c.Input, need); err != nil {
				return h.denial(need, err)
			}
		}
	}
	return d
}

// Environ returns the environment of a command of bash in a directory, with what hooks add.
func (hooks Hooks) Environ(ctx context.Context, environ []string, dir string) []string {
	for _, h := range hooks {
		if h.Environ == nil {
			continue
		}
		for _, entry := range h.Environ(ctx, CallID(ctx), dir) {
			name, value, _ := strings.Cut(entry, "=")
			environ = proc.Set(environ, name, value)
		}
	}
	return environ
}

// denial returns the decision of a hook that denies a permission.
func (h *Hook) denial(need permission.Request, why error) permission.Decision {
	return permission.Decision{Effect: permission.Deny, Request: need, Rule: h.Rule, Source: h.Source, Why: why.Error()}
}
