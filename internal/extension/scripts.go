package extension

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
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

	mu sync.Mutex
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
		Command: h.scripts.Command, Load: h.scripts.Load, CallTimeout: h.scripts.CallTimeout, HookTimeout: h.scripts.HookTimeout,
		Fail: h.scripts.Fail, Warn: h.config.Warn, Now: h.config.Now,
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
		p := h.live.Plugin(i, session)
		hook := tools.Hook{Rule: "plugin " + entry.Base, Source: entry.Name}
		for _, name := range l.Hooks {
			switch name {
			case "tool.execute.before":
				hook.Before = func(ctx context.Context, c tools.HookCall) (json.RawMessage, error) {
					return p.Before(ctx, c.ID, c.Tool, c.Input)
				}
			case "tool.execute.after":
				hook.After = func(ctx context.Context, c tools.HookCall, r tools.HookResult) tools.HookResult {
					return after(ctx, p, c, r)
				}
			case "permission.ask":
				hook.Ask = p.Ask
			case "shell.env":
				hook.Environ = p.Environ
			}
		}
		all = append(all, hook)
	}
	return all
}

// after gives a plugin the result of a call that completed.
func after(ctx context.Context, p *jshost.Plugin, c tools.HookCall, r tools.HookResult) tools.HookResult {
	if r.Error != "" {
		return r
	}
	made := p.After(ctx, c.ID, c.Tool, c.Input, jshost.Result{Title: r.Title, Output: r.Output, Metadata: r.Metadata})
	return tools.HookResult{Title: made.Title, Output: made.Output, Metadata: made.Metadata}
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
