package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
)

// ordered returns the rules of the keys tools and permission in OpenCode's order: first the switches of tools. One
// whose permission has rules is replaced by them, in its position.
func (h *agentHead) ordered() []profiles.Rule {
	var all []profiles.Rule
	of := func(name string) func(profiles.Rule) bool {
		return func(r profiles.Rule) bool { return r.Permission == name }
	}
	rest := slices.Clone(h.permissions)
	for _, s := range h.switches {
		name := s.Permission
		switch rules := slices.DeleteFunc(slices.Clone(h.permissions), func(r profiles.Rule) bool { return r.Permission != name }); {
		case len(rules) == 0:
			all = append(all, s)
		case slices.ContainsFunc(rest, of(name)): // once
			all = append(all, rules...)
			rest = slices.DeleteFunc(rest, of(name))
		}
	}
	return append(all, rest...)
}

var agentRulesForm = form.Flat(form.Of[[]profiles.Rule]{Type: form.TypeOf((*agentRule).keys), Read: readAgentRule})

// agentRule is a rule of OpenCode 2 while it is read.
type agentRule struct {
	action, resource string
	effect           form.Value
}

// readAgentRule reads one rule, and makes rules of it: several for an action with wildcards.
func readAgentRule(v form.Value) ([]profiles.Rule, bool) {
	var r agentRule
	if r.keys().Read(v); r.action == "" || r.resource == "" || r.effect.Node == nil {
		v.Problem("a rule has action, resource and effect", `write {action: edit, resource: "*", effect: deny}`)
		return nil, false
	}
	all := profiles.RuleOf(r.effect, r.action, r.resource)
	if len(all) != 1 {
		return nil, false
	}
	one := all[0]
	names := r.names(one.Effect)
	all = nil
	for _, name := range names {
		one.Permission = name
		all = append(all, one)
	}
	return all, true
}

// names returns the permissions that the rule is for. What it denies includes those that it names as
// OpenCode 1 does; OpenCode 2 knows only shell and subagent.
func (r *agentRule) names(effect permission.Effect) []string {
	if strings.Trim(r.action, "*") == "" {
		return []string{"*"}
	}
	names := map[string]bool{}
	for _, name := range permission.Known() {
		second := map[string]string{"bash": "shell", "task": "subagent"}[name]
		matches := permission.Match(r.action, cmp.Or(second, name))
		if names[name] = matches || effect == permission.Deny && permission.Match(r.action, name); !names[name] {
			delete(names, name)
		}
	}
	for _, tool := range []string{"write", "apply_patch", "patch", "multiedit"} {
		if effect == permission.Deny && permission.Match(r.action, tool) {
			names["edit"] = true
		}
	}
	if effect == permission.Deny || len(names) == 0 && !slices.Contains([]string{"bash", "task"}, r.action) {
		names[r.action] = true // also of tools that are not built in
	}
	return slices.Sorted(maps.Keys(names))
}

func (r *agentRule) keys() form.Table {
	return form.Table{
		{Name: "action", Field: form.Into(&r.action, form.String), Doc: "Permission, with wildcards"},
		{Name: "resource", Field: form.Into(&r.resource, form.String), Doc: "What it is about, with wildcards"},
		{Name: "effect", Field: form.Field{Type: form.Type{Name: "enum", Values: []string{"allow", "deny", "ask"}}, Read: func(v form.Value) { denyAsks(v); r.effect = v }}, Doc: "allow or deny; ask denies"},
	}
}
