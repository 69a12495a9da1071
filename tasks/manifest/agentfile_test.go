package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest/profiles"
)

// beside reads a manifest with other files next to it, and returns what is wrong with it and the notes.
func beside(t *testing.T, text string, files map[string]string, change ...func(*tasks.Options)) (m *Manifest, problems, notes []string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o := tasks.Options{Dir: dir, Stdin: func() ([]byte, error) { return []byte(text), nil }, Getenv: func(string) string { return "" }}
	for _, f := range change {
		f(&o)
	}
	l := NewLoader(t.Context(), o)
	m, err := l.Manifest(t.Context(), "-")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Found.Err(); err != nil {
		problems = strings.Split(err.Error(), "\n")
	}
	return m, problems, l.Found.Notes
}

// spelledRules returns the layers of rules of an agent, as PERMISSION PATTERN EFFECT.
func spelledRules(layers [][]profiles.Rule) (all []string) {
	for _, layer := range layers {
		var rules []string
		for _, r := range layer {
			rules = append(rules, r.Permission+" "+r.Written+" "+r.Effect.String())
		}
		all = append(all, strings.Join(rules, ", "))
	}
	return all
}

func TestRulesOfAnAgentsFile(t *testing.T) {
	for head, want := range map[string][]string{
		"description: d":                                                                    nil,
		"tools: {bash: false}":                                                              {"bash * deny"},
		"tools: {bash: true, write: false}":                                                 {"bash * allow, edit * deny"},
		"tools: {write: true}":                                                              {"edit * allow"}, // OpenCode makes rules of edit of all tools that write
		"tools: {Bash: true}":                                                               nil,              // no rules of its own, so nothing is allowed
		"tools: {shell: true, ls: true}":                                                    {"bash * allow"},
		"tools: Read, Bash(git log:*), Grep":                                                {"* * deny, read * allow, bash git log * allow, grep * allow"},
		"tools: [Read, Edit(src/**)]":                                                       {"* * deny, read * allow"}, // a pattern of another tool than bash allows nothing
		"tools: mcp__gh__list":                                                              {"* * deny, gh_list * allow"},
		"tools: ''":                                                                         {"* * deny"},
		"allowed-tools: Read":                                                               {"* * deny, read * allow"},
		"disallowed-tools: Bash, WebFetch":                                                  {"bash * deny, webfetch * deny"},
		"permission: deny":                                                                  {"* * deny"},
		"permission: {bash: ask}":                                                           {"bash * deny"},
		"permission: {bash: {'*': ask, 'git *': allow}}":                                    {"bash * deny, bash git * allow"},
		"permission: {write: deny, edit: allow}":                                            {"edit * allow", "edit * deny"},
		"permission: {write: allow}":                                                        nil,
		"{tools: {bash: true}, permission: {bash: deny}}":                                   {"bash * deny"}, // a switch is replaced by the rules
		"{tools: {bash: true, read: false}, permission: {edit: deny}}":                      {"bash * allow, read * deny, edit * deny"},
		"{tools: [Read], permission: {bash: deny}}":                                         {"bash * deny", "* * deny, read * allow"},
		"permissions: [{action: edit, resource: '*', effect: deny}]":                        {"edit * deny"},
		"permissions: [{action: shell, resource: 'git *', effect: allow}]":                  {"bash git * allow"},
		"permissions: [{action: bash, resource: '*', effect: allow}]":                       nil, // OpenCode 2 has no such permission
		"permissions: [{action: bash, resource: '*', effect: deny}]":                        {"bash * deny"},
		"permissions: [{action: '*', resource: '*', effect: ask}]":                          {"* * deny"},
		"permissions: [{action: write, resource: '*', effect: deny}]":                       {"edit * deny, write * deny"},
		"permissions: [{action: gh_list, resource: '*', effect: allow}]":                    {"gh_list * allow"},
		"{permission: {read: deny}, permissions: [{action: x, resource: y, effect: deny}]}": {"read * deny, x y deny"},
	} {
		text := head
		if strings.HasPrefix(head, "{") {
			text = strings.NewReplacer("{tools:", "tools:", "{permission:", "permission:", "}, permission", "}\npermission", "], permission", "]\npermission").Replace(strings.TrimSuffix(head, "}"))
		}
		m, problems, _ := beside(t, oneTask+"agents_from: [a.md]\n", map[string]string{"a.md": "---\n" + text + "\n---\nLook.\n"})
		if problems != nil || len(m.Agents) != 1 || len(m.Agents[0].Flaws.Faults) > 0 {
			t.Errorf("%s: %q, %+v", head, problems, m.Agents)
			continue
		}
		if got := spelledRules(m.Agents[0].layers); !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", head, got, want)
		}
	}
}

// Of several files with an agent the last one counts, with the restrictions of all.
func TestALaterFileRestrictsAsTheEarlierOnes(t *testing.T) {
	m, problems, notes := beside(t, oneTask+"agents_from: [one, two]\n", map[string]string{
		"one/a.md": "---\nmode: primary\nsteps: 3\npermission: {bash: deny}\ncolour: red\n---\nFirst.\n",
		"two/a.md": "---\ndescription: d\nsteps: 5\npermission: {bash: allow}\n---\nSecond.\n",
		"two/b.md": "No front matter.\n", "two/sub/c.md": "x", "two/no agent.md": "x", "two/off.md": "---\ndisable: true\n---\nx\n", "two/note.txt": "x",
	})
	if problems != nil || len(m.Agents) != 2 {
		t.Fatalf("%q, %d agents", problems, len(m.Agents))
	}
	a, b := m.Agents[0], m.Agents[1]
	if a.Turns != 3 || a.Mode != "primary" || a.Description != "d" || a.Text.S != "Second." || b.Text.S != "No front matter." {
		t.Errorf("%+v", a)
	}
	if got, want := spelledRules(a.layers), []string{"bash * deny", "bash * allow"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, want := range []string{"replaces the one of one/a.md, whose restrictions still apply", `invalid agent name "no agent"`, "agents in the subdirectory two/sub are ignored"} {
		if !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("no note %q in %q", want, notes)
		}
	}
	var to tasks.Agent
	if digest := a.Narrow(&to); digest == "" || len(to.Restrictions) != 2 || to.Restrictions[0][0].Permission != "bash" {
		t.Errorf("%q, %v", digest, to.Restrictions)
	}
	if b.Narrow(&to) != "" {
		t.Error("an agent without rules has a digest of them")
	}
}

func TestAgentsOfADirectoryOfOpenCode(t *testing.T) {
	m, problems, _ := beside(t, oneTask+"agents_from: [.opencode]\n", map[string]string{".opencode/agent/a.md": "A.\n", ".opencode/agents/b.md": "B.\n", ".opencode/c.md": "C.\n"})
	if problems != nil || len(m.Agents) != 2 || m.Agents[0].Name != "a" || m.Agents[1].Name != "b" {
		t.Errorf("%q, %+v", problems, m.Agents)
	}
	many := map[string]string{}
	for i := range 101 {
		many["many/a"+strings.Repeat("x", i)+".md"] = "x"
	}
	many["empty/x.txt"] = ""
	for entry, want := range map[string]string{
		"empty": `no agents found in "empty"; name a directory of .md files, a file, or an .opencode directory with agent/*.md`,
		"many":  `"many" contains more than 100 agents; name the files that are needed`,
		"nope":  `"nope": not found; check its path; it is relative to the manifest`,
	} {
		_, problems, _ := beside(t, oneTask+"agents_from: ["+entry+"]\n", many)
		if len(problems) != 1 || !strings.HasSuffix(problems[0], want) {
			t.Errorf("%s: %q, want %s", entry, problems, want)
		}
	}
}

// A key that may be a restriction is not ignored, in whatever words.
func TestKeysOfAnAgentThatMayRestrict(t *testing.T) {
	for name, want := range map[string]bool{
		"permission": true, "permisions": true, "Tools": true, "allow": true, "deny-list": true, "disabled_tools": true, "sandbox": true, "read-only": true, "maxTurns": true, "steps": true, "mode": true, "bash": true, //nolint:misspell // one key is misspelt
		"webfetch": true, "write": true, "color": false, "name": false, "model": false, "top_p": false, "description": false,
	} {
		if got := restrictsAgent(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for name, want := range map[string]bool{"allowed-tools": false, "permission": true, "agent": false, "subtask": false, "tools": true, "color": false} {
		if got := restrictsCommand(name); got != want {
			t.Errorf("of a command, %s: %t", name, got)
		}
	}
}

// Files of OpenCode may lack a description: that is no mistake, but models can't start the agent.
func TestAnAgentsFileWithoutADescription(t *testing.T) {
	for head, want := range map[string]struct{ description, note string }{
		"mode: all":                 {"", `a.md:1: agent "a" has no description, which models need to choose it: they can't start it`},
		"mode: primary":             {"", ""},
		"steps: 5":                  {"", ""},
		"mode: all\ndescription: d": {"d", ""},
	} {
		m, problems, _ := beside(t, oneTask+"agents_from: [a.md]\n", map[string]string{"a.md": "---\n" + head + "\n---\nText.\n"})
		a := m.Agents[0]
		if got := a.Describe("", true); problems != nil || got != want.description || strings.Join(a.Src.Found.Notes, "\n") != want.note || a.Src.Found.Err() != nil {
			t.Errorf("%q: %q, %q, %v", head, got, a.Src.Found.Notes, a.Src.Found.Err())
		}
	}
}

func TestDescriptionsDecideWhoMayStartAnAgent(t *testing.T) {
	for _, c := range []struct {
		mode, own, builtIn string
		isNew              bool
		want, problem      string
	}{
		{"", "own", "", true, "own", ""},
		{"", "", "", true, "", ""},
		{"", "own", "", false, "", ""}, // build and plan are for tasks only
		{"", "own", "built in", false, "own", ""},
		{"", "", "built in", false, "built in", ""},
		{"primary", "own", "built in", true, "", ""},
		{"all", "own", "", false, "own", ""},
		{"subagent", "", "", true, "", `agent "x": missing description, which models need to choose it; add description: TEXT, or mode: primary`},
	} {
		text := oneTask + "agents: {x: {turns: 5"
		if c.mode != "" {
			text += ", mode: " + c.mode
		}
		if c.own != "" {
			text += ", description: " + c.own
		}
		m, problems := read(t, text+"}}\n")
		if problems != nil {
			t.Fatal(problems)
		}
		a := m.Agents[0]
		if got := a.Describe(c.builtIn, c.isNew); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
		if err := a.Src.Found.Err(); (err != nil) != (c.problem != "") || err != nil && !strings.HasSuffix(err.Error(), c.problem) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
