package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/terminal"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/tool"
)

// Status is the final status of a call.
type Status string

// The statuses of calls.
const (
	Completed Status = "completed"
	Failed    Status = "error"
	Denied    Status = "denied"
)

// Call is a tool call as a model wrote it.
type Call struct {
	ID    string
	Name  string
	Input string
}

// Outcome is the outcome of a call. Text and Attachments are for the model; the
// other fields are for the record.
type Outcome struct {
	Tool      string // name of the tool, in its own case
	Extension string // see [Spec]
	Input     string // the arguments, if a hook replaced those of the call; else ""
	Status    Status
	Decision  *permission.Decision // nil if the call failed before the decision
	Title     string
	Output    string
	Error     string // empty only if Completed
	Metadata  Metadata
	Stack     string // of a tool that panicked
	Bytes     int64  // size of the full output
	Truncated bool
	Cached    bool // the result is that of an earlier identical call
	Diagnosed bool // language servers have added errors to the result
	// Attachments are sent to the model in addition to the text.
	Attachments []Attachment
}

// Text returns the result as the model reads it.
func (o Outcome) Text() string {
	if o.Status == Completed {
		return o.Output
	}
	if o.Output == "" {
		return "Error: " + o.Error
	}
	return "Error: " + o.Error + "\n\n" + o.Output
}

// Dispatch runs one call, from the lookup of its tool to the truncated result.
// running is called once before an allowed call runs; it may be nil.
func (r *Registry) Dispatch(ctx context.Context, env *Env, call Call, running func(title string)) Outcome {
	out := r.run(ctx, env, call, running)
	out.Title, out.Output, out.Error = env.Redact.Held(out.Title), env.Redact.Held(out.Output), env.Redact.Held(out.Error)
	out.Metadata.Custom = env.Redact.HeldJSON(out.Metadata.Custom)
	return out
}

func (r *Registry) run(ctx context.Context, env *Env, call Call, running func(title string)) Outcome {
	if env.Complete != nil {
		if err := env.Complete(ctx, env); err != nil {
			return fail(Outcome{Tool: call.Name, Status: Failed}, err)
		}
	}
	env = env.now()
	t, ok := r.lookup(call.Name)
	if !ok {
		return r.unknown(env, call)
	}
	out := Outcome{Tool: t.Spec().Name, Extension: t.Spec().Extension, Status: Failed}
	if hidden := permission.ForTool(out.Tool); env.Profile.Hides(hidden) {
		return deny(out, env.Profile.Decide(permission.Need(hidden, "*")))
	}
	before, refused := env.Hooks.Before(ctx, hookCall(t.Spec().Name, call))
	if out.Input = before; before != "" {
		call.Input = before
	}
	env.readHooks(call.ID, out.Tool, refused != nil)
	if refused != nil {
		return deny(out, *refused)
	}
	pending, out, ok := allowed(ctx, env, t, call, out)
	if !ok {
		return out
	}
	if running != nil {
		running(out.Title)
	}
	out = env.cached(t.Spec(), call.Input, *out.Decision, func() Outcome {
		res, err := perform(tool.WithCallID(ctx, call.ID), t.Spec(), pending)
		if err != nil {
			out = fail(out, err)
		} else {
			out.Status = Completed
		}
		if env.Commands.Fault != nil && proc.IsMachine(err) {
			env.Commands.Fault(err)
		}
		return finish(env, out, res)
	})
	env.Untrusted.Read(call.ID, out.Tool, env.Untrusted.After(t.Spec(), out.Metadata, out.Diagnosed))
	out.Input = before // also of a result from the cache
	shown := env.after(ctx, call, out)
	env.readHooks(call.ID, out.Tool, shown.Output != out.Output)
	return shown
}

// allowed prepares a call and decides it; out is the outcome of one that is not ok, and must not run. A call that reads untrusted
// content must also be allowed by the rights that the job has after it. If it is, it marks the job, and is prepared and decided again.
func allowed(ctx context.Context, env *Env, t Tool, call Call, out Outcome) (pending Pending, _ Outcome, ok bool) {
	pending, err := prepare(t, env, call)
	if err != nil {
		return pending, fail(out, err), false
	}
	out.Title = cut.Title(pending.Title)
	d := env.Profile.DecideAll(pending.Needs)
	if d.Allowed() {
		d = env.Hooks.Ask(ctx, hookCall(out.Tool, call), d, pending.Needs)
		env.readHooks(call.ID, out.Tool, !d.Allowed())
	}
	if out.Decision = &d; !d.Allowed() {
		return pending, deny(out, d), false
	}
	why := env.Untrusted.Before(t.Spec(), pending)
	if why == "" {
		return pending, out, true
	}
	if left := env.Untrusted.Left(env.Profile).DecideAll(pending.Needs); !left.Allowed() { // it reads nothing, and marks nothing
		left.Why = cmp.Or(left.Why, why)
		return pending, deny(out, left), false
	}
	env.Untrusted.Read(call.ID, out.Tool, why)
	env = env.now()
	if pending, err = prepare(t, env, call); err != nil { // it was concealed
		return pending, fail(out, err), false
	}
	if left := env.Profile.DecideAll(pending.Needs); !left.Allowed() {
		return pending, deny(out, left), false
	}
	return pending, out, true
}

// prepare lets a tool read its arguments.
func prepare(tool Tool, env *Env, call Call) (p Pending, err error) {
	defer recoverPanic(tool.Spec(), &err)
	return tool.Prepare(env, json.RawMessage(call.Input))
}

// perform runs a call under its deadline.
func perform(ctx context.Context, spec Spec, p Pending) (res Result, err error) {
	defer recoverPanic(spec, &err)
	if spec.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, spec.Deadline, errDeadline{spec.Deadline})
		defer cancel()
	}
	res, err = p.Do(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return res, err
}

// recoverPanic, deferred, turns a panic of a tool into an error of the call.
func recoverPanic(spec Spec, err *error) {
	if r := recover(); r != nil {
		*err = errPanic{spec.Name, fmt.Sprint(r), string(debug.Stack())}
	}
}

// errPanic is the error of a tool that panicked; the stack is for the record.
type errPanic struct{ tool, value, stack string }

// Error is written for the model.
func (e errPanic) Error() string {
	return fmt.Sprintf("tool %s failed: internal error in millhand (%s); this is a bug, try another tool", e.tool, e.value)
}

// errDeadline is the error of a call that exceeded its tool's deadline.
type errDeadline struct{ after time.Duration }

// Error is written for the model.
func (e errDeadline) Error() string {
	return fmt.Sprintf("tool call timed out after %s; narrow the request", e.after)
}

// finish copies a tool's result, truncated, into the outcome.
func finish(env *Env, out Outcome, res Result) Outcome {
	if res.Title != "" {
		out.Title = cut.Title(res.Title)
	}
	if res.Extension != "" {
		out.Extension = res.Extension
	}
	out.Metadata, out.Diagnosed = res.Metadata, res.Diagnosed
	out.Attachments = res.Attachments
	out.Output, out.Truncated = strings.ToValidUTF8(res.Output, "\uFFFD"), res.Cut
	out.Bytes = max(res.Bytes, int64(len(res.Output)))
	if !res.Bounded {
		shown := out.Output
		if res.Terminal {
			shown = terminal.Text(shown)
		}
		b := env.outputs().Bound(shown, out.Output, res.Tail)
		out.Output, out.Truncated = b.Text, b.Cut || res.Cut
		if b.Path != "" {
			out.Metadata.OutputPath = b.Path
		}
	}
	return out
}

func fail(out Outcome, err error) Outcome {
	out.Status, out.Error = Failed, cut.Message(err.Error())
	if errors.Is(err, context.Canceled) {
		out.Error = "tool call interrupted"
	}
	if p := (errPanic{}); errors.As(err, &p) {
		out.Stack = p.stack
	}
	if d := (*permission.Error)(nil); errors.As(err, &d) {
		return deny(out, d.Decision)
	}
	if out.Error == "" {
		out.Error = "tool failed without an error message"
	}
	return out
}

func deny(out Outcome, d permission.Decision) Outcome {
	out.Status, out.Error, out.Decision = Denied, cut.Message(d.Denial()), &d
	return out
}

// unknown handles a call of a tool that does not exist in this session; if the
// profile denies it, the call is denied.
func (r *Registry) unknown(env *Env, call Call) Outcome {
	out := Outcome{Tool: "invalid", Title: "invalid tool"}
	if NeedsLanguageServers(call.Name) { // also if the profile denies it: another rule would not help
		return fail(out, fmt.Errorf("tool %q is not supported; find definitions and references with grep, and errors with the project's own commands", call.Name))
	}
	if name := strings.ToLower(plainToolName(call.Name)); slices.Contains(permission.Tools(), name) && env.Profile.Hides(permission.ForTool(name)) {
		out.Tool, out.Title = name, ""
		return deny(out, env.Profile.Decide(permission.Need(permission.ForTool(name), "*")))
	}
	if permission.RequiresUser(call.Name) {
		return fail(out, fmt.Errorf("tool %q is not available: this is a non-interactive run and nobody can answer; decide yourself and state your assumptions in the final message", call.Name))
	}
	if why := unavailableReason(call.Name); why != "" {
		return fail(out, fmt.Errorf("tool %q is not available: %s", call.Name, why))
	}
	return fail(out, fmt.Errorf("tool %q not found; available tools: %s", cut.Title(call.Name), strings.Join(r.Offered(env.Profile), ", ")))
}

// NeedsLanguageServers reports whether a name is that of a tool that only sessions with language servers have.
func NeedsLanguageServers(name string) bool {
	return strings.EqualFold(plainToolName(name), "lsp")
}

// unavailableReason returns why a session lacks one of millhand's tools.
func unavailableReason(name string) string {
	switch strings.ToLower(plainToolName(name)) {
	case "websearch", "codesearch":
		return "no search backend is configured; use your own knowledge and the files in the workspace"
	case "task":
		return "no subagents can be started in this session; do the work yourself"
	case "skill":
		return "this session has no skills; use the files in the workspace"
	case "batch":
		return "it is not enabled; make the calls separately, or several in one turn"
	}
	return ""
}
