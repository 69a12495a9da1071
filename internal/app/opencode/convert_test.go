package opencode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// write makes a directory of files, each NAME followed by its text.
func write(tb testing.TB, files ...string) string {
	tb.Helper()
	dir := tb.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

var known = Known{
	Provider: func(name string) bool {
		return slices.Contains([]string{"openai", "together", "bedrock", "vertex"}, name)
	},
	LanguageServer: func(name string) bool { return name == "gopls" || name == "php" },
}

// converted returns the manifest without its first lines, and the notes.
func converted(t *testing.T, dir string) (string, string) {
	t.Helper()
	manifest, notes, err := Convert(dir, known)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(manifest), "version: 1\n")
	rest, _, found := strings.Cut(rest, "tasks:\n")
	if !ok || !found {
		t.Errorf("incomplete manifest:\n%s", manifest)
	}
	notes = slices.DeleteFunc(notes, func(note string) bool { return strings.Contains(note, webDenied) })
	return rest, strings.Join(notes, "\n")
}

// webDenied is in a note of nearly each conversion.
const webDenied = ": webfetch is denied, and allowed in OpenCode"

// OpenCode allows webfetch by default, and nearly no configuration mentions it.
func TestDefaultOfWebfetchIsNoted(t *testing.T) {
	for config, noted := range map[string]bool{
		`{}`: true, `{"permission": "allow"}`: true, `{"permission": {"bash": "deny"}}`: true,
		`{"permission": {"webfetch": "allow"}}`: false, `{"permission": {"webfetch": {"https://a/*": "allow"}}}`: false, `{"permission": {"*": "deny"}}`: false,
		`{"permissions": [{"action": "webfetch", "resource": "*", "effect": "ask"}]}`: false,
	} {
		_, notes, err := Convert(write(t, "opencode.json", config), known)
		if got := strings.Contains(strings.Join(notes, "\n"), "opencode.json:1"+webDenied); err != nil || got != noted {
			t.Errorf("%s: %v, %q", config, err, notes)
		}
	}
}

// Variables are copied unless they may be keys.
func TestValuesThatMayBeKeys(t *testing.T) {
	for variable, key := range map[string]bool{
		"NODE_ENV=production": false, "LOG_LEVEL=debug": false, "PORT=8080": false, "ROOT=./data/notes": false, "BASE=https://api.example.com/v1": false, "DATE=2026-01-02": false,
		"API_KEY=x": true, "GITHUB_PAT=x": true, "MY_AUTH=x": true, "DB=postgres://u:p@h/db": true, "URL=https://h/x?sig=1": true, "ID=4f1c0d9e8b7a6f5e4d3c": true,
		"X=ghp_" + "0123456789abcdefghijABCDEFGHIJ012345": true, "Y=zX9kQ2mB7vN4cR1tL8pW": true, "Z=": true,
	} {
		name, value, _ := strings.Cut(variable, "=")
		if got := mayBeKey(name, value); got != key {
			t.Errorf("%s: %t", variable, got)
		}
	}
}

func TestConvert(t *testing.T) {
	tests := []struct{ name, config, want, notes string }{
		{"nothing to convert", `{"theme": "x",}`, "model: openai/gpt-5-mini # no model of opencode.json can be used: choose one\nprofile: build\n", "opencode.json:1: theme has no counterpart"},
		{"a model under another name", `{"model": "togetherai/org/m" /* comment */}`, "model: together/org/m\nprofile: build\n", ""},
		{
			"an unknown provider", `{"model": "github-copilot/m"}`, "model: openai/gpt-5-mini # no model of opencode.json can be used: choose one\nprofile: build\n",
			`opencode.json:1: model "github-copilot/m" is not converted: millhand has no provider "github-copilot", and the configuration defines no endpoint for it`,
		},
		{"ask is deny, in the same order", `{"model": "openai/m", "permission": {"edit": "ask", "bash": {"*": "ask", "git *": "allow", "git push*": "deny"}}}`, `model: openai/m
profile: opencode
profiles:
  opencode:
    extends: build
    permission:
      edit: deny # "ask" in OpenCode: nobody can be asked
      bash:
        '*': deny # "ask" in OpenCode: nobody can be asked
        git *: allow
        git push*: deny
`, ""},
		{
			"allow grants no more than the preset", `{"model": "openai/m", "permission": "allow", "tools": {"bash": true}}`, "model: openai/m\nprofile: build\n",
			"opencode.json:1: permission *: allow is not converted: profile build allows what OpenCode does by default, except external directories, *.env files and files that steer CI and agents; name those that are needed",
		},
		{"switches come before permissions", `{"model": "openai/m", "tools": {"write": false, "webfetch": false, "my_*": false}, "permission": {"edit": {"docs/*": "allow"}, "webfetch": "allow"}}`, `model: openai/m
profile: opencode
profiles:
  opencode:
    extends: build
    permission:
      edit:
        docs/*: allow
      webfetch: allow
`, "opencode.json:1: webfetch reaches only hosts that the profile names: add network: [HOST] (and search: for websearch and codesearch)\n" +
			"opencode.json:1: rules are not converted for my_*: no built-in tools or tools of converted MCP servers have these names"},
		{"an endpoint", `{"model": "house/big", "provider": {"house": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://h/v1", "apiKey": "sk-secret", "headers": {"X-A": "{env:A}", "X-B": "secret"}}}}}`, `model: house/big
profile: build
providers:
  house:
    kind: openai
    base_url: http://h/v1
    key_env: HOUSE_API_KEY
    headers:
      X-A: ${{ env.A }}
`, "opencode.json:1: provider house: set the key in the variable HOUSE_API_KEY; it is not copied to the manifest\n" +
			"opencode.json:1: provider house: header X-B is not copied, as it may be secret; write it with ${{ env.NAME }}"},
		{"an agent", `{"model": "openai/m", "agent": {"my reviewer": {"description": "Reviews.", "mode": "subagent", "temperature": 0.1, "maxSteps": 5, "top_p": 1, "color": "#fff", "tools": {"write": false}, "prompt": "Review."}, "off": {"disable": true}}}`, `model: openai/m
profile: build
profiles:
  agent-my-reviewer:
    extends: build
    permission:
      edit: deny
agents:
  my-reviewer:
    description: Reviews.
    mode: subagent
    temperature: 0.1
    turns: 5
    profile: agent-my-reviewer
    prompt: Review.
`, "opencode.json:1: agent \"my reviewer\" is named my-reviewer\nopencode.json:1: agent my-reviewer: top_p, color not converted"},
		{
			"plugins", `{"model": "openai/m", "plugin": ["opencode-x@1.2.3", ["@a/y", {"level": 3}], "./guard.ts", "./pkg", "file://guard.ts", "./none.ts", "../x\n- y", "./notes.md"]}`,
			"model: openai/m\nprofile: build\n# Plugins that are packages: install them here, and add their paths to plugins:\n# ./node_modules/opencode-x (npm install opencode-x@1.2.3)\n# ./node_modules/@a/y (npm install @a/y)\nplugins: [./guard.ts, ./pkg]\n",
			`opencode.json:1: plugin "opencode-x@1.2.3" is not converted: a run installs no packages; npm install it here, and add ./node_modules/opencode-x to plugins
opencode.json:1: the options of plugin "@a/y" are not converted: write {path: PATH, options: {KEY: VALUE}}
opencode.json:1: plugin "@a/y" is not converted: a run installs no packages; npm install it here, and add ./node_modules/@a/y to plugins
opencode.json:1: plugin "guard.ts" is not converted: it is not a file or a package in this directory
opencode.json:1: plugin "./none.ts" is not converted: it is not a file or a package in this directory
opencode.json:1: plugin "../x\n- y" is not converted: it is not a file or a package in this directory
opencode.json:1: plugin "./notes.md" is not converted: it is not a file or a package in this directory`,
		},
		{
			"only packages", `{"model": "openai/m", "plugin": ["p"]}`,
			"model: openai/m\nprofile: build\n# Plugins that are packages: install them here, and add their paths to plugins:\n# ./node_modules/p (npm install p)\n",
			`opencode.json:1: plugin "p" is not converted: a run installs no packages; npm install it here, and add ./node_modules/p to plugins`,
		},
		{
			"language servers", `{"model": "openai/m", "lsp": {"gopls": {"env": {"GOFLAGS": "{env:GOFLAGS}", "B": "x"}, "initialization": {"buildFlags": ["-tags=x", "{env:A}"], "hints": {"all": true, "n": 2}, "licenceKey": "x", "dir": "{env:DIR}"}, "x": 1}, "php intelephense": {"disabled": true}, "own": {"command": ["own-server", "--stdio"], "extensions": [".own", "own"]}, "eslint": {"disabled": true}, "bare": {"command": ["bare"]}, "a b": {"command": ["x"], "extensions": [".x"]}, "home": {"command": ["{env:HOME}/x"], "extensions": [".x"]}}}`,
			`model: openai/m
profile: build
lsp:
  gopls:
    env:
      GOFLAGS: '{env:GOFLAGS}'
      B: x
    initialization:
      buildFlags:
        - -tags=x
      hints:
        all: true
        n: 2
  php:
    disabled: true
  own:
    command: [own-server, --stdio]
    extensions: [.own]
`, `opencode.json:1: lsp.gopls.initialization.buildFlags is not converted: options can't contain variables
opencode.json:1: lsp.gopls.initialization.licenceKey is not converted, as its value could be a key
opencode.json:1: lsp.gopls.initialization.dir is not converted: options can't contain variables
opencode.json:1: lsp.gopls.x has no counterpart
opencode.json:1: lsp.own.extensions "own" is not converted: write an extension with its dot
opencode.json:1: lsp.eslint is not converted: it has no command, and millhand has none for this name
opencode.json:1: lsp.bare is not converted: it has no extensions, and millhand has none for this name
opencode.json:1: lsp.a b is not converted: a name has up to 32 letters, digits, _ and -
opencode.json:1: lsp.home is not converted: its command contains variables
opencode.json:1: lsp uses only the servers that it names, and downloads none; lsp: true uses the known ones that are on PATH`,
		},
		{
			"options nested too deeply", `{"model": "openai/m", "lsp": {"gopls": {"initialization": {"a": ` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `}}}}`,
			"model: openai/m\nprofile: build\nlsp:\n  gopls:\n    initialization:\n      a:\n        -" + strings.Repeat(" -", 18) + " []\n",
			"opencode.json:1: lsp.gopls.initialization.a is not converted: options are nested too deeply\nopencode.json:1: lsp uses only the servers that it names, and downloads none; lsp: true uses the known ones that are on PATH",
		},
		{
			"servers", `{"model": "openai/m", "mcp": {"files": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "{env:TOKEN}", "B": "literal", "PASSWORD": "x", "API": "https://api.example.com:8443/v1"}, "timeout": 5000, "cwd": "y"}, "far": {"type": "remote", "url": "https://h.example/mcp?key=a", "oauth": {}, "headers": {"Authorization": "Bearer {env:FAR}", "X": "literal"}}, "a b": {"command": ["x"]}, "c": {}, "off": {"command": ["z"], "enabled": false}}}`,
			"model: openai/m\nprofile: opencode\nprofiles:\n  opencode:\n    extends: build\n    permission:\n      files_*: allow\n      far_*: allow\nmcp:\n  files:\n    command: [npx, -y, x]\n    environment:\n      A: '{env:TOKEN}'\n      B: literal\n      API: https://api.example.com:8443/v1\n    cache: [npm]\n    network: [npm, api.example.com]\n    optional: true\n    timeout: 5000\n  far:\n    type: remote\n    url: https://h.example/mcp\n    headers:\n      Authorization: Bearer {env:FAR}\n    optional: true\n  off:\n    command: [z]\n    enabled: false\n    optional: true\n",
			`opencode.json:1: mcp.files.environment.PASSWORD is not converted, as its value could be a key: write it yourself, or ${{ env.NAME }}
opencode.json:1: mcp.files reaches only npm, api.example.com: add others to its network
opencode.json:1: mcp.files.cwd has no counterpart
opencode.json:1: mcp.far.url is converted without its query, which could contain a key: write it yourself
opencode.json:1: mcp.far.headers.X is not converted, as its value could be a key: write it yourself, or ${{ env.NAME }}
opencode.json:1: mcp.far.oauth is not converted: nobody can log in during a run; write a token in headers
opencode.json:1: mcp.a b is not converted: a name has up to 32 letters, digits, _ and -
opencode.json:1: mcp.c is not converted: it has no command
opencode.json:1: mcp.off has no network: add network: [HOST] to it`,
		},
		{
			"settings with another name", `{"model": "openai/m", "experimental": {"batch_tool": true, "continue_loop_on_deny": true}, "tool_output": {"max_lines": 500, "max_bytes": 9000}, "skills": {"paths": ["skills"]}}`,
			"model: openai/m\nprofile: build\nbatch: true\ntool_output:\n  lines: 500\n  bytes: 9000\nskills: [skills]\n", "",
		},
		{
			"settings that the manifest can't have", `{"model": "openai/m", "experimental": {"batch_tool": false, "openTelemetry": true}, "tool_output": {"max_lines": 0, "max_bytes": 99999999, "x": 1}, "skills": {"paths": ["none", "~/x", "/tmp"], "urls": ["https://example.com/s"], "x": 1}}`,
			"model: openai/m\nprofile: build\n", `opencode.json:1: experimental.openTelemetry has no counterpart
opencode.json:1: tool_output.max_lines is not converted: write lines: N below tool_output, from 1 to 1000000
opencode.json:1: tool_output.max_bytes is not converted: write bytes: N below tool_output, from 1 to 10485760
opencode.json:1: tool_output.x has no counterpart
opencode.json:1: skills.paths "none" is not converted: only directories that exist, relative to the manifest, are; write others as skills: [DIR]
opencode.json:1: skills.paths "~/x" is not converted: only directories that exist, relative to the manifest, are; write others as skills: [DIR]
opencode.json:1: skills.paths "/tmp" is not converted: only directories that exist, relative to the manifest, are; write others as skills: [DIR]
opencode.json:1: skills.urls "https://example.com/s" is not converted: nothing is downloaded; copy the skills, and write skills: [DIR]
opencode.json:1: skills.x has no counterpart`,
		},
		{
			"OpenCode 2", `{"model": {"providerID": "house", "model": "big", "variant": "high"}, "agents": {"rev": {"description": "Reviews.", "mode": "subagent", "system": "Review.", "model": "house/big#low", "request": {"body": {"temperature": 0.2}}, "steps": 9, "disabled": false, "permissions": [{"action": "shell", "resource": "*", "effect": "deny"}]}, "off": {"disabled": true}},
  "providers": {"house": {"name": "House", "package": "aisdk:@ai-sdk/openai-compatible", "settings": {"baseURL": "http://h/v1", "apiKey": "{env:HOUSE}"}, "headers": {"X-A": "{env:A}"}, "models": {"big": {"modelID": "big-2", "capabilities": {"tools": true, "input": ["text", "image"], "output": ["text"]}, "limit": {"context": 64000}, "cost": {"input": 1, "output": 2, "cache": {"read": 0.1}}}}}, "other": {"package": "@opencode/ai/providers/anthropic", "settings": {"baseURL": "http://o/v1"}}},
  "plugins": ["./guard.ts", {"package": "p"}, {"package": "./pkg", "options": {"level": 3}}, "-opencode.provider.*"], "skills": ["skills"], "snapshots": false, "update": "notify",
  "mcp": {"timeout": {"catalog": 1000}, "servers": {"files": {"type": "local", "command": ["x"], "disabled": false, "timeout": {"execution": 5000}, "codemode": false}}}}`,
			`model: house/big-2
profile: opencode
profiles:
  opencode:
    extends: build
    permission:
      files_*: allow
  agent-rev:
    extends: opencode
    permission:
      bash: deny
providers:
  house:
    kind: openai
    base_url: http://h/v1
    key_env: HOUSE
    headers:
      X-A: ${{ env.A }}
    models:
      big-2:
        window: 64000
        input: 1
        output: 2
        cache_read: 0.1
        vision: true
  other:
    kind: anthropic
    base_url: http://o/v1
agents:
  rev:
    description: Reviews.
    mode: subagent
    model: house/big-2
    temperature: 0.2
    turns: 9
    profile: agent-rev
    prompt: Review.
# Plugins that are packages: install them here, and add their paths to plugins:
# ./node_modules/p (npm install p)
plugins: [./guard.ts, ./pkg]
skills: [skills]
mcp:
  files:
    command: [x]
    optional: true
    timeout: 1000
    call_timeout: 5000
`, `opencode.json:1: variant "high" of model "house/big" is not converted: write effort: LEVEL
opencode.json:1: variant "low" of model "house/big" is not converted: write effort: LEVEL
opencode.json:3: plugin "p" is not converted: a run installs no packages; npm install it here, and add ./node_modules/p to plugins
opencode.json:3: the options of plugin "./pkg" are not converted: write {path: PATH, options: {KEY: VALUE}}
opencode.json:3: plugin "-opencode.provider.*" is not converted: it switches plugins of OpenCode on or off
opencode.json:4: mcp.files has no network: add network: [HOST] to it
opencode.json:4: mcp.files.codemode has no counterpart
opencode.json:3: snapshot has no counterpart
opencode.json:3: autoupdate has no counterpart`,
		},
		{
			"commands", `{"model": "openai/m", "command": {"look": {"template": "Look at $1.\nThen {file:./notes.md}stop.", "description": "Looks.", "agent": "my agent", "model": "openai/n", "subtask": true}, "empty": {}}, "commands": {"two": {"template": "Two."}}}`,
			"model: openai/m\nprofile: build\n# use one as command: NAME, arguments: TEXT of a task\ncommands:\n  look:\n    description: Looks.\n    agent: my-agent\n    model: openai/n\n    template: |-\n      Look at $1.\n      Then stop.\n  two:\n    template: Two.\n",
			"opencode.json:1: command look: subtask not converted\nopencode.json:1: command \"empty\" is not converted: it has no template",
		},
		{"nothing below keys that are not converted", `{"model": "openai/m", "lsp": {}, "formatter": false, "plugin": [], "command": {}}`, "model: openai/m\nprofile: build\n", ""},
		{"keys that are switched on", `{"model": "openai/m", "lsp": true, "formatter": true}`, "model: openai/m\nprofile: build\nlsp: true\n", "opencode.json:1: formatter not converted; see docs/opencode.md"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, notes := converted(t, write(t, "opencode.json", tt.config, "skills/x/SKILL.md", "", "guard.ts", "", "pkg/package.json", "{}", "notes.md", ""))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesOfAConfiguration(t *testing.T) {
	dir := write(t,
		"opencode.jsonc", `{"model": "openai/old", "instructions": ["a.md", "none.md"], "permission": {"bash": {"*": "deny"}}}`,
		"opencode.json", `{"model": "openai/new", "instructions": ["docs/*.md", "https://example.com/x.md", "AGENTS.md"], "permission": {"bash": {"ls *": "allow"}}}`,
		".opencode/agent/helper.md", "---\ndescription: Helps.\n---\nHelp.\n",
		".opencode/x.ts", "",
		".opencode/opencode.json", `{"plugin": ["./x.ts"], "agent": {"helper": {"model": "openai/x"}, "reader": {"prompt": "{file:./prompts/reader.md} {file:../outside}"}}}`,
		"a.md", "", "docs/b.md", "", "prompts/reader.md", "Read.\n",
	)
	got, notes := converted(t, dir)
	if diff := cmp.Diff(`model: openai/new
profile: opencode
instructions: [a.md, docs/*.md]
profiles:
  opencode:
    extends: build
    permission:
      bash:
        '*': deny
        ls *: allow
agents_from: [.opencode]
agents:
  reader:
    description: The agent reader.
    prompt: 'Read. '
plugins: [./.opencode/x.ts]
`, got); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	for _, note := range []string{
		`opencode.jsonc:1: instructions "none.md" are not converted: no such file`,
		`opencode.json:1: instructions "https://example.com/x.md" are not converted: only files beside the manifest are read`,
		`.opencode/opencode.json:1: agent helper is taken from its Markdown file alone`,
		`the prompt's file "../outside" is not converted`,
	} {
		if !strings.Contains(notes, note) {
			t.Errorf("no note %q in\n%s", note, notes)
		}
	}
}

// A default agent that may only read must not become build, which may write.
func TestDefaultAgent(t *testing.T) {
	const notFound = "opencode.json:1: default_agent %q is not converted: no such agent is defined here; the task has the profile readonly"
	tests := []struct{ name, config, want, notes string }{
		{"build", `{"default_agent": "build"}`, "", ""},
		{"a built-in agent", `{"default_agent": "plan"}`, "agent: plan", ""},
		{"a built-in agent with an empty entry", `{"default_agent": "plan", "agent": {"plan": {}}}`, "agent: plan", ""},
		{"an agent of the file", `{"default_agent": "my agent", "agent": {"my agent": {"prompt": "x"}}}`, "agent: my-agent", "opencode.json:1: agent \"my agent\" is named my-agent"},
		{"an agent of a Markdown file", `{"default_agent": "chk"}`, "agent: chk", ""},
		{"an agent in a subdirectory, named like another", `{"default_agent": "sub/chk"}`, "profile: readonly # default_agent \"sub/chk\" is not found: choose the agent and its profile", fmt.Sprintf(notFound, "sub/chk")},
		{"an agent that is defined elsewhere", `{"default_agent": "mine"}`, "profile: readonly # default_agent \"mine\" is not found: choose the agent and its profile", fmt.Sprintf(notFound, "mine")},
		{"a disabled agent", `{"default_agent": "plan", "agent": {"plan": {"disable": true}}}`, "profile: readonly # default_agent \"plan\" is not found: choose the agent and its profile", fmt.Sprintf(notFound, "plan")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			manifest, notes, err := Convert(write(t, "opencode.json", tt.config, ".opencode/agents/chk.md", "---\ndescription: Checks.\n---\nCheck.\n"), known)
			if err != nil {
				t.Fatal(err)
			}
			_, task, _ := strings.Cut(string(manifest), "must succeed\n")
			if got := strings.TrimSpace(task); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			notes = slices.DeleteFunc(notes, func(note string) bool { return strings.Contains(note, webDenied) })
			if got := strings.Join(notes, "\n"); got != tt.notes {
				t.Errorf("notes %q, want %q", got, tt.notes)
			}
		})
	}
}

// What .opencode has, and the manifest can't name, is noted.
func TestFilesThatAreNotConverted(t *testing.T) {
	tests := []struct{ name, file, note string }{
		{"a tool", "tool/a.ts", ""},
		{"tools", "tools/a.js", ""},
		{"a plugin", "plugin/a.ts", ""},
		{"plugins", "plugins/a.ts", ""},
		{"a mode", "mode/a.md", ".opencode/mode: a.md not converted; move its files to .opencode/agent, and add mode: primary to each"},
		{"modes", "modes/a.md", ".opencode/modes: a.md not converted; move its files to .opencode/agent, and add mode: primary to each"},
		{"an agent in a subdirectory", "agent/sub/a.md", ".opencode/agent/sub: its agents are named without the directory"},
		{"an agent", "agents/a.md", ""},
		{"a command far below", "command/a/b/c.md", ""},
		{"a skill", "skill/a/SKILL.md", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, "opencode.json", `{"model": "openai/m"}`, ".opencode/"+tt.file, "x")
			got, notes := converted(t, dir)
			if notes != tt.note {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
			for key, names := range map[string]string{"agents_from: [.opencode]": "agents/a.md", "agents_from: [.opencode/agent/sub]": "agent/sub/a.md", "commands_from": "command/a/b/c.md"} {
				if strings.Contains(got, key) != (tt.file == names) {
					t.Errorf("%s in\n%s", key, got)
				}
			}
			for key, name := range map[string]string{"tools_from": "tool", "plugins": "plugin"} {
				if strings.Contains(got, key+": [") != strings.HasPrefix(tt.file, name) {
					t.Errorf("%s in\n%s", key, got)
				}
			}
			if err := os.Remove(filepath.Join(dir, "opencode.json")); err != nil {
				t.Fatal(err)
			}
			if _, _, err := Convert(dir, known); err != nil {
				t.Errorf("without opencode.json: %v", err)
			}
		})
	}
}

func TestConfigurationsThatCannotBeRead(t *testing.T) {
	if _, _, err := Convert(t.TempDir(), known); !errors.Is(err, ErrNotFound) {
		t.Errorf("an empty directory: %v", err)
	}
	for config, want := range map[string]string{
		"[]": "must contain an object", `{"a"`: "parse opencode.json", strings.Repeat(" ", maxFile+1): "not a file of at most 256 KiB",
	} {
		if _, _, err := Convert(write(t, "opencode.json", config), known); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", config, err)
		}
	}
}

// Whatever the configuration, the manifest is YAML with one task.
func FuzzConvert(f *testing.F) {
	f.Add(`{"model": "a/b", "permission": {"bash": {"*": "ask"}}, "agent": {"x": {"prompt": "{file:p}"}}, "provider": {"a": {"npm": "@ai-sdk/anthropic"}}}`)
	f.Add(`{"lsp": {"a": {"command": ["x"], "extensions": [".a"], "initialization": {"b": [1, {"c": null}]}}}, "plugin": ["x@1", "./y.ts"]}`)
	f.Add(`{"instructions": ["*"], "mode": {"": {}}, "tools": {"bash": false}, "permission": "ask" /* */,}`)
	f.Fuzz(func(t *testing.T, config string) {
		manifest, _, err := Convert(write(t, "opencode.json", config), known)
		if err != nil {
			return
		}
		var doc struct{ Tasks []struct{ ID string } }
		if err := yaml.Unmarshal(manifest, &doc); err != nil || len(doc.Tasks) != 1 {
			t.Errorf("%v\n%s", err, manifest)
		}
	})
}

// What is not converted is noted with its location.
func TestWhatIsNotConvertedIsNoted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, config, lacks, note string }{
		{"skills that are no object", `"skills": true`, "skills:", "opencode.json:1: skills is not converted: write skills: [DIR]"},
		{"modalities that are no list", `"provider": {"house": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://h/v1"}, "models": {"m": {"modalities": {"input": "image"}}}}}`, "vision", "opencode.json:1: provider house: model m: modalities.input not converted"},
		{"other modalities", `"provider": {"house": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://h/v1"}, "models": {"m": {"modalities": {"other": ["image"]}}}}}`, "vision", "opencode.json:1: provider house: model m: modalities.other not converted"},
		{"a provider without an address", `"provider": {"house": {"npm": "@ai-sdk/openai-compatible"}}`, "house:", "opencode.json:1: provider house is not converted: it has no baseURL"},
		{"a prompt in a large file", `"agent": {"rev": {"prompt": "Look. {file:large.md}"}}`, "xxx", `opencode.json:1: the prompt's file "large.md" is not converted: it can't be read below `},
		{"a prompt elsewhere", `"agent": {"rev": {"prompt": "Look. {file:../../etc/hostname}"}}`, "hostname", `opencode.json:1: the prompt's file "../../etc/hostname" is not converted: it can't be read below `},
		{"a command without a template", `"command": {"go": {"description": "Goes."}}`, "Goes", `opencode.json:1: command "go" is not converted: it has no template`},
		{"a plugin that is not a script", `"plugin": ["./large.md"]`, "plugins:", `opencode.json:1: plugin "./large.md" is not converted: it is not a file or a package in this directory`},
		{"output without a limit", `"tool_output": {"max_lines": 0}`, "tool_output:", "opencode.json:1: tool_output.max_lines is not converted: write lines: N below tool_output, from 1 to 1000000"},
	} {
		manifest, notes, err := Convert(write(t, "opencode.json", `{"model": "openai/m", `+tt.config+`}`, "large.md", strings.Repeat("x", maxFile+1)), known)
		if err != nil || strings.Contains(string(manifest), tt.lacks) || !slices.ContainsFunc(notes, func(note string) bool { return strings.HasPrefix(note, tt.note) }) {
			t.Errorf("%s: %s, notes %q, %v", tt.name, manifest, notes, err)
		}
	}
}

// Opening a pipe would wait for somebody who writes to it.
func TestAPromptInAPipeIsNotRead(t *testing.T) {
	dir := write(t, "opencode.json", `{"model": "openai/m", "agent": {"rev": {"prompt": "Look. {file:pipe.md}"}}}`)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, notes, err := Convert(dir, known)
	if want := `opencode.json:1: the prompt's file "pipe.md" is not converted: it can't be read below ` + dir; err != nil || !slices.Contains(notes, want) {
		t.Errorf("notes %q, %v", notes, err)
	}
}

// An agent, or what it may not do, would be missing.
func TestFilesThatCannotBeReadStop(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{".opencode/agents/large.md", "---\ndescription: x\n---\n" + strings.Repeat("x", maxFile), ".opencode/agents/large.md:1: it can't be read: not a file of at most "},
		{".opencode/agents/bad.md", "---\ndescription: [\n---\nx\n", ".opencode/agents/bad.md:1: its frontmatter can't be read: "},
		{".opencode/commands/open.md", "---\ndescription: x\n", ".opencode/commands/open.md:1: its frontmatter can't be read: "},
		{".opencode/agents/none.md", "No front matter.\n", ""},
		{"opencode.json", "{" + strings.Repeat(" ", maxFile) + "}", "not a file of at most "},
	} {
		manifest, _, err := Convert(write(t, tt.name, tt.text), known)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || manifest != nil) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
