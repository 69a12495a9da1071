package jsprogram

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

// Settings returns what the hook config of plugins sees of a job: OpenCode's keys for what a
// manifest has. It has no environment, header or URL, which could contain a secret.
func Settings(plan *tasks.Plan, p permission.Profile, model, agent string) map[string]any {
	agents := map[string]any{agent: map[string]any{"mode": "primary"}}
	for _, a := range plan.Agents {
		one := map[string]any{"mode": "subagent"}
		if a.Name == agent {
			one["mode"] = "primary"
		}
		if a.Description != "" {
			one["description"] = a.Description
		}
		if a.Prompt != "" {
			one["prompt"] = a.Prompt
		}
		if a.Model != nil {
			one["model"] = a.Model.Name
		}
		agents[a.Name] = one
	}
	servers := map[string]any{}
	for _, s := range plan.MCP {
		kind := "local"
		if s.Remote != nil {
			kind = "remote"
		}
		servers[s.Name] = map[string]any{"type": kind, "enabled": true}
	}
	plugins := []string{}
	for _, f := range plan.Scripts.Plugins {
		plugins = append(plugins, f.Name)
	}
	return map[string]any{
		"model": model, "default_agent": agent, "agent": agents, "permission": rulesJSON(p.Rules), "mcp": servers, "plugin": plugins,
		"command": map[string]any{}, "provider": map[string]any{}, "share": "disabled", "autoupdate": false,
	}
}

// rulesJSON returns rules in OpenCode's form, patterns by permission. The order is that of the rules,
// because the last match decides.
func rulesJSON(rules []permission.Rule) json.RawMessage {
	var names []string
	patterns := map[string]*bytes.Buffer{}
	for i, r := range rules {
		if slices.ContainsFunc(rules[i+1:], func(later permission.Rule) bool {
			return later.Permission == r.Permission && later.Pattern == r.Pattern
		}) {
			continue
		}
		of := patterns[r.Permission]
		if of == nil {
			of = &bytes.Buffer{}
			patterns[r.Permission], names = of, append(names, r.Permission)
		}
		separated(of, r.Pattern).WriteString(quoted(r.Effect.String()))
	}
	var all bytes.Buffer
	for _, name := range names {
		separated(&all, name).WriteString("{" + patterns[name].String() + "}")
	}
	return json.RawMessage("{" + all.String() + "}")
}

// separated adds a key to the inside of a JSON object.
func separated(to *bytes.Buffer, key string) *bytes.Buffer {
	if to.Len() > 0 {
		to.WriteByte(',')
	}
	to.WriteString(quoted(key) + ":")
	return to
}

func quoted(s string) string {
	text, _ := json.Marshal(s) //nolint:errchkjson // a string has no error
	return string(text)
}
