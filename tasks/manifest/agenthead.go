package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/problem"
)

// agentHead is the front matter of an agent's file while it is read. OpenCode makes one list of
// the rules of tools, permission and permissions; other keys limit the agent on their own.
type agentHead struct {
	agent       *Agent
	body        *profiles.Body
	off         bool
	switches    []profiles.Rule
	permissions []profiles.Rule
	list        []profiles.Rule   // of permissions, as in OpenCode 2
	listed      [][]profiles.Rule // of lists of tools
	others      []profiles.Rule   // denials of names for which OpenCode looks up no rule, such as write
}

// layers returns the lists of rules that each limit the agent.
func (h *agentHead) layers() [][]profiles.Rule {
	all := [][]profiles.Rule{slices.Concat(h.ordered(), h.list), h.others}
	return slices.DeleteFunc(append(all, h.listed...), func(l []profiles.Rule) bool { return len(l) == 0 })
}

// ruleName returns the permission that a name of OpenCode or Claude stands for. It is exact
// if OpenCode looks up rules of that name, and only then may a rule allow something.
func ruleName(name string) (is string, exact bool) {
	if server, ok := strings.CutPrefix(name, "mcp__"); ok {
		return strings.Replace(server, "__", "_", 1), true
	}
	switch lower := strings.ToLower(name); lower {
	case "shell":
		return "bash", name == lower
	case "subagent":
		return "task", name == lower
	case "agent":
		return "task", false
	case "ls":
		return "list", false
	case "notebookread":
		return "read", false
	case "write", "patch", "multiedit", "apply_patch", "notebookedit":
		return "edit", false
	default:
		if slices.Contains(permission.Known(), lower) {
			return lower, name == lower
		}
	}
	return name, true
}

// add adds rules of version 1 that were written under a name.
func (h *agentHead) add(e form.Value, exact bool, rules []profiles.Rule) {
	if exact {
		h.permissions = append(h.permissions, rules...)
		return
	}
	name := e.Key.Value
	is, _ := ruleName(name)
	h.agent.Src.Found.Note(fmt.Sprintf("%s:%d: %s has no rules of its own: what it denies is denied for %q, and what it allows is ignored", h.agent.Src.Name, e.Key.Line, problem.Quote(name), is))
	for _, r := range rules {
		if r.Effect == permission.Deny {
			h.others = append(h.others, r)
		}
	}
}

// readPermission reads the rules of version 1.
func (h *agentHead) readPermission(v form.Value) {
	denyAsks(v)
	if !v.IsMapping() {
		h.permissions = h.body.RulesOf(v)
		return
	}
	entries, _ := v.Entries()
	for _, e := range entries {
		name, exact := ruleName(e.Key.Value)
		key := *e.Key
		key.Value = name
		renamed := e
		renamed.Key = &key
		h.add(e, exact, h.body.RulesUnder(renamed))
	}
}

// readList reads the rules of OpenCode 2.
func (h *agentHead) readList(v form.Value) { h.list, _ = agentRulesForm.Read(v) }

// readTools reads which tools an agent has: a mapping from names to true and false, or a
// list of them as Claude's files have it.
func (h *agentHead) readTools(v form.Value) {
	if !v.IsMapping() {
		h.readToolList(v)
		return
	}
	entries, _ := v.Entries()
	for _, e := range entries {
		on, ok := form.ReadBool(e)
		if !ok {
			continue
		}
		name, exact := ruleName(e.Key.Value)
		r := permission.Rule{Permission: name, Pattern: "*", Source: e.RuleSource()}
		if on {
			if !exact && name != "edit" { // OpenCode makes rules of edit of all tools that write
				continue
			}
			r.Effect = permission.Allow
		}
		h.switches = append(h.switches, profiles.Rule{Rule: r, Written: "*"})
	}
}

// readToolList reads a list of the only tools that an agent has. What names no tool allows
// none.
func (h *agentHead) readToolList(v form.Value) {
	rules := []profiles.Rule{{Rule: permission.Rule{Permission: "*", Pattern: "*", Source: v.RuleSource()}, Written: "*"}}
	for _, entry := range toolNames(v) {
		r, ok := listedTool(v, entry)
		if !ok {
			v.Src.Found.Note(fmt.Sprintf("%s: no tool %s: the agent has only the others of %s", v.Position(), problem.Quote(entry), v.Label))
			continue
		}
		r.Effect = permission.Allow
		rules = append(rules, r)
	}
	h.listed = append(h.listed, rules)
}

// readDeniedTools reads a list of tools that an agent does not have.
func (h *agentHead) readDeniedTools(v form.Value) {
	var rules []profiles.Rule
	for _, entry := range toolNames(v) {
		r, ok := listedTool(v, entry)
		if !ok {
			v.Problem("unknown tool "+problem.Quote(entry), "write the names of tools, such as bash, edit")
			continue
		}
		rules = append(rules, r)
	}
	h.listed = append(h.listed, rules)
}

// toolNames reads names of tools: a list, or a string with commas between them.
func toolNames(v form.Value) []string {
	if !v.IsScalar() {
		names, _ := form.ListOf(form.String).Read(v)
		return names
	}
	var names []string
	depth := 0 // of parentheses, within which a comma belongs to a pattern
	for name := range strings.FieldsFuncSeq(v.Node.Value, func(r rune) bool {
		depth += strings.Count("(", string(r)) - strings.Count(")", string(r))
		return r == ',' && depth <= 0
	}) {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// listedTool makes the rule of an entry in a list of tools: a name, or Bash(PATTERN), where
// "git:*" means all commands that start with the word git.
func listedTool(v form.Value, entry string) (profiles.Rule, bool) {
	name, pattern, _ := strings.Cut(entry, "(")
	is, _ := ruleName(strings.TrimSpace(name))
	switch {
	case name == entry:
		pattern = "*"
	case is != "bash" || !strings.HasSuffix(pattern, ")"):
		return profiles.Rule{}, false
	default:
		pattern = strings.TrimSuffix(pattern, ")")
		if prefix, ok := strings.CutSuffix(pattern, ":*"); ok {
			pattern = prefix + " *"
		}
	}
	known := is == "*" || slices.Contains(permission.Known(), is) || strings.ContainsRune(is, '_')
	return profiles.Rule{Rule: permission.Rule{Permission: is, Pattern: pattern, Source: v.RuleSource()}, Written: pattern}, known && pattern != ""
}

// denyAsks replaces ask by deny: in files that were written for interactive use,
// that is the result without a user.
func denyAsks(v form.Value) {
	switch {
	case v.Node.Value == "ask":
		v.Node.Value = "deny"
		v.Src.Found.Note(fmt.Sprintf("%s: \"ask\" is treated as deny, because nobody can be asked", v.Position()))
	case v.IsMapping():
		entries, _ := v.Entries()
		for _, e := range entries {
			denyAsks(e)
		}
	}
}

// Narrow puts the rules on an agent, and returns what identifies them.
func (a *Agent) Narrow(to *tasks.Agent) string {
	if len(a.layers) == 0 {
		return ""
	}
	content := make([][][3]string, len(a.layers))
	for i, layer := range a.layers {
		var rules []permission.Rule
		for _, r := range layer {
			rules = append(rules, r.Rule)
			content[i] = append(content[i], [3]string{r.Permission, r.Written, r.Effect.String()})
		}
		to.Restrictions = append(to.Restrictions, rules)
	}
	return tasks.Digest(content)
}

// keys of an agent's Markdown file are OpenCode's.
func (h *agentHead) keys() form.Table {
	ks := form.Table{
		{Name: "description", Field: form.Into(&h.agent.Description, form.String), Doc: "When to use the agent"},
		{Name: "mode", Field: form.Into(&h.agent.Mode, agentModeForm), Doc: "primary, subagent or all"},
		{Name: "model", Field: form.Into(&h.agent.ModelName, form.Optional(oneModelForm)), Doc: "Model (the task's if absent)"},
		{Name: "temperature", Field: form.Into(&h.agent.Sampling.Temperature, temperatureForm), Doc: "Sampling temperature"},
		{Name: "reasoningEffort", Field: form.Into(&h.agent.Sampling.Effort, effortForm), Doc: "Reasoning effort"},
		{Name: "steps", Field: form.Into(&h.agent.Turns, form.Between(1, 1<<30)), Doc: "Model requests of the agent"},
		{Name: "maxSteps", Field: form.Into(&h.agent.Turns, form.Between(1, 1<<30)), Doc: "Model requests of the agent"},
		{Name: "disable", Field: form.Into(&h.off, form.Bool), Def: "false", Doc: "Leave the agent out"},
		{Name: "disabled", Field: form.Into(&h.off, form.Bool), Def: "false", Doc: "Leave the agent out"},
		{Name: "tools", Field: form.Field{Type: form.Bool.Type, Read: h.readTools}, Doc: "Tools that are on or off, or a list of the only ones"},
		{Name: "permission", Field: form.Field{Type: profiles.RulesType(), Read: h.readPermission}, Doc: "Rules by permission and pattern"},
		{Name: "permissions", Field: form.Field{Type: agentRulesForm.Type, Read: h.readList}, Doc: "Rules as in OpenCode 2, in their order"},
	}
	for _, name := range []string{"allowed-tools", "allowed_tools", "allowedTools"} {
		ks = append(ks, form.Row{Name: name, Field: form.Field{Type: form.String.Type, Read: h.readToolList}, Doc: "The only tools"})
	}
	for _, name := range []string{"disallowed-tools", "disallowed_tools", "disallowedTools"} {
		ks = append(ks, form.Row{Name: name, Field: form.Field{Type: form.String.Type, Read: h.readDeniedTools}, Doc: "Tools that are off"})
	}
	for _, name := range []string{"name", "color", "hidden", "variant", "top_p", "options", "request", "textVerbosity", "reasoningSummary", "thinking"} {
		ks = append(ks, form.Row{Name: name, Field: form.Field{Read: ignored}, Doc: "Accepted and ignored"})
	}
	return ks
}

// ignored is the reader of a key that has no effect.
func ignored(v form.Value) {
	v.Src.Found.Note(fmt.Sprintf("%s: %s has no effect here", v.Position(), v.Label))
}
