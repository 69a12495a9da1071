package opencode

import (
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/permission"
)

// The rules of OpenCode's own agents name tools: one that is renamed here would not be allowed.
func TestRulesOfOpenCodesAgentsNameTools(t *testing.T) {
	for agent, rules := range ofBuiltIn {
		for _, r := range rules {
			if r.name != "*" && !slices.Contains(permission.Known(), r.name) {
				t.Errorf("agent %s: no tool has the permission %s", agent, r.name)
			}
		}
	}
}

// A profile allows what the rules allow, and nothing else. Each decision is PERMISSION SUBJECT: EFFECT.
func TestProfileDecidesAsTheRules(t *testing.T) {
	tests := []struct{ name, config, agent, decisions string }{
		{"the example of OpenCode's page", `{"permission": {"*": "ask", "bash": "allow", "edit": "deny"}}`, "", "bash ls: allow, read a: deny, edit a: deny, webfetch https://a: deny"},
		{"two allows after a deny", `{"permission": {"*": "deny", "read": "allow", "grep": "allow"}}`, "", "read a: allow, grep x: allow, read .env: deny, read .env.example: allow, bash ls: deny, glob *: deny"},
		{"edit after a deny", `{"permission": {"*": "ask", "edit": "allow", "bash": {"git *": "allow"}}}`, "", "edit a: allow, edit .github/workflows/a.yml: deny, edit AGENTS.md: deny, bash git log: allow, bash ls: deny, read a: deny"},
		{"patterns after a deny", `{"permission": {"*": "deny", "edit": {"src/*": "allow"}}}`, "", "edit src/a: allow, edit a: deny"},
		{"rules before and after *", `{"permission": {"bash": {"rm *": "deny"}, "*": "allow"}}`, "", "bash rm x: allow"},
		{"a later deny of everything", `{"permission": {"bash": "allow", "*": "ask"}}`, "", "bash ls: deny, read a: deny"},
		{"an allow after rules for some", `{"permission": {"bash": {"rm *": "deny", "*": "allow"}}}`, "", "bash rm x: allow"},
		{"an allow of all edits", `{"permission": {"edit": {"*": "allow", "secret/*": "deny"}}}`, "", "edit a: allow, edit secret/a: deny, edit .github/a: deny"},
		{"web tools", `{"permission": {"*": "deny", "webfetch": "allow"}}`, "", "webfetch https://a: allow, websearch x: deny"},
		{"web tools before everything", `{"permission": {"webfetch": "allow", "*": "allow"}}`, "", "webfetch https://a: allow, websearch x: deny"},
		{"a wildcard", `{"permission": {"*": "deny", "g*": "allow"}}`, "", "grep x: allow, glob x: allow, bash ls: deny"},
		{"a directory outside", `{"permission": {"external_directory": {"/data/*": "allow"}}}`, "", "external_directory /data/x: allow, external_directory /other/x: deny"},
		{"a directory outside, and a later deny", `{"permission": {"external_directory": {"/data/*": "allow"}, "*": "deny"}}`, "", "external_directory /data/x: deny"},

		{"switches", `{"tools": {"*": false, "read": true}}`, "", "read a: allow, bash ls: deny"},
		{"permission wins over switches", `{"tools": {"write": false}, "permission": {"edit": "allow"}}`, "", "edit a: allow"},
		{"a switch has the position of its permission", `{"tools": {"bash": false}, "permission": {"*": "ask", "bash": "allow"}}`, "", "bash ls: deny"},
		{"a switch before everything", `{"tools": {"bash": false}, "permission": {"*": "allow"}}`, "", "bash ls: allow"},

		{"an agent", `{"agent": {"rev": {"permission": {"*": "deny", "read": "allow"}}}}`, "rev", "read a: allow, bash ls: deny, edit a: deny"},
		{"an agent with switches", `{"agent": {"rev": {"tools": {"*": false, "read": true}}}}`, "rev", "read a: allow, bash ls: deny"},
		{"an agent with global rules", `{"permission": {"bash": "deny"}, "agent": {"rev": {"permission": {"bash": "allow"}}}}`, "rev", "bash ls: allow"},
		{"an agent that may edit again", `{"permission": {"edit": "deny", "bash": {"rm *": "deny"}}, "agent": {"rev": {"permission": {"edit": "allow"}}}}`, "rev", "edit a: allow, edit .github/a: deny, bash rm x: deny, bash ls: allow"},
		{"an agent that may read again", `{"permission": {"*": "deny"}, "agent": {"rev": {"permission": {"read": "allow"}}}}`, "rev", "read a: allow, read .env: deny, bash ls: deny"},
		{"an agent that may do everything again", `{"permission": {"*": "deny"}, "agent": {"rev": {"permission": {"*": "allow"}}}}`, "rev", "read a: allow, edit a: allow, bash ls: allow, edit .github/a: deny"},
		{"an agent without rules", `{"permission": {"bash": "deny"}, "agent": {"rev": {"prompt": "x"}}}`, "rev", "bash ls: deny, read a: allow"},

		{"subagents that are off", `{"agent": {"general": {"disable": true}, "rev": {"disable": true}}}`, "", "task general: deny, task explore: allow, bash ls: allow"},
		{"subagents that are off in OpenCode 2", `{"agents": {"explore": {"disabled": true}, "general": {"disabled": false}}}`, "", "task general: allow, task explore: deny"},
		{"an agent that may start subagents, of which one is off", `{"agent": {"general": {"disable": true}, "rev": {"permission": {"task": "allow"}}}}`, "rev", "task general: deny, task explore: allow"},

		{"plan, which denies edits", `{"agent": {"plan": {"permission": {"webfetch": "deny"}}}}`, "plan", "edit a: deny, bash ls: allow"},
		{"plan, which may edit some", `{"agent": {"plan": {"permission": {"edit": {"docs/*": "allow"}}}}}`, "plan", "edit docs/a: allow, edit a: deny"},
		{"explore, which searches", `{"agent": {"explore": {"permission": {"read": {"x": "deny"}}}}}`, "explore", "read a: allow, read x: deny, edit a: deny, task general: deny"},

		{"a switch of all tools after one, with a list", `{"tools": {"bash": true, "*": true}, "permission": {"bash": "deny"}, "permissions": []}`, "", "bash ls: deny, edit a: allow"},
		{"a switch and commands, with agents of OpenCode 2", `{"tools": {"bash": false}, "permission": {"bash": {"cat *": "allow"}}, "agents": {}}`, "", "bash ls: deny, bash cat a: allow"},
		{"a wildcard for the name of OpenCode 1, with a list", `{"permission": {"*": "ask", "?ash": "allow"}, "permissions": []}`, "", "bash ls: deny"},
		{"a list of an agent of OpenCode 1, which allows nothing", `{"permissions": [{"action": "edit", "resource": "*", "effect": "deny"}], "agent": {"rev": {"permissions": [{"action": "edit", "resource": "*", "effect": "allow"}]}}}`, "rev", "edit a: deny"},
		{"rules of OpenCode 2", `{"permissions": [{"action": "*", "resource": "*", "effect": "ask"}, {"action": "shell", "resource": "*", "effect": "allow"}, {"action": "shell", "resource": "git push *", "effect": "deny"}]}`, "", "bash ls: allow, bash git push origin: deny, read a: deny"},
		{"rules of OpenCode 2 for subagents", `{"permissions": [{"action": "subagent", "resource": "*", "effect": "deny"}, {"action": "subagent", "resource": "explore", "effect": "allow"}]}`, "", "task explore: allow, task other: deny, bash ls: allow"},
		{"a resource of every action", `{"permissions": [{"action": "*", "resource": "secret/*", "effect": "deny"}]}`, "", "read secret/a: deny, edit secret/a: deny, read a: allow"},
		{"repeated rules", `{"permissions": [{"action": "edit", "resource": "*", "effect": "deny"}, {"action": "*", "resource": "*", "effect": "allow"}, {"action": "edit", "resource": "src/*", "effect": "deny"}]}`, "", "edit a: allow, edit src/a: deny, bash ls: allow"},
		{"an action of OpenCode 1 allows nothing", `{"permissions": [{"action": "*", "resource": "*", "effect": "ask"}, {"action": "bash", "resource": "*", "effect": "allow"}]}`, "", "bash ls: deny"},
		{"both forms", `{"permission": {"bash": "deny", "edit": "deny"}, "permissions": [{"action": "shell", "resource": "ls *", "effect": "allow"}]}`, "", "bash ls: allow, bash rm: deny, edit a: deny"},
		{"an agent of OpenCode 2", `{"permissions": [{"action": "edit", "resource": "*", "effect": "deny"}], "agents": {"rev": {"permissions": [{"action": "*", "resource": "*", "effect": "deny"}, {"action": "read", "resource": "*", "effect": "allow"}]}}}`, "rev", "read a: allow, edit a: deny, bash ls: deny"},
		{"a server of OpenCode 2", `{"permissions": [{"action": "files_delete", "resource": "*", "effect": "deny"}], "mcp": {"servers": {"files": {"type": "local", "command": ["x"]}, "off": {"command": ["x"], "disabled": true}}}}`, "", "files_read *: allow, files_delete *: deny, off_x *: deny"},
		{"other names in OpenCode 1", `{"permission": {"*": "ask", "shell": "allow", "subagent": "allow"}}`, "", "bash ls: allow, task x: allow"},

		{"a server", `{"mcp": {"files": {"command": ["x"]}}}`, "", "files_read *: allow, other_read *: deny"},
		{"a server that is off", `{"mcp": {"files": {"command": ["x"], "enabled": false}}}`, "", "files_read *: deny"},
		{"rules of a server", `{"permission": {"files_*": "allow", "files_delete": "deny"}, "mcp": {"files": {"command": ["x"]}}}`, "", "files_read *: allow, files_delete *: deny"},
		{"a switch of a server", `{"tools": {"files*": false}, "mcp": {"files": {"command": ["x"]}}}`, "", "files_read *: deny"},
		{"a server and a deny of everything", `{"permission": {"*": "ask", "files_read": "allow"}, "mcp": {"files": {"command": ["x"]}}}`, "", "files_read *: allow, files_delete *: deny, bash ls: deny"},
		{"a wildcard for tools of servers and others", `{"permission": {"*": "deny", "*ea*": "allow", "ed*": "allow"}, "mcp": {"files": {"command": ["x"]}}}`, "", "files_read *: allow, files_list *: deny, read a: allow, edit .github/a: deny, bash ls: deny"},
		{"a server for one agent", `{"tools": {"files_*": false}, "agent": {"rev": {"tools": {"files_*": true}}}, "mcp": {"files": {"command": ["x"]}}}`, "rev", "files_read *: allow"},
		{"a server not for one agent", `{"agent": {"rev": {"tools": {"files_*": false}}}, "mcp": {"files": {"command": ["x"]}}}`, "rev", "files_read *: deny, bash ls: allow"},
		{"a server and an agent that may do little", `{"permission": {"files_read": "allow"}, "agent": {"rev": {"permission": {"*": "deny", "files_read": "allow"}}}, "mcp": {"files": {"command": ["x"]}}}`, "rev", "files_read *: allow, files_delete *: deny"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			profile, err := Profile([]byte(tt.config), tt.agent)
			if err != nil {
				t.Fatal(err)
			}
			for decision := range strings.SplitSeq(tt.decisions, ", ") {
				at := strings.LastIndex(decision, ": ")
				name, subject, _ := strings.Cut(decision[:at], " ")
				if got := profile.Allows(name, subject); got != (decision[at+2:] == "allow") {
					t.Errorf("%s %s: allowed is %t, want %s\n%v", name, subject, got, decision[at+2:], profile.Rules)
				}
			}
		})
	}
}

// The profile that a manifest has is the one that was decided with, without a note about a difference.
func TestConversionIsChecked(t *testing.T) {
	for _, config := range []string{
		`{"permission": {"*": "ask", "bash": "allow", "edit": "deny"}}`,
		`{"permission": {"*": "ask", "edit": "allow"}, "agent": {"rev": {"permission": {"*": "deny", "edit": "allow", "read": {"*": "allow", "x/*": "deny"}}}}}`,
		`{"permission": {"edit": {"*.md": "allow", ".github/*": "deny"}, "read": {"*.env": "allow"}, "web*": "allow"}}`,
	} {
		_, notes, err := Convert(write(t, "opencode.json", config), known)
		if err != nil || strings.Contains(strings.Join(notes, "\n"), "is denied, although") {
			t.Errorf("%s: %v\n%s", config, err, strings.Join(notes, "\n"))
		}
	}
}

// What the check is for: it finds a profile that allows more than the rules, or less.
func TestCheckFindsDifferences(t *testing.T) {
	parsed, err := parse("opencode.json", []byte(`{"permission": {"bash": {"rm *": "deny", "ls *": "allow"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := newConverter(t.TempDir(), known, parsed)
	right := c.profile(rights(parsed))
	wrong := profile{node: newMapping(), written: newMapping(), extends: base}
	c.check(right, wrong.decider(profile{}))
	if err := c.guard.stopped(); err == nil || !strings.Contains(err.Error(), `bash "rm" would be allowed`) {
		t.Errorf("too much: %v", err)
	}
	wrong.written.set("bash", text("deny"), "")
	c.check(right, wrong.decider(profile{}))
	if notes := strings.Join(c.texts, "\n"); !strings.Contains(notes, `bash "ls" is denied, although OpenCode allows it`) {
		t.Errorf("too little: %s", notes)
	}
}

// Rules of several files count in the order of the files, whatever their form.
func TestRulesOfSeveralFiles(t *testing.T) {
	const second, first = `{"permissions": [{"action": "edit", "resource": "*", "effect": "allow"}]}`, `{"permission": {"edit": "deny"}}`
	for _, tt := range []struct {
		low, high string
		denied    bool
	}{{second, first, true}, {first, second, false}} {
		manifest, _, err := Convert(write(t, "opencode.json", tt.low, ".opencode/opencode.json", tt.high), known)
		if err != nil {
			t.Fatal(err)
		}
		if denied, _ := profiles(t, manifest); denied["opencode edit"] != tt.denied {
			t.Errorf("%s and then %s:\n%s", tt.low, tt.high, manifest)
		}
	}
}

// They would be offered without a rule, because millhand has them without a definition.
func TestSubagentsThatAreOffAreDeniedInTheManifest(t *testing.T) {
	t.Parallel()
	manifest, notes, err := Convert(write(t, "opencode.json", `{"model": "openai/m", "agent": {"general": {"disable": true}, "plan": {"disable": true}}}`), known)
	if err != nil || !strings.Contains(string(manifest), "profile: opencode\nprofiles:\n  opencode:\n    extends: build\n    permission:\n      task:\n        general: deny\n") {
		t.Errorf("%s, notes %q, %v", manifest, notes, err)
	}
}
