package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/terminal"
	"github.com/millhand/millhand/tools/cut"
)

// Hook is called around each call of a session. Its functions are for one session, may be nil, and are
// called by several goroutines.
type Hook struct {
	Rule   string // its name, as the deciding rule of a denial
	Source string // where it is defined
	// Before is called before the arguments are validated and the call is decided. It
	// returns the arguments that count from there on. An error denies the call; its text is for
	// the model.
	Before func(context.Context, HookCall) (json.RawMessage, error)
	// Ask is called for a call that the profile allows, with each permission that it needs. An
	// error denies the call.
	Ask func(context.Context, HookCall, permission.Request) error
	// After is called after a call that was run, and returns the result that counts.
	After func(context.Context, HookCall, HookResult) HookResult
	// Environ is called before a command of bash is run in a directory, and returns variables to add.
	Environ func(ctx context.Context, c HookCall, dir string) []string
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

// before calls the hooks before a call. input is what they made of the arguments, "" if that is
// nothing else than the model's.
func (env *Env) before(ctx context.Context, tool string, call Call) (input string, refused *permission.Decision) {
	for _, h := range env.Hooks {
		if h.Before == nil {
			continue
		}
		made, err := h.Before(ctx, hookCall(tool, call))
		if err != nil {
			return input, new(h.denial(permission.Need(permission.ForTool(tool), "*"), err))
		}
		if string(made) != call.Input {
			input = string(made)
			call.Input = input
		}
	}
	return input, nil
}

// ask calls the hooks for a call that the profile allows, by the decision d.
func (env *Env) ask(ctx context.Context, tool string, call Call, d permission.Decision, needs []permission.Request) permission.Decision {
	for _, h := range env.Hooks {
		if h.Ask == nil {
			continue
		}
		for _, need := range needs {
			if err := h.Ask(ctx, hookCall(tool, call), need); err != nil {
				return h.denial(need, err)
			}
		}
	}
	return d
}

// after calls the hooks after a call that was run.
func (env *Env) after(ctx context.Context, call Call, out Outcome) Outcome {
	for _, h := range env.Hooks {
		if h.After == nil {
			continue
		}
		seen := HookResult{env.Redact.Held(out.Title), env.Redact.Held(out.Output), env.Redact.HeldJSON(out.Metadata.Custom), env.Redact.Held(out.Error)}
		res := h.After(ctx, hookCall(out.Tool, call), seen)
		if res.Title != seen.Title {
			out.Title = cut.Title(res.Title)
		}
		if !bytes.Equal(res.Metadata, seen.Metadata) {
			out.Metadata.custom(res.Metadata)
		}
		start := ""
		added, appended := strings.CutPrefix(res.Output, seen.Output)
		if appended { // also to a result that is as long as it may be
			start = seen.Output
		}
		added = strings.ToValidUTF8(added, "\uFFFD")
		b := bound(env, terminal.Text(added), added, false)
		out.Output, out.Truncated = start+b.text, b.cut || out.Truncated
		if b.path != "" && out.Metadata.OutputPath == "" {
			out.Metadata.OutputPath = b.path
		}
	}
	return out
}

// environ returns the environment of a command of bash in a directory, with what hooks add.
func (env *Env) environ(ctx context.Context, dir string) []string {
	all := env.ChildEnv
	for _, h := range env.Hooks {
		if h.Environ == nil {
			continue
		}
		for _, entry := range h.Environ(ctx, HookCall{ID: callID(ctx), Tool: "bash"}, dir) {
			name, value, _ := strings.Cut(entry, "=")
			all = proc.Set(all, name, value)
		}
	}
	return all
}

func hookCall(tool string, call Call) HookCall {
	return HookCall{ID: call.ID, Tool: tool, Input: json.RawMessage(call.Input)}
}

// denial returns the decision of a hook that denies a permission.
func (h *Hook) denial(need permission.Request, why error) permission.Decision {
	return permission.Decision{Effect: permission.Deny, Request: need, Rule: h.Rule, Source: h.Source, Why: why.Error()}
}
