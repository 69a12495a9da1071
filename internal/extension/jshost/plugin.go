package jshost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/jsontext"
	"github.com/millhand/millhand/internal/text/textcut"
)

// maxName is the maximum length of the name of a variable in a warning.
const maxName = 100

// Plugin are the hooks of a plugin around the calls of a session, which are given by the id of a call, the tool and what its
// arguments are from there on. A plugin that does not work denies its calls.
type Plugin struct {
	host    *Host
	index   int // of its module
	session string
}

// Plugin returns the hooks of a plugin, given by the index of its module.
func (h *Host) Plugin(index int, session string) *Plugin { return &Plugin{h, index, session} }

func (p *Plugin) name() string { return p.host.config.Load.Entries[p.index].Name }

func (p *Plugin) call(id, tool string, input json.RawMessage) HookedCall {
	if !json.Valid(input) {
		input = nil
	}
	return HookedCall{Plugin: p.index, Tool: tool, ID: id, Session: p.session, Input: input}
}

// Before returns the arguments that count from there on. An error denies the call.
func (p *Plugin) Before(ctx context.Context, id, tool string, input json.RawMessage) (json.RawMessage, error) {
	if !jsontext.IsObject(input) {
		return input, nil // the call fails
	}
	made, err := p.host.before(ctx, p.call(id, tool, input))
	if err != nil {
		return nil, p.guard(ctx, err)
	}
	if jsontext.Same(made, input) {
		return input, nil
	}
	return made, nil
}

// Ask asks about a permission that the call needs. An error denies the call.
func (p *Plugin) Ask(ctx context.Context, id, tool string, input json.RawMessage, need permission.Request) error {
	status, err := p.host.ask(ctx, p.call(id, tool, input), Permission{Permission: need.Permission, Patterns: need.Subjects})
	switch {
	case err != nil:
		return p.guard(ctx, err)
	case status == Allowed:
		return nil
	case status == "ask":
		return errors.New("its hook permission.ask asks for approval, which nobody can give in an unattended run")
	}
	return errors.New("denied by its hook permission.ask")
}

// guard returns the reason of a denial. A plugin that does not work denies its calls, and ends
// the job the second time.
func (p *Plugin) guard(ctx context.Context, err error) error {
	if !errors.As(err, new(*Fault)) || ctx.Err() != nil {
		return err
	}
	err = fmt.Errorf("the plugin does not work: %w", err)
	p.host.mu.Lock()
	p.host.faults++
	again := p.host.faults > 1
	p.host.mu.Unlock()
	if again {
		p.host.config.Fail(fmt.Errorf("plugin %s: %w, for the second time", p.name(), err))
	}
	return err
}

// After returns what the plugin makes of the result of a call that completed.
func (p *Plugin) After(ctx context.Context, id, tool string, input json.RawMessage, r Result) Result {
	made, err := p.host.after(ctx, p.call(id, tool, input), r)
	if err != nil {
		p.host.config.Warn(fmt.Sprintf("plugin %s: hook tool.execute.after: %v", p.name(), err))
		return r
	}
	if len(r.Metadata) == 0 && jsontext.Same(made.Metadata, json.RawMessage("{}")) { // the plugin added nothing
		made.Metadata = nil
	}
	return made
}

// Environ returns the variables that the plugin adds to those of a command of bash in a directory.
func (p *Plugin) Environ(ctx context.Context, id, dir string) []string {
	env, err := p.host.env(ctx, p.call(id, "bash", nil), dir)
	if err != nil {
		p.host.config.Warn(fmt.Sprintf("plugin %s: hook shell.env: %v", p.name(), err))
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
func (p *Plugin) refused(name string) {
	p.host.mu.Lock()
	first := !p.host.told
	p.host.told = true
	p.host.mu.Unlock()
	if first {
		p.host.config.Warn(fmt.Sprintf("plugin %s: its hook shell.env can't set %s", p.name(), textcut.OneLine(textcut.Head(name, maxName, "..."))))
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
