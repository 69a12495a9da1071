package oracle

import "testing"

var world = World{Dir: "/ws", Home: "/home/u", IsDir: func(p string) bool { return p == "/ext" || p == "/ext/dir" }}

// TestAllows has facts of OpenCode's documentation and source, each with the calls that
// are allowed ("+") or not ("-").
func TestAllows(t *testing.T) {
	type calls map[string][]string // of a tool
	tests := []struct {
		name, config, agent string
		calls               calls
	}{
		{"defaults", `{}`, "build", calls{
			"bash": {"+ls", "+rm -rf x; git push", "-cat /ext/f", "+head /ext/f", "-cd /ext", "+cd src"}, "edit": {"+a", "+.git/config", "-/ext/f"},
			"read": {"+a", "-.env", "-sub/x.env", "-.env.local", "+.env.example", "-/ext/f"}, "webfetch": {"+https://x"}, "task": {"+explore"}, "srv_do": {"+*"}, "question": {"-*"},
		}},
		{"one effect for everything, after the defaults", `{"permission": "allow"}`, "build", calls{"read": {"+.env", "+/ext/f"}, "bash": {"+cat /ext/f"}, "question": {"+*"}}},
		{"ask is deny", `{"permission": {"*": "ask", "read": "allow"}}`, "build", calls{"read": {"+.env", "-/ext/f"}, "bash": {"-ls"}}},
		{"the last match wins, not the most specific", `{"permission": {"bash": {"git *": "allow", "*": "deny"}, "edit": {"*": "deny", "src/*": "allow", "*.lock": "deny"}}}`, "build", calls{
			"bash": {"-git status"}, "edit": {"-a", "+src/a", "+src/x/y", "-src/x.lock"}, "write": {"+src/a"}, "apply_patch": {"-a"},
		}},
		{"names are patterns, in the order of the keys", `{"permission": {"srv_*": "deny", "srv_get": "allow", "web*": "deny", "*": "ask", "?ash": "allow"}}`, "build", calls{
			"srv_get": {"-*"}, "webfetch": {"-x"}, "bash": {"+ls"},
		}},
		{" * at the end", `{"permission": {"bash": {"*": "deny", "git *": "allow", "ls*": "allow", "go test ?": "allow"}}}`, "build", calls{
			"bash": {"+git", "+git a b", "-gitk", "+ls", "+lsof", "+go test x", "-go test", "-go test xy", "-FOO=1 git a"},
		}},
		{"each command of a line", `{"permission": {"bash": {"*": "deny", "git *": "allow", "echo *": "allow"}}}`, "build", calls{
			"bash": {"+git a && echo b", "-git a && rm b", "-git a | sh", "-git a; rm b", "-(git a; rm b)", "-echo $(rm b)", `-echo "$(rm b)"`, "+echo '$(rm b)'", "+echo a > f", "-rm b & git a", "+cd src && git a", "+A=1", "-A=$(rm b)"},
		}},
		{"home", `{"permission": {"external_directory": {"~/p/*": "allow"}}}`, "build", calls{"read": {"+/home/u/p/x/a", "-/home/u/q"}}},
		{"external and the tool", `{"permission": {"external_directory": {"/ext/*": "allow"}, "read": {"*secret*": "deny"}}}`, "build", calls{"read": {"+/ext/f", "-/ext/secret"}, "edit": {"+/ext/f"}}},
		{"paths are relative", `{"permission": {"read": {"*": "deny", "src/*": "allow", "/ws/doc/*": "allow"}}}`, "build", calls{"read": {"+src/a", "+/ws/src/a", "-doc/a"}}},
		{"switches are under the mapping", `{"tools": {"bash": false, "write": false}, "permission": {"bash": "allow"}}`, "build", calls{"bash": {"+ls"}, "edit": {"-a"}, "write": {"-a"}}},
		{"whose key keeps the switch's position", `{"tools": {"bash": false}, "permission": {"*": "deny", "bash": "allow"}}`, "build", calls{"bash": {"-ls"}}},
		{"a repeated key keeps its position", `{"permission": {"bash": "deny", "*": "deny", "bash": "allow"}}`, "build", calls{"bash": {"-ls"}}},
		{"an agent's rules come last", `{"permission": {"bash": "deny", "edit": "allow"}, "agent": {"rev": {"tools": {"edit": false}, "permission": {"bash": {"git *": "allow"}}}}}`, "rev", calls{"bash": {"+git a", "-ls"}, "edit": {"-a"}}},
		{"and hold for it only", `{"agent": {"rev": {"permission": {"*": "deny"}}}}`, "build", calls{"bash": {"+ls"}}},
		{"plan", `{}`, "plan", calls{"edit": {"-a", "+.opencode/plans/x.md"}, "bash": {"+ls"}}},
		{"plan after the file's rules", `{"permission": {"*": "allow"}}`, "plan", calls{"edit": {"+a"}}},
		{"explore", `{}`, "explore", calls{"edit": {"-a"}, "bash": {"+ls"}, "task": {"-x"}, "grep": {"+x"}}},

		{"a list", `{"permissions": [{"action": "*", "resource": "*", "effect": "ask"}, {"action": "shell", "resource": "git *", "effect": "allow"}, {"action": "subagent", "resource": "exp*", "effect": "allow"}]}`, "build", calls{
			"bash": {"+git a", "-ls"}, "task": {"+explore", "-rev"}, "read": {"-a"},
		}},
		{"version 1's names are no actions of a list", `{"permissions": [{"action": "bash", "resource": "*", "effect": "deny"}, {"action": "task", "resource": "*", "effect": "deny"}, {"action": "write", "resource": "*", "effect": "deny"}]}`, "build", calls{"bash": {"+ls"}, "task": {"+x"}, "edit": {"+a"}}},
		{"a list after the mapping after the switches", `{"permissions": [{"action": "shell", "resource": "rm *", "effect": "deny"}], "permission": {"*": "deny", "bash": "allow"}, "tools": {"bash": false, "write": true}}`, "build", calls{"bash": {"+ls", "-rm a"}, "edit": {"-a"}}},
		{"absolute rules match absolute paths", `{"permissions": [{"action": "edit", "resource": "*", "effect": "deny"}, {"action": "edit", "resource": "/ws/src/*", "effect": "allow"}]}`, "build", calls{"edit": {"+src/a", "-a"}}},
		{"an agent's list", `{"agents": {"rev": {"permissions": [{"action": "shell", "resource": "*", "effect": "deny"}]}}}`, "rev", calls{"bash": {"-ls"}, "edit": {"+a"}}},
		{"replaces the agent of version 1", `{"agent": {"rev": {"permission": {"edit": "deny"}}}, "agents": {"rev": {"permissions": [{"action": "shell", "resource": "*", "effect": "deny"}]}}}`, "rev", calls{"bash": {"-ls"}, "edit": {"+a"}}},
		{"files of commands are not asked for", `{"permissions": []}`, "build", calls{"bash": {"+cat /ext/f", "-cd /ext"}, "read": {"-.env"}}},
	}
	for _, tt := range tests {
		c, err := Parse([]byte(tt.config), world)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for tool, subjects := range tt.calls {
			for _, s := range subjects {
				if got, want := c[0].Allows(tt.agent, Call{tool, s[1:]}, world), s[0] == '+'; got != want {
					t.Errorf("%s: %s %q is allowed: %v", tt.name, tool, s[1:], got)
				}
			}
		}
	}
}

func TestMatches(t *testing.T) {
	tests := []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true},
		{"*", "a\nb/c", true},
		{"*.env", "x/.env", true},
		{"*.env", ".env.local", false},
		{"src/**", "src/a/b", true},
		{"src/*", "src", false},
		{"a?c", "a/c", true},
		{"?", "", false},
		{"git *", "git", true},
		{"git *", "git ", true},
		{"git *", "gitk", false},
		{"git push *", "git pushx", false},
		{"a.b", "axb", false},
		{"a+(b)", "a+(b)", true},
		{"LS", "ls", false},
		{`a\b`, "a/b", true},
		{"a/b", `a\b`, true},
		{"* *", "ls", true},
		{"* *", "ls -l", true},
		{" *", "", true},
	}
	for _, tt := range tests {
		if got := matches(tt.pattern, tt.text); got != tt.want {
			t.Errorf("matches(%q, %q) = %v", tt.pattern, tt.text, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, config := range []string{``, `[]`, `{} x`, `{"permission": {"bash": 1}}`, `{"permissions": [{"action": "shell"}]}`} {
		if _, err := Parse([]byte(config), world); err == nil {
			t.Errorf("Parse(%s) succeeded", config)
		}
	}
}
