package expand

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

// The rules of an agent's file decide as in OpenCode 1 and 2, within what the task's profile allows.
func TestRulesOfAgentFiles(t *testing.T) {
	tests := []struct{ name, head, decisions string }{
		{"an allow after a deny", `permission: {"*": deny, read: allow}`, "read a: allow, bash ls: deny"},
		{"switches", `tools: {"*": false, read: true}`, "read a: allow, bash ls: deny"},
		{"permission wins over switches", "tools: {write: false}\npermission: {edit: allow}", "edit a: allow"},
		{"a switch has the position of its permission", "tools: {bash: false}\npermission: {\"*\": ask, bash: allow}", "bash ls: deny"},
		{"switches of one permission", "tools: {write: false, patch: false, bash: false}\npermission: {edit: {\"src/*\": allow}}", "edit src/a: allow, edit a: allow, bash ls: deny"},
		{"OpenCode 2", `permissions: [{action: "*", resource: "*", effect: ask}, {action: shell, resource: "git *", effect: allow}, {action: shell, resource: "git push *", effect: deny}]`, "bash git log: allow, bash git push x: deny, bash ls: deny, read a: deny"},
		{"subagents", `permissions: [{action: subagent, resource: "*", effect: deny}]`, "task explore: deny, bash ls: allow"},
		{"both forms", "permission: {edit: deny}\npermissions: [{action: edit, resource: \"src/*\", effect: allow}]", "edit src/a: allow, edit a: deny"},
		{"a wildcard", `permissions: [{action: "s*", resource: "*", effect: deny}]`, "bash ls: deny, skill x: deny, task x: deny, edit a: allow"},
		{"names of OpenCode 1 deny", `permissions: [{action: bash, resource: "*", effect: deny}, {action: write, resource: "*", effect: deny}]`, "bash ls: deny, edit a: deny"},
		{"names of OpenCode 1 allow nothing", `permissions: [{action: "*", resource: "*", effect: deny}, {action: "b*", resource: "*", effect: allow}, {action: bash, resource: "*", effect: allow}]`, "bash ls: deny"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := loadText(t, "agents_from: [x.md]\n"+oneTask, map[string]string{"x.md": "---\n" + tt.head + "\n---\nX.\n"}, tasks.Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			build, _ := permission.Preset("build")
			profile := build
			for _, rules := range p.Agents[len(p.Agents)-1].Restrictions {
				profile = profile.Narrowed("agent x", rules)
			}
			for decision := range strings.SplitSeq(tt.decisions, ", ") {
				at := strings.LastIndex(decision, ": ")
				name, subject, _ := strings.Cut(decision[:at], " ")
				if got := profile.Allows(name, subject); got != (decision[at+2:] == "allow") {
					t.Errorf("%s: allowed is %t\n%v", decision, got, profile.Max.Rules)
				}
			}
		})
	}
	for lines, want := range map[string]string{
		"permissions: [{action: edit, resource: x}]":                          "a rule has action, resource and effect",
		"permissions: [{action: edit, resource: x, effect: never}]":           "effect",
		"permissions: {edit: deny}":                                           "permissions",
		"permissions: [{action: edit, resource: x, effect: deny, when: now}]": `unknown key "when"`,
	} {
		_, err := loadText(t, head+"agents_from: [x.md]\ntasks: [{id: a, prompt: p, agent: x}]\n", map[string]string{"x.md": "---\n" + lines + "\n---\nX.\n"}, tasks.Overrides{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", lines, err, want)
		}
	}
}
