package opencode

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// renamed are the keys of OpenCode 2 that have another name in OpenCode 1, at the top and below names of the user.
var (
	renamedTop = map[string]string{
		"agents": "agent", "commands": "command", "plugins": "plugin", "providers": "provider", "references": "reference",
		"snapshots": "snapshot", "media": "attachment", "update": "autoupdate",
	}
	renamedAgent    = map[string]string{"system": "prompt", "disabled": "disable"}
	renamedCommand  = map[string]string{"subagent": "subtask"}
	renamedProvider = map[string]string{"package": "npm", "settings": "options"}
	renamedModel    = map[string]string{"modelID": "id", "settings": "options"}
)

// older gives a configuration the form of OpenCode 1, except for permissions, which are ordered, and reports whether it had
// keys that only OpenCode 2 accepts. Where a file has a key in both
// forms, that of OpenCode 2 counts, as in OpenCode; its rules come after the others.
func older(n *node) (second bool) {
	second = slices.ContainsFunc(n.keys, func(key string) bool { return renamedTop[key] != "" })
	for _, name := range n.get("agents").keys {
		n.get("agents", name).second = true
	}
	n.rename(renamedTop)
	for _, section := range []string{"agent", "mode"} {
		for _, name := range n.get(section).keys {
			olderAgent(n.get(section, name))
		}
	}
	for _, name := range n.get("command").keys {
		command := n.get("command", name)
		command.rename(renamedCommand)
		olderModelName(command)
	}
	for _, name := range n.get("provider").keys {
		olderProvider(n.get("provider", name))
	}
	olderModelName(n)
	olderServers(n)
	for i, item := range n.get("plugin").items {
		if item.object {
			n.get("plugin").items[i] = olderPlugin(item)
		}
	}
	if skills := n.get("skills"); skills.list {
		paths, urls := &node{list: true, at: skills.at}, &node{list: true, at: skills.at}
		for _, item := range skills.items {
			to := paths
			if strings.Contains(item.text(), "://") {
				to = urls
			}
			to.items = append(to.items, item)
		}
		n.set("skills", objectOf(skills.at, "paths", paths, "urls", urls))
	}
	return second
}

// rename renames keys. A value of OpenCode 1 under the new name is merged, or replaced.
func (n *node) rename(names map[string]string) {
	for _, key := range slices.Clone(n.keys) {
		to, v := names[key], n.fields[key]
		if to == "" {
			continue
		}
		n.remove(key)
		if old := n.fields[to]; old != nil && old.object && v.object {
			old.merge(v)
			continue
		}
		n.set(to, v)
	}
}

func (n *node) remove(key string) {
	n.keys = slices.DeleteFunc(n.keys, func(k string) bool { return k == key })
	delete(n.fields, key)
}

// objectOf returns an object of names and values.
func objectOf(at string, pairs ...any) *node {
	n := &node{object: true, fields: map[string]*node{}, at: at}
	for i := 0; i < len(pairs); i += 2 {
		n.set(pairs[i].(string), pairs[i+1].(*node))
	}
	return n
}

func olderAgent(n *node) {
	n.rename(renamedAgent)
	olderModelName(n)
	if t := n.get("request", "body", "temperature"); t.at != "" {
		n.set("temperature", t)
		n.get("request", "body").remove("temperature")
	}
	if body := n.get("request", "body"); body.object && len(body.keys) == 0 && len(n.get("request").keys) == 1 {
		n.remove("request")
	}
}

// olderModelName replaces {providerID, model, variant} by provider/model#variant.
func olderModelName(owner *node) {
	m := owner.get("model")
	if !m.object || m.get("providerID").text() == "" {
		return
	}
	name := m.get("providerID").text() + "/" + m.get("model").text()
	if v := m.get("variant").text(); v != "" {
		name += "#" + v
	}
	owner.set("model", &node{value: hujson.String(name), at: m.at})
}

// olderProvider moves the parts of a provider to where OpenCode 1 has them.
func olderProvider(n *node) {
	n.rename(renamedProvider)
	if npm := n.get("npm"); npm.text() != "" {
		name := strings.TrimPrefix(npm.text(), "aisdk:")
		if kind, ok := strings.CutPrefix(name, "@opencode/ai/providers/"); ok {
			name = "@ai-sdk/" + kind
		}
		npm.value = hujson.String(name)
	}
	if headers := n.get("headers"); headers.object {
		if n.fields["options"] == nil {
			n.set("options", objectOf(headers.at))
		}
		n.get("options").set("headers", headers)
		n.remove("headers")
	}
	for _, name := range n.get("models").keys {
		m := n.get("models", name)
		m.rename(renamedModel)
		if abilities := m.get("capabilities"); abilities.object {
			if tools := abilities.get("tools"); tools.at != "" {
				m.set("tool_call", tools)
			}
			modalities := objectOf(abilities.at)
			for _, key := range []string{"input", "output"} {
				if v := abilities.get(key); v.at != "" {
					modalities.set(key, v)
				}
			}
			m.set("modalities", modalities)
			m.remove("capabilities")
		}
		if cache := m.get("cost", "cache"); cache.object {
			for _, key := range cache.keys {
				m.get("cost").set("cache_"+key, cache.get(key))
			}
			m.get("cost").remove("cache")
		}
	}
}

// olderServers moves the servers below mcp.servers, as in OpenCode 2, beside the others.
func olderServers(n *node) {
	mcp := n.get("mcp")
	servers := mcp.get("servers")
	if !servers.object || servers.get("command").at != "" || servers.get("url").at != "" { // a server that is named so
		return
	}
	mcp.remove("servers")
	limits := mcp.get("timeout")
	if limits.object {
		mcp.remove("timeout")
	}
	for _, name := range servers.keys {
		s := servers.get(name)
		if off := s.get("disabled"); off.is(true) || off.is(false) {
			s.set("enabled", &node{value: hujson.Bool(off.is(false)), at: off.at})
			s.remove("disabled")
		}
		if own := s.get("timeout"); own.object || own.at == "" {
			olderTimeout(s, own, limits)
		}
		mcp.set(name, s)
	}
}

// olderTimeout sets the timeouts of a server: that of requests, and that of calls.
func olderTimeout(s, own, limits *node) {
	s.remove("timeout")
	for _, t := range []struct{ from, to string }{{"catalog", "timeout"}, {"execution", "call_timeout"}} {
		for _, from := range []*node{limits, own} {
			if v := from.get(t.from); v.at != "" {
				s.set(t.to, v)
			}
		}
	}
}

// olderPlugin returns a plugin with options as OpenCode 1 has it.
func olderPlugin(n *node) *node {
	if len(n.keys) == 1 && n.get("package").text() != "" {
		return n.get("package")
	}
	item := &node{list: true, at: n.at, items: []*node{n.get("package"), n.get("options")}}
	for _, key := range n.keys {
		if key != "package" && key != "options" { // not understood
			item.items = append(item.items, objectOf(n.at, key, n.get(key)))
		}
	}
	return item
}

// order keeps the rules of several files in the order of the files if only OpenCode 2 accepts one of them: it does not merge them.
func order(files []*node, second bool) {
	agents := func(n *node) (all []*node) {
		for _, section := range []string{"mode", "agent"} {
			for _, name := range n.get(section).keys {
				all = append(all, n.get(section, name))
			}
		}
		return all
	}
	lists := func(n *node) bool { return n.get("permissions").at != "" }
	if !second && !slices.ContainsFunc(files, func(n *node) bool { return lists(n) || slices.ContainsFunc(agents(n), lists) }) {
		return
	}
	for _, file := range files {
		file.ordered, file.rules = true, rootInOrder(file)
		for _, agent := range agents(file) {
			agent.ordered, agent.rules = true, agentInOrder(agent)
		}
	}
}
