package extension

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/jshost"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// Scripts are the tool files and plugins of a job.
type Scripts struct {
	tasks.Scripts
	// Modules are the tool files and then the plugins. Optional[i] is whether the job
	// continues without Modules[i].
	Load     jshost.Load
	Optional []bool
	Command  proc.Command // starts their process
	Failed   error        // why it can't be started; nil if it can
	// Fail ends the job: a plugin that may be a guard does not work.
	Fail func(error)
}

// host is the process of the tool files and plugins of a job. A nil host has none.
type host struct {
	config    *Config
	scripts   *Scripts
	live      *jshost.Host // nil if it was not started
	loaded    []jshost.Loaded
	listeners *listeners // nil without a hook event
	failed    error
	offered   int
	state     event.Extension // without the counts of live

	mu     sync.Mutex
	faults int  // of hooks that may be guards
	told   bool // a variable of a hook was refused
	// quiet has the hooks of [Chat] that are not called again, and their warnings.
	quiet map[string]bool
}

// kindJS is the kind of the host in reports, and its name.
const kindJS = "js"

// NotCompiled returns the state of the host of tool files and plugins that could not be compiled.
func NotCompiled(err error) event.Extension {
	return event.Extension{Kind: kindJS, Name: kindJS, Status: event.ExtensionFailed, Error: textcut.Head(err.Error(), maxError, "...")}
}

// start starts the process.
func (h *host) start(ctx context.Context) {
	if h.failed = h.scripts.Failed; h.failed != nil {
		return
	}
	h.live, h.loaded, h.failed = jshost.Start(ctx, jshost.Config{
		Command: h.scripts.Command, Load: h.scripts.Load, CallTimeout: h.scripts.CallTimeout, HookTimeout: h.scripts.HookTimeout, Now: h.config.Now,
	})
}

// settle returns the error of a host that did not start or load what the job needs.
func (h *host) settle() error {
	if h == nil {
		return nil
	}
	err := h.failed
	for i, l := range h.loaded {
		name := h.scripts.Load.Entries[i].Name
		for _, p := range l.Problems {
			h.config.Warn(name + ": " + p)
		}
		switch {
		case l.Error == "":
		case h.scripts.Optional[i]:
			h.config.Warn(fmt.Sprintf("%s is not loaded: %s; the job continues without it", name, l.Error))
		default:
			err = errors.Join(err, fmt.Errorf("%s is not loaded: %s", name, l.Error))
		}
	}
	err = errors.Join(err, h.checkNames())
	h.state = event.Extension{Kind: kindJS, Name: kindJS, Status: event.ExtensionReady, ToolsOffered: h.offered}
	if err != nil {
		h.state.Status = event.ExtensionFailed
		if h.live != nil {
			if tail := lastLines(h.live.Info().Stderr); tail != "" {
				err = fmt.Errorf("%w; standard error: %s", err, tail)
			}
		}
		err = fmt.Errorf("tool files and plugins: %w; fix tools_from or plugins", err)
		h.state.Error = textcut.Head(err.Error(), maxError, "...")
	}
	h.emit()
	if err == nil && slices.ContainsFunc(h.loaded, func(l jshost.Loaded) bool { return slices.Contains(l.Hooks, "event") }) {
		h.listeners = &listeners{host: h.live, limit: h.scripts.HookTimeout}
	}
	return err
}

// pause ends the process after the plugins have been told what happened.
func (h *host) pause() {
	if h == nil || h.live == nil {
		return
	}
	if h.listeners != nil {
		h.listeners.drain()
	}
	h.live.Pause()
}

// checkNames returns an error for tools whose names are in use.
func (h *host) checkNames() error {
	var errs []error
	seen := map[string]bool{}
	for _, l := range h.loaded {
		for _, t := range l.Tools {
			lower := strings.ToLower(t.Name)
			if seen[lower] || h.config.taken(t.Name) {
				errs = append(errs, fmt.Errorf("%s: the tool name %s is in use", t.Owner, t.Name))
			}
			if seen[lower] = true; !validName(t.Name) {
				errs = append(errs, fmt.Errorf("%s: invalid tool name %q: use up to 64 letters, digits, _ and -", t.Owner, textcut.Head(t.Name, maxMethod, "...")))
			}
			if !h.config.Profiles[0].Hides(t.Name) {
				h.offered++
			}
		}
	}
	return errors.Join(errs...)
}

// validName reports whether every provider accepts the name of a tool.
func validName(name string) bool {
	return name != "" && len(name) <= 64 && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) < 0
}

// offers returns how many tools the main session is offered.
func (h *host) offers() int {
	if h == nil {
		return 0
	}
	return h.offered
}

// has reports whether the name of a tool is one of a tool file or a plugin.
func (h *host) has(name string) bool {
	return h != nil && slices.ContainsFunc(h.loaded, func(l jshost.Loaded) bool {
		return slices.ContainsFunc(l.Tools, func(t jshost.Tool) bool { return strings.EqualFold(t.Name, name) })
	})
}

// tools returns the tools for a session.
func (h *host) tools(session, agent string) []tools.Tool {
	if h == nil {
		return nil
	}
	var all []tools.Tool
	for _, l := range h.loaded {
		for _, t := range l.Tools {
			all = append(all, tools.NewExternal(tools.External{
				Name: t.Name, Description: t.Description, Extension: kindJS, Schema: t.Schema, Checks: t.Checks,
				Call: func(ctx context.Context, c tools.ExternalCall) (tools.ExternalResult, error) {
					res, err := h.live.Call(ctx, jshost.ToolCall{Name: t.Name, ID: c.ID, Session: session, Agent: agent, Input: c.Arguments}, func(p jshost.Permission) error {
						return decide(c.Decide, p)
					})
					return result(res), err
				},
			}))
		}
	}
	return all
}

// decide decides what a tool asks for: one permission for each pattern.
func decide(by func(permission.Request) permission.Decision, p jshost.Permission) error {
	patterns := p.Patterns
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	for _, pattern := range patterns {
		if d := by(permission.Need(permission.ForTool(p.Permission), pattern)); !d.Allowed() {
			return errors.New(d.Denial())
		}
	}
	return nil
}

// result returns the result of a tool. Only images that it contains are attached.
func result(res jshost.Result) tools.ExternalResult {
	out := tools.ExternalResult{Title: res.Title, Text: res.Output, Metadata: res.Metadata}
	for _, a := range res.Attachments {
		head, data, found := strings.Cut(a.URL, ";base64,")
		image, err := base64.StdEncoding.DecodeString(data)
		if !found || err != nil || !strings.HasPrefix(head, "data:") {
			out.Text += fmt.Sprintf("\n(attachment %s, %s: not a data URL)", textcut.OneLine(a.Filename), textcut.OneLine(a.MIME))
			continue
		}
		out.Images = append(out.Images, tools.Attachment{MIME: a.MIME, Data: image})
	}
	return out
}

// hooks returns the hooks of the plugins for a session, in their order.
func (h *host) hooks(session string) []tools.Hook {
	if h == nil {
		return nil
	}
	var all []tools.Hook
	for i, l := range h.loaded {
		entry := h.scripts.Load.Entries[i]
		if l.Error != "" || !entry.Plugin {
			continue
		}
		p := &plugin{host: h, index: i, name: entry.Name, session: session}
		hook := tools.Hook{Rule: "plugin " + entry.Base, Source: entry.Name}
		for _, name := range l.Hooks {
			switch name {
			case "tool.execute.before":
				hook.Before = p.before
			case "tool.execute.after":
				hook.After = p.after
			case "permission.ask":
				hook.Ask = p.ask
			case "shell.env":
				hook.Environ = p.environ
			}
		}
		all = append(all, hook)
	}
	return all
}

// plugin are the hooks of a plugin for a session.
type plugin struct {
	host    *host
	index   int
	name    string
	session string
}

func (p *plugin) call(c tools.HookCall) jshost.HookedCall {
	input := c.Input
	if !json.Valid(input) {
		input = nil
	}
	return jshost.HookedCall{Plugin: p.index, Tool: c.Tool, ID: c.ID, Session: p.session, Input: input}
}

func (p *plugin) before(ctx context.Context, c tools.HookCall) (json.RawMessage, error) {
	if !isObject(c.Input) {
		return c.Input, nil // the call fails
	}
	made, err := p.host.live.Before(ctx, p.call(c))
	if err != nil {
		return nil, p.guard(ctx, err)
	}
	if sameJSON(made, c.Input) {
		return c.Input, nil
	}
	return made, nil
}

func (p *plugin) ask(ctx context.Context, c tools.HookCall, r permission.Request) error {
	status, err := p.host.live.Ask(ctx, p.call(c), jshost.Permission{Permission: r.Permission, Patterns: r.Subjects})
	switch {
	case err != nil:
		return p.guard(ctx, err)
	case status == jshost.Allowed:
		return nil
	case status == "ask":
		return errors.New("its hook permission.ask asks for approval, which nobody can give in an unattended run")
	}
	return errors.New("denied by its hook permission.ask")
}

// guard returns the reason of a denial. A plugin that does not work denies its calls, and ends
// the job the second time.
func (p *plugin) guard(ctx context.Context, err error) error {
	if !errors.As(err, new(*jshost.Fault)) || ctx.Err() != nil {
		return err
	}
	err = fmt.Errorf("the plugin does not work: %w", err)
	p.host.mu.Lock()
	p.host.faults++
	again := p.host.faults > 1
	p.host.mu.Unlock()
	if again {
		p.host.scripts.Fail(fmt.Errorf("plugin %s: %w, for the second time", p.name, err))
	}
	return err
}

func (p *plugin) after(ctx context.Context, c tools.HookCall, r tools.HookResult) tools.HookResult {
	if r.Error != "" {
		return r
	}
	made, err := p.host.live.After(ctx, p.call(c), jshost.Result{Title: r.Title, Output: r.Output, Metadata: r.Metadata})
	if err != nil {
		p.host.config.Warn(fmt.Sprintf("plugin %s: hook tool.execute.after: %v", p.name, err))
		return r
	}
	if len(r.Metadata) == 0 && sameJSON(made.Metadata, json.RawMessage("{}")) { // the plugin added nothing
		made.Metadata = nil
	}
	return tools.HookResult{Title: made.Title, Output: made.Output, Metadata: made.Metadata}
}

func (p *plugin) environ(ctx context.Context, c tools.HookCall, dir string) []string {
	env, err := p.host.live.Env(ctx, p.call(c), dir)
	if err != nil {
		p.host.config.Warn(fmt.Sprintf("plugin %s: hook shell.env: %v", p.name, err))
		return nil
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if ownVariable(name) {
			p.refused(name)
		} else {
			all = append(all, name+"="+env[name])
		}
	}
	return all
}

// refused warns once of a variable that a plugin can't set.
func (p *plugin) refused(name string) {
	p.host.mu.Lock()
	first := !p.host.told
	p.host.told = true
	p.host.mu.Unlock()
	if first {
		p.host.config.Warn(fmt.Sprintf("plugin %s: its hook shell.env can't set %s", p.name, textcut.OneLine(textcut.Head(name, maxMethod, "..."))))
	}
}

// ownVariable reports whether a variable is not for plugins: it decides what runs, and with which
// access.
func ownVariable(name string) bool {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return true
	}
	for _, prefix := range []string{"LD_", "GIT_", "MILLHAND_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "PATH" || name == "HOME"
}

// isObject reports whether a text is a JSON object.
func isObject(text json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(text, &object) == nil && object != nil
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	one, _ := json.Marshal(x)   //nolint:errchkjson // it was JSON
	other, _ := json.Marshal(y) //nolint:errchkjson // it was JSON
	return string(one) == string(other)
}

// emit reports the state.
func (h *host) emit() {
	state := h.state
	if h.live != nil {
		info := h.live.Info()
		state.Sandbox = h.config.Sandbox
		if info.Name != "" {
			state.Server = &event.ServerInfo{Name: info.Name, Version: textcut.Head(info.Version, maxMethod, "...")}
		}
		state.StartMS, state.Calls, state.Errors, state.Restarts = info.Started.Milliseconds(), info.Calls, info.Errors, info.Restarts
		state.StderrTail = textcut.Ends(info.Stderr, 0, maxError, "...")
	}
	h.config.Emit(state)
}

// close ends the process, and reports its totals.
func (h *host) close() {
	if h == nil || h.live == nil {
		return
	}
	if h.listeners != nil {
		h.listeners.drain()
	}
	h.live.Close()
	h.emit()
}
