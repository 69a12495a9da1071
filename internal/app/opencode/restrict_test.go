package opencode

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"gopkg.in/yaml.v3"
)

// profiles returns what the profiles of a manifest deny, as PROFILE PERMISSION [PATTERN], and the profile of its task.
func profiles(t *testing.T, manifest []byte) (denied map[string]bool, profile string) {
	t.Helper()
	var doc struct {
		Profile  string
		Profiles map[string]struct{ Permission map[string]any }
		Tasks    []struct{ Profile string }
	}
	if err := yaml.Unmarshal(manifest, &doc); err != nil {
		t.Fatal(err)
	}
	denied = map[string]bool{}
	for name, p := range doc.Profiles {
		for permission, rule := range p.Permission {
			if rule == "deny" {
				denied[name+" "+permission] = true
			}
			patterns, _ := rule.(map[string]any)
			for pattern, effect := range patterns {
				if effect == "deny" {
					denied[name+" "+permission+" "+pattern] = true
				}
			}
		}
	}
	if doc.Tasks[0].Profile != "" {
		return denied, doc.Tasks[0].Profile
	}
	return denied, doc.Profile
}

// Whatever restricts in OpenCode does so in the manifest, or nothing is converted.
func TestRestrictionsAreConvertedOrStop(t *testing.T) {
	const ask = `{"permissions":[{"action":"*","resource":"*","effect":"ask"},{"action":"shell","resource":"git push *","effect":"deny"}]}`
	tests := []struct{ name, file, text, want string }{ // want: what is denied, or ! and what the error contains
		{"permissions of OpenCode 2", "opencode.json", ask, "opencode *, opencode bash git push *"},
		{"in another file", ".opencode/opencode.jsonc", "{\n  // rules\n" + ask[1:], "opencode *, opencode bash git push *"},
		{"an unknown key", "opencode.json", `{"foo": 1}`, "!opencode.json:1: unknown key foo"},
		{"a key in other letters", "opencode.json", `{"Permission": {"edit": "deny"}}`, "!unknown key Permission"},
		{"a later schema", "opencode.json", `{"$schema": "https://opencode.ai/config/v3.json"}`, "!is not that of OpenCode 1 or 2"},
		{"another schema", "opencode.json", `{"$schema": "https://opencode.ai/next.json"}`, "!is not that of OpenCode 1"},
		{"an agent of OpenCode 2", "opencode.json", `{"agents": {"build": {"permissions": [{"action": "edit", "resource": "*", "effect": "deny"}]}}}`, "agent-build edit"},
		{"steps of an agent of OpenCode 2", "opencode.json", `{"agents": {"build": {"steps": "many"}}}`, "!agent.build.steps is not a number"},
		{"both forms in one file", "opencode.json", `{"permission": {"edit": "deny"}, "permissions": [{"action": "shell", "resource": "rm *", "effect": "deny"}]}`, "opencode edit, opencode bash rm *"},
		{"both forms of an agent", "opencode.json", `{"agent": {"x": {"permission": {"edit": "deny"}}}, "agents": {"x": {"permissions": [{"action": "subagent", "resource": "*", "effect": "ask"}]}}}`, "agent-x edit, agent-x task"},
		{"an agent that is off in OpenCode 2", "opencode.json", `{"agents": {"build": {"disabled": true}}}`, "readonly"},
		{"permissions that are no list", "opencode.json", `{"permissions": {"edit": "deny"}}`, "!permissions is not a list"},
		{"permissions that are nothing", "opencode.json", `{"permissions": null}`, "!permissions is not a list"},
		{"a rule without an effect", "opencode.json", `{"permissions": [{"action": "edit", "resource": "*"}]}`, "!opencode.json:1: permissions: effect is not allow, ask or deny"},
		{"a rule without a resource", "opencode.json", `{"permissions": [{"action": "edit", "effect": "deny"}]}`, "!permissions: a rule has action, resource and effect"},
		{"a rule with a list", "opencode.json", `{"permissions": [{"action": ["edit"], "resource": "*", "effect": "deny"}]}`, "!permissions: a rule has action, resource and effect"},
		{"a rule with a condition", "opencode.json", `{"permissions": [{"action": "edit", "resource": "*", "effect": "allow", "when": "main"}]}`, "!permissions: unknown key when of a rule"},
		{"a rule that is a text", "opencode.json", `{"permissions": ["edit"]}`, "!permissions: a rule has action, resource and effect"},
		{"an unknown effect", "opencode.json", `{"permissions": [{"action": "edit", "resource": "*", "effect": "block"}]}`, "!permissions: effect is not allow, ask or deny"},
		{"names of OpenCode 1 in a list", "opencode.json", `{"permissions": [{"action": "bash", "resource": "rm *", "effect": "deny"}, {"action": "write", "resource": "*", "effect": "deny"}]}`, "opencode bash rm *, opencode edit"},
		{"commands that are a text", "opencode.json", `{"commands": "x"}`, "!command is not an object"},
		{"rules of a command of OpenCode 2", "opencode.json", `{"commands": {"x": {"template": "x", "permissions": [{}]}}}`, "!unknown key command.x.permissions"},
		{"options of a plugin of OpenCode 2", "opencode.json", `{"plugins": [{"package": "guard", "options": {"deny": ["rm"]}}]}`, "!unknown key plugin.deny"},
		{"a key of a plugin of OpenCode 2", "opencode.json", `{"plugins": [{"package": "guard", "permissions": ["read"]}]}`, "!unknown key plugin.permissions"},
		{"policies of OpenCode 2", "opencode.json", `{"policies": [{"effect": "deny", "action": "tool.use", "resource": "shell:*"}]}`, "!unknown key policies"},
		{"a server of OpenCode 2 that may be off", "opencode.json", `{"mcp": {"servers": {"x": {"type": "local", "command": ["x"], "disabled": "yes"}}}}`, "!unknown key mcp.x.disabled"},
		{"a policy of a provider of OpenCode 2", "opencode.json", `{"providers": {"x": {"policy": "eu"}}}`, "!unknown key provider.x.policy"},
		{"a provider of OpenCode 2 that is off", "opencode.json", `{"model": {"providerID": "openai", "model": "m"}, "disabled_providers": ["openai"]}`, "!disabled_providers excludes openai/m"},
		{"no subagents", "opencode.json", `{"subagent_depth": 0}`, "!subagent_depth permits no subagents"},
		{"a version", "opencode.json", `{"version": 2}`, "!unknown key version"},

		{"rules", "opencode.json", `{"permission": {"edit": "deny"}}`, "opencode edit"},
		{"one rule", "opencode.json", `{"permission": "ask"}`, "opencode *"},
		{"rules as a list", "opencode.json", `{"permission": [{"edit": "deny"}]}`, "!permission is not allow, ask or deny"},
		{"an unknown action", "opencode.json", `{"permission": {"edit": "never"}}`, "!permission.edit is not allow, ask or deny"},
		{"an unknown action of a pattern", "opencode.json", `{"permission": {"bash": {"git *": "never"}}}`, "!permission.bash.git * is not allow, ask or deny"},
		{"a rule that is no action", "opencode.json", `{"permission": {"bash": false}}`, "!permission.bash is not"},
		{"a rule that is a list", "opencode.json", `{"permission": {"bash": ["git *"]}}`, "!permission.bash is not"},
		{"rules that are nothing", "opencode.json", `{"permission": null}`, "!permission is not"},
		{"a wildcard", "opencode.json", `{"permission": {"b*": "deny"}}`, "opencode bash"},
		{"a wildcard of another name", "opencode.json", `{"permission": {"wr?te": "ask"}}`, "opencode edit"},
		{"a wildcard before a tool", "opencode.json", `{"permission": {"b*": "deny", "bash": {"git *": "allow"}}}`, "opencode bash *"},
		{"a wildcard after a tool", "opencode.json", `{"permission": {"bash": {"rm *": "deny"}, "b*": {"git *": "allow", "git push*": "deny"}}}`, "opencode bash rm *, opencode bash git push*"},
		{"a wildcard after all", "opencode.json", `{"permission": {"bash": {"rm *": "deny"}, "*": "deny", "b*": {"x": "deny"}}}`, "opencode *, opencode bash x"},
		{"another name of a tool", "opencode.json", `{"permission": {"shell": {"git push *": "deny"}}}`, "opencode bash git push *"},
		{"another name that allows", "opencode.json", `{"permission": {"edit": "deny", "write": {"*": "allow"}}}`, "opencode edit"},

		{"switches", "opencode.json", `{"tools": {"bash": false}}`, "opencode bash"},
		{"switches by a wildcard", "opencode.json", `{"tools": {"b*": false}, "permission": {"bash": {"git *": "allow"}}}`, "opencode bash *"},
		{"switches as a list", "opencode.json", `{"tools": ["read"]}`, "!tools is not an object"},
		{"a switch that is a text", "opencode.json", `{"tools": {"bash": "false"}}`, "!tools.bash is not true or false"},

		{"rules of an agent", "opencode.json", `{"agent": {"build": {"permission": {"bash": "deny"}}}}`, "agent-build bash"},
		{"rules of a mode", "opencode.json", `{"mode": {"build": {"tools": {"bash": false}}}}`, "agent-build bash"},
		{"permissions of an agent", "opencode.json", `{"agent": {"build": {"permissions": []}, "x": {"permissions": [{}]}}}`, "!agent.x.permissions: a rule has action, resource and effect"},
		{"an unknown action of an agent", "opencode.json", `{"agent": {"build": {"permission": {"edit": "no"}}}}`, "!agent.build.permission.edit is not"},
		{"options of an agent", "opencode.json", `{"agent": {"build": {"options": {"allowedTools": ["read"]}}}}`, "!unknown key agent.build.options.allowedTools"},
		{"a disabled agent", "opencode.json", `{"agent": {"build": {"disable": true}}}`, "readonly"},
		{"an agent disabled by a text", "opencode.json", `{"agent": {"x": {"disable": "true"}}}`, "!agent.x.disable is not true or false"},
		{"an agent that may be off", "opencode.json", `{"agent": {"x": {"disabled": "yes"}}}`, "!agent.x.disable is not true or false"},
		{"agents as a list", "opencode.json", `{"agent": [{"name": "build", "permission": "deny"}]}`, "!agent is not an object"},
		{"an unknown mode", "opencode.json", `{"agent": {"x": {"mode": "readonly"}}}`, "!agent.x.mode is not primary, subagent or all"},
		{"steps as a text", "opencode.json", `{"agent": {"x": {"steps": "5"}}}`, "!agent.x.steps is not a number"},
		{"two agents of one name", "opencode.json", `{"mode": {"build": {"prompt": "x"}}, "agent": {"build": {"permission": "deny"}}}`, "!is defined twice as build"},
		{"a default agent that is no name", "opencode.json", `{"default_agent": {"name": "plan"}}`, "!default_agent is not a string"},

		{"a sandbox of a server", "opencode.json", `{"mcp": {"x": {"type": "local", "command": ["x"], "sandbox": true}}}`, "!unknown key mcp.x.sandbox"},
		{"tools of a server", "opencode.json", `{"mcp": {"x": {"type": "local", "command": ["x"], "tools": {"exclude": ["rm"]}}}}`, "!unknown key mcp.x.tools"},
		{"a server that is off by a text", "opencode.json", `{"mcp": {"x": {"command": ["x"], "enabled": "no"}}}`, "!mcp.x.enabled is not true or false"},
		{"permissions of a command", "opencode.json", `{"command": {"x": {"template": "x", "permissions": [{}]}}}`, "!unknown key command.x.permissions"},
		{"a policy of a provider", "opencode.json", `{"provider": {"x": {"policy": "eu"}}}`, "!unknown key provider.x.policy"},
		{"a disabled model", "opencode.json", `{"provider": {"x": {"models": {"m": {"disabled": true}}}}}`, "!unknown key provider.x.models.m.disabled"},
		{"options of a plugin", "opencode.json", `{"plugin": [["guard", {"deny": ["rm"]}]]}`, "!unknown key plugin.deny"},
		{"policies", "opencode.json", `{"experimental": {"policies": [{"effect": "deny", "action": "provider.use", "resource": "*"}]}}`, "!unknown key experimental.policies"},
		{"tools of primary agents", "opencode.json", `{"experimental": {"primary_tools": ["bash"]}}`, "!unknown key experimental.primary_tools"},

		{"a disabled provider", "opencode.json", `{"model": "openai/m", "disabled_providers": ["openai"]}`, "!disabled_providers excludes openai/m"},
		{"other providers", "opencode.json", `{"model": "openai/m", "enabled_providers": ["anthropic"]}`, "!enabled_providers excludes openai/m"},
		{"other providers without a model", "opencode.json", `{"enabled_providers": ["anthropic"]}`, "!enabled_providers excludes openai/gpt-5-mini"},
		{"providers that are no list", "opencode.json", `{"disabled_providers": "openai"}`, "!disabled_providers is not a list of strings"},
		{"a model outside of a list", "opencode.json", `{"model": "openai/m", "provider": {"openai": {"whitelist": ["n"]}}}`, "!whitelist excludes openai/m"},
		{"an excluded model", "opencode.json", `{"agent": {"x": {"model": "openai/m"}}, "provider": {"openai": {"blacklist": ["m"]}}}`, "!blacklist excludes openai/m"},

		{"permissions of an agent's file", ".opencode/agent/x.md", "---\ndescription: x\npermissions: [{action: edit, effect: deny}]\n---\nx\n", "!.opencode/agent/x.md:3: agent permissions: a rule has action, resource and effect"},
		{"an unknown action in an agent's file", ".opencode/agents/x.md", "---\npermission: {edit: never}\n---\nx\n", "!.opencode/agents/x.md:2: agent permission.edit is not"},
		{"an agent's file in a subdirectory", ".opencode/agent/a/x.md", "---\nsteps: few\n---\nx\n", "!.opencode/agent/a/x.md:2: agent steps is not a number of steps"},
		{"an agent's file that is not YAML", ".opencode/agent/x.md", "---\na: [\n---\nx\n", "!.opencode/agent/x.md:1: its frontmatter can't be read"},
		{"tools of a command's file", ".opencode/command/x.md", "---\ndisallowed-tools: Read\n---\nx\n", "!.opencode/command/x.md:2: unknown key disallowed-tools"},
		{"permissions of a command's file", ".opencode/commands/a/x.md", "---\npermissions: [a]\n---\nx\n", "!unknown key permissions"},
		{"rules of a mode's file", ".opencode/mode/build.md", "---\ntools: {bash: false}\n---\nx\n", "!.opencode/mode/build.md:2: tools of a mode: move the file"},
		{"a disabled agent's file", ".opencode/agent/build.md", "---\ndisable: true\n---\nx\n", "!.opencode/agent/build.md:2: agent build is disabled"},
		{"a file of rules", ".opencode/permissions.json", "{}", "!.opencode/permissions.json: unknown file or directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			manifest, _, err := Convert(write(t, tt.file, tt.text, "AGENTS.md", ""), known)
			if want, stops := strings.CutPrefix(tt.want, "!"); stops {
				if err == nil || !strings.Contains(err.Error(), want) || manifest != nil {
					t.Errorf("got %v, want %q; manifest:\n%s", err, want, manifest)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			denied, profile := profiles(t, manifest)
			for want := range strings.SplitSeq(tt.want, ", ") {
				if !denied[want] && profile != want {
					t.Errorf("%s is not denied:\n%s", want, manifest)
				}
			}
		})
	}
}

// A rule of an agent that also has a file would be lost, as only the file is read.
func TestRulesBesideAnAgentsFileStop(t *testing.T) {
	for config, stops := range map[string]bool{
		`{"agent": {"x": {"model": "openai/m"}}}`:            false,
		`{"agent": {"x": {"permission": {"edit": "deny"}}}}`: true,
		`{"agent": {"x": {"tools": {"bash": false}}}}`:       true,
		`{"agent": {"x": {"steps": 5}}}`:                     true,
		`{"agent": {"x": {"disable": true}}}`:                true,
	} {
		_, _, err := Convert(write(t, "opencode.json", config, ".opencode/agent/x.md", "---\ndescription: x\n---\nx\n"), known)
		if (err != nil) != stops || stops && !strings.Contains(err.Error(), "agent x also has a Markdown file") {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// All restrictions are listed, each with its location.
func TestEveryRestrictionIsListed(t *testing.T) {
	_, notes, err := Convert(write(t, "opencode.json", "{\"theme\": \"x\",\n\"policy\": {},\n\"permission\": [],\n\"agent\": {\"x\": {\n\"sandbox\": true}}}"), known)
	for _, want := range []string{"opencode.json:2: unknown key policy", "opencode.json:3: permission is not", "opencode.json:5: unknown key agent.x.sandbox"} {
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("%v does not contain %q once", err, want)
		}
	}
	if !slices.Contains(notes, "opencode.json:1: theme has no counterpart") {
		t.Errorf("notes %q", notes)
	}
}

// Keys that can't restrict are notes, or nothing.
func TestHarmlessKeysDoNotStop(t *testing.T) {
	for key, about := range harmless {
		value := `{"a": {"deny": ["x"]}}`
		switch key {
		case "$schema":
			value = `"https://opencode.ai/config.json"`
		case "disabled_providers":
			value = `["x"]`
		case "enabled_providers":
			value = `["openai"]`
		case "small_model", "logLevel", "username", "shell", "share", "snapshot", "layout", "autoshare", "autoupdate", "theme", "reference", "references":
			value = `"disabled"`
		}
		_, notes, err := Convert(write(t, "opencode.json", fmt.Sprintf(`{"model": "openai/m", %q: %s}`, key, value)), known)
		if err != nil || len(notes) != 2 && key != "$schema" || about == "" {
			t.Errorf("%s (%s): %v, notes %q", key, about, err, notes)
		}
	}
	for _, config := range []string{
		`{"keybinds": {"permission_allow": "a", "tools": "b"}}`,
		`{"experimental": {"disable_paste_summary": true, "batch_tool": false, "continue_loop_on_deny": false, "mcp_timeout": 5, "primary_tools": []}}`,
		`{"agent": {"allow-list": {"description": "d", "variant": "high", "hidden": true, "reasoningEffort": "high", "options": {"thinking": {"type": "x"}}}}}`,
		`{"mcp": {"tools": {"type": "local", "command": ["x"], "environment": {"ALLOWED": "{env:A}"}, "enabled": false}}}`,
		`{"provider": {"openai": {"options": {"headers": {"X-Allow": "{env:A}"}}, "whitelist": ["m"], "models": {"m": {"tool_call": true, "variants": {"low": {"disabled": true}}}}}}, "model": "openai/m"}`,
		`{"formatter": {"prettier": {"disabled": true}}, "lsp": {"eslint": {"disabled": true}}}`,
		`{"command": {"deny": {"template": "x", "agent": "plan", "model": "a/b", "subtask": true}}}`,
		`{"provider": {"x": {"models": {"m": {"options": {"parallel_tool_calls": false, "reasoning": {"enabled": true}}}}}}, "agent": {"x": {"options": {"reasoning": {"enabled": true}}}}}`,
		`{"permission": {}, "tools": {}, "agent": {}, "mode": {}, "plugin": [["x", {"level": 3}]]}`,
	} {
		if _, _, err := Convert(write(t, "opencode.json", config), known); err != nil {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// No key outside of the table gets a manifest.
func FuzzUnknownKeys(f *testing.F) {
	for _, key := range []string{"permissions", "deny", "x", "Tools", "permission ", "agentz", "", "__proto__", "sandbox", "mcp2"} {
		f.Add(key, `{"*": "deny"}`)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		if harmless[key] != "" || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' || unicode.IsControl(r) || strings.ContainsRune(`"\`, r) }) {
			return
		}
		if regexp.MustCompile(`^(` + strings.Join(handled, "|") + `)$`).MatchString(key) {
			return
		}
		if manifest, _, err := Convert(write(t, "opencode.json", fmt.Sprintf(`{"%s": %s}`, key, value)), known); err == nil {
			t.Errorf("%q: %s", key, manifest)
		}
	})
}
