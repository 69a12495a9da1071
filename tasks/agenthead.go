package tasks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks/problem"
)

// agentHead is the front matter of an agent's file while it is read. OpenCode makes one list of
// the rules of tools, permission and permissions; other keys limit the agent on their own.
type agentHead struct {
	agent       *agent
	body        *profileBody
	off         bool
	switches    []writtenRule
	permissions []writtenRule
	list        []writtenRule   // of permissions, as in OpenCode 2
	listed      [][]writtenRule // of lists of tools
	others      []writtenRule   // denials of names for which OpenCode looks up no rule, such as write
}

// layers returns the lists of rules that each limit the agent.
func (h *agentHead) layers() [][]writtenRule {
	all := [][]writtenRule{slices.Concat(h.ordered(), h.list), h.others}
	return slices.DeleteFunc(append(all, h.listed...), func(l []writtenRule) bool { return len(l) == 0 })
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
func (h *agentHead) add(e value, exact bool, rules []writtenRule) {
	if exact {
		h.permissions = append(h.permissions, rules...)
		return
	}
	name := e.key.Value
	is, _ := ruleName(name)
	h.agent.src.Found.Note(fmt.Sprintf("%s:%d: %s has no rules of its own: what it denies is denied for %q, and what it allows is ignored", h.agent.src.Name, e.key.Line, problem.Quote(name), is))
	for _, r := range rules {
		if r.Effect == permission.Deny {
			h.others = append(h.others, r)
		}
	}
}

// readPermission reads the rules of version 1.
func (h *agentHead) readPermission(v value) {
	denyAsks(v)
	if !v.isMapping() {
		h.permissions = h.body.rulesOf(v)
		return
	}
	entries, _ := v.entries()
	for _, e := range entries {
		name, exact := ruleName(e.key.Value)
		key := *e.key
		key.Value = name
		renamed := e
		renamed.key = &key
		h.add(e, exact, h.body.rulesUnder(renamed))
	}
}

// readList reads the rules of OpenCode 2.
func (h *agentHead) readList(v value) { h.list, _ = agentRulesForm.read(v) }

// readTools reads which tools an agent has: a mapping from names to true and false, or a
// list of them as Claude's files have it.
func (h *agentHead) readTools(v value) {
	if !v.isMapping() {
		h.readToolList(v)
		return
	}
	entries, _ := v.entries()
	for _, e := range entries {
		on, ok := readBool(e)
		if !ok {
			continue
		}
		name, exact := ruleName(e.key.Value)
		r := permission.Rule{Permission: name, Pattern: "*", Source: e.ruleSource()}
		if on {
			if !exact && name != "edit" { // OpenCode makes rules of edit of all tools that write
				continue
			}
			r.Effect = permission.Allow
		}
		h.switches = append(h.switches, writtenRule{r, "*"})
	}
}

// readToolList reads a list of the only tools that an agent has. What names no tool allows
// none.
func (h *agentHead) readToolList(v value) {
	rules := []writtenRule{{permission.Rule{Permission: "*", Pattern: "*", Source: v.ruleSource()}, "*"}}
	for _, entry := range toolNames(v) {
		r, ok := listedTool(v, entry)
		if !ok {
			v.src.Found.Note(fmt.Sprintf("%s: no tool %s: the agent has only the others of %s", v.source(), problem.Quote(entry), v.name))
			continue
		}
		r.Effect = permission.Allow
		rules = append(rules, r)
	}
	h.listed = append(h.listed, rules)
}

// readDeniedTools reads a list of tools that an agent does not have.
func (h *agentHead) readDeniedTools(v value) {
	var rules []writtenRule
	for _, entry := range toolNames(v) {
		r, ok := listedTool(v, entry)
		if !ok {
			v.problem("unknown tool "+problem.Quote(entry), "write the names of tools, such as bash, edit")
			continue
		}
		rules = append(rules, r)
	}
	h.listed = append(h.listed, rules)
}

// toolNames reads names of tools: a list, or a string with commas between them.
func toolNames(v value) []string {
	if !v.isScalar() {
		names, _ := listOf(stringForm).read(v)
		return names
	}
	var names []string
	depth := 0 // of parentheses, within which a comma belongs to a pattern
	for name := range strings.FieldsFuncSeq(v.node.Value, func(r rune) bool {
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
func listedTool(v value, entry string) (writtenRule, bool) {
	name, pattern, _ := strings.Cut(entry, "(")
	is, _ := ruleName(strings.TrimSpace(name))
	switch {
	case name == entry:
		pattern = "*"
	case is != "bash" || !strings.HasSuffix(pattern, ")"):
		return writtenRule{}, false
	default:
		pattern = strings.TrimSuffix(pattern, ")")
		if prefix, ok := strings.CutSuffix(pattern, ":*"); ok {
			pattern = prefix + " *"
		}
	}
	known := is == "*" || slices.Contains(permission.Known(), is) || strings.ContainsRune(is, '_')
	return writtenRule{permission.Rule{Permission: is, Pattern: pattern, Source: v.ruleSource()}, pattern}, known && pattern != ""
}

// denyAsks replaces ask by deny: in files that were written for interactive use,
// that is the result without a user.
func denyAsks(v value) {
	switch {
	case v.node.Value == "ask":
		v.node.Value = "deny"
		v.src.Found.Note(fmt.Sprintf("%s: \"ask\" is treated as deny, because nobody can be asked", v.source()))
	case v.isMapping():
		entries, _ := v.entries()
		for _, e := range entries {
			denyAsks(e)
		}
	}
}

// narrow puts the rules on an agent, and returns what identifies them.
func (a *agent) narrow(to *Agent) string {
	if len(a.layers) == 0 {
		return ""
	}
	content := make([][][3]string, len(a.layers))
	for i, layer := range a.layers {
		var rules []permission.Rule
		for _, r := range layer {
			rules = append(rules, r.Rule)
			content[i] = append(content[i], [3]string{r.Permission, r.written, r.Effect.String()})
		}
		to.Restrictions = append(to.Restrictions, rules)
	}
	return digest(content)
}

// keys of an agent's Markdown file are OpenCode's.
func (h *agentHead) keys() keys {
	ks := keys{
		{"description", into(&h.agent.Description, stringForm), "", "When to use the agent"},
		{"mode", into(&h.agent.mode, agentModeForm), "", "primary, subagent or all"},
		{"model", into(&h.agent.model, optional(oneModelForm)), "", "Model (the task's if absent)"},
		{"temperature", into(&h.agent.Sampling.Temperature, temperatureForm), "", "Sampling temperature"},
		{"reasoningEffort", into(&h.agent.Sampling.Effort, effortForm), "", "Reasoning effort"},
		{"steps", into(&h.agent.Turns, between(1, 1<<30)), "", "Model requests of the agent"},
		{"maxSteps", into(&h.agent.Turns, between(1, 1<<30)), "", "Model requests of the agent"},
		{"disable", into(&h.off, boolForm), "false", "Leave the agent out"},
		{"disabled", into(&h.off, boolForm), "false", "Leave the agent out"},
		{"tools", field{Type: boolForm.Type, read: h.readTools}, "", "Tools that are on or off, or a list of the only ones"},
		{"permission", field{Type: rulesType(), read: h.readPermission}, "", "Rules by permission and pattern"},
		{"permissions", field{Type: agentRulesForm.Type, read: h.readList}, "", "Rules as in OpenCode 2, in their order"},
	}
	for _, name := range []string{"allowed-tools", "allowed_tools", "allowedTools"} {
		ks = append(ks, key{name, field{Type: stringForm.Type, read: h.readToolList}, "", "The only tools"})
	}
	for _, name := range []string{"disallowed-tools", "disallowed_tools", "disallowedTools"} {
		ks = append(ks, key{name, field{Type: stringForm.Type, read: h.readDeniedTools}, "", "Tools that are off"})
	}
	for _, name := range []string{"name", "color", "hidden", "variant", "top_p", "options", "request", "textVerbosity", "reasoningSummary", "thinking"} {
		ks = append(ks, key{name, field{read: ignored}, "", "Accepted and ignored"})
	}
	return ks
}

// ignored is the reader of a key that has no effect.
func ignored(v value) {
	v.src.Found.Note(fmt.Sprintf("%s: %s has no effect here", v.source(), v.name))
}
