package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// maxStuck is how often a required before_tool hook may not start or time out before the job
// ends: it can be a guard, and all calls would be denied.
const maxStuck = 2

// Around returns the hooks around the calls of a session.
func (s *Set) Around(session, agent string) (all []tools.Hook) {
	for _, on := range []tasks.HookEvent{tasks.BeforeTool, tasks.AfterTool} {
		for _, h := range s.on(on) {
			in := h.config.Input
			in.Session, in.Agent = session, agent
			one := tools.Hook{Rule: "hook " + h.spec.Name, Source: h.spec.Source, Tools: h.spec.Tools}
			if on == tasks.BeforeTool {
				one.Before = func(ctx context.Context, c tools.HookCall) (json.RawMessage, error) {
					return c.Input, h.before(ctx, c, in)
				}
			} else {
				one.After = func(ctx context.Context, c tools.HookCall, r tools.HookResult) tools.HookResult {
					return h.after(ctx, c, r, in)
				}
			}
			all = append(all, one)
		}
	}
	return all
}

// before runs a before_tool hook. An error denies the call, and its text is the reason.
func (h *hook) before(ctx context.Context, c tools.HookCall, in Input) error {
	out, f := h.run(ctx, in.of(c))
	switch {
	case f == nil:
		return h.objection([]byte(out))
	case ctx.Err() != nil:
		return errors.New("the call was interrupted")
	case h.denied(f):
		return errors.New(cmp.Or(f.stderr, "no reason given"))
	case h.spec.Optional:
		h.config.Warn(f.Error() + "; the call continues")
		return nil
	}
	if f.stuck && h.isStuck() {
		h.fail(f)
		h.config.Stop(f.Error())
	}
	return f
}

// objection returns the denial that a before_tool hook of other agents prints as a JSON object instead
// of its exit code; nil for all other output. A request for approval is one, because nobody can give it.
func (h *hook) objection(out []byte) error {
	type verdict struct {
		Decision           string `json:"decision"`
		Permission         string `json:"permission"`
		PermissionDecision string `json:"permissionDecision"`
		Reason             string `json:"reason"`
		PermissionReason   string `json:"permissionDecisionReason"`
	}
	var printed struct {
		verdict
		Continue *bool   `json:"continue"`
		Specific verdict `json:"hookSpecificOutput"`
	}
	json.Unmarshal(out, &printed) //nolint:errcheck // what can be read of it counts: it can be a guard's
	reason := h.text([]byte(cmp.Or(printed.Specific.PermissionReason, printed.Reason, printed.PermissionReason, printed.Specific.Reason)))
	for _, a := range []verdict{printed.verdict, printed.Specific} {
		for _, word := range []string{a.Decision, a.Permission, a.PermissionDecision} {
			switch strings.ToLower(word) {
			case "ask":
				return errors.New("it asks for approval, which nobody can give in an unattended run: " + cmp.Or(reason, "no reason given"))
			case "deny", "block":
				return errors.New(cmp.Or(reason, "no reason given"))
			}
		}
	}
	if printed.Continue != nil && !*printed.Continue {
		return errors.New(cmp.Or(reason, "no reason given"))
	}
	return nil
}

func (h *hook) isStuck() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stuck >= maxStuck
}

// after runs an after_tool hook, and appends its standard output to the result. A failure
// ends the job.
func (h *hook) after(ctx context.Context, c tools.HookCall, r tools.HookResult, in Input) tools.HookResult {
	in = in.of(c)
	in.Result = &Result{r.Title, r.Output, r.Error}
	out, f := h.run(ctx, in)
	switch {
	case f == nil:
		if out = strings.TrimRight(out, "\r\n"); out != "" {
			r.Output = appended(r.Output, out)
		}
	case ctx.Err() != nil:
	case h.spec.Optional:
		h.config.Warn(f.Error())
	default:
		h.fail(f)
		h.config.Stop(f.Error())
	}
	return r
}

// appended returns a result with an empty line and a text after it.
func appended(result, text string) string {
	switch {
	case result == "" || strings.HasSuffix(result, "\n\n"):
		return result + text
	case strings.HasSuffix(result, "\n"):
		return result + "\n" + text
	}
	return result + "\n\n" + text
}
