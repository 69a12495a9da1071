package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/internal/text/terminal"
	"github.com/millhand/millhand/tools/cut"
)

// after calls the hooks after a call that was run.
func (env *Env) after(ctx context.Context, call Call, out Outcome) Outcome {
	for _, h := range env.Hooks {
		if h.After == nil || !h.For(out.Tool) {
			continue
		}
		seen := HookResult{
			Title: env.Redact.Held(out.Title), Output: env.Redact.Held(out.Output), Metadata: env.Redact.HeldJSON(out.Metadata.Custom), Error: env.Redact.Held(out.Error),
		}
		res := h.After(ctx, hookCall(out.Tool, call), seen)
		if res.Title != seen.Title {
			out.Title = cut.Title(res.Title)
		}
		if !bytes.Equal(res.Metadata, seen.Metadata) {
			out.Metadata.SetCustom(res.Metadata)
		}
		start := ""
		added, appended := strings.CutPrefix(res.Output, seen.Output)
		if appended { // also to a result that is as long as it may be
			start = seen.Output
		}
		added = strings.ToValidUTF8(added, "\uFFFD")
		b := env.outputs().Bound(terminal.Text(added), added, false)
		out.Output, out.Truncated = start+b.Text, b.Cut || out.Truncated
		if b.Path != "" && out.Metadata.OutputPath == "" {
			out.Metadata.OutputPath = b.Path
		}
	}
	return out
}

// readHooks marks the job if hooks around a call have printed something that a session is shown.
func (env *Env) readHooks(call, tool string, shown bool) {
	if len(env.Hooks) > 0 {
		env.Untrusted.Read(call, tool, env.Untrusted.OfOutput("hook", shown))
	}
}

func hookCall(tool string, call Call) HookCall {
	return HookCall{ID: call.ID, Tool: tool, Input: json.RawMessage(call.Input)}
}
