package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/opencode"
	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
	"github.com/millhand/millhand/tools"
)

const callsPerConfig = 20

// TestManifestsDecideAsOpenCode compares the decisions under manifests that package opencode
// makes of random configurations with those of the oracle. What OpenCode does not allow,
// millhand never allows. What it allows, millhand allows, except for the differences that
// documented describes.
func TestManifestsDecideAsOpenCode(t *testing.T) {
	b := newBench(t)
	random := nightly.Random(t)
	configs := nightly.Count(30, 5_000, 50_000)
	var converted, refused, allowed, exempt int
	for range configs {
		g := generator{Rand: random, world: b.world}
		text := g.config()
		s, err := b.convert(text)
		if err != nil {
			refused++ // nothing is written: nothing is permitted
			continue
		}
		converted++
		for range callsPerConfig {
			agent, call := pick(random, "build", "build", "build", "rev", "rev", "plan", "general", "explore"), g.call()
			if agent == "explore" && call.Tool == "bash" {
				continue // it has commands that read; in version 2 it has none
			}
			want := b.openCode(s.oracle, agent, call)
			denied, got := b.decide(s, agent, call)
			switch {
			case got && !s.oracle[0].Allows(agent, call, b.world):
				t.Errorf("agent %s: %s %q: OpenCode does not allow it, millhand does:\n%s\nmanifest:\n%s", agent, call.Tool, call.Subject, text, s.manifest)
			case got:
				allowed++
			case want && !b.documented(s, agent, call, denied):
				t.Errorf("agent %s: %s %q: OpenCode allows it, millhand does not: %s\n%s\nmanifest:\n%s", agent, call.Tool, call.Subject, denied.Because(), text, s.manifest)
			case want:
				exempt++
			}
		}
		if t.Failed() {
			return // one configuration is enough to start with
		}
	}
	t.Logf("%d configurations, %d of them refused; %d calls, %d allowed by both, %d denied as documented", configs, refused, converted*callsPerConfig, allowed, exempt)
	if converted < configs/3 || allowed < converted*callsPerConfig/10 {
		t.Errorf("only %d of %d configurations were converted, and %d calls allowed: this compares too little", converted, configs, allowed)
	}
}

// bench has the workspace of all configurations and what is beside it.
type bench struct {
	t     *testing.T
	world World
	env   tools.Env
}

func newBench(t *testing.T) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ws/src/a.go", "ws/.env", "ws/.git/config", "home/shared/x", "ext/f", "ext/dir/g"} {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := &bench{t: t, world: World{Dir: root + "/ws", Home: root + "/home", IsDir: func(p string) bool {
		info, err := os.Stat(p)
		return err == nil && info.IsDir()
	}}}
	space, err := workspace.Open(b.world.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	b.env = tools.Env{Workplace: tools.Workplace{Workspace: space, ChildEnv: []string{"HOME=" + b.world.Home, "PATH=/usr/bin:/bin"}}}
	return b
}

// subject is a configuration: the oracle's reading, and millhand's.
type subject struct {
	oracle   []Config // the readings of the versions that accept it
	manifest []byte
	job      tasks.Job
	agents   []tasks.Agent
	twice    bool // agents in the forms of both versions
}

// convert returns the readings of a configuration. Its error is that of the conversion.
func (b *bench) convert(text []byte) (subject, error) {
	b.t.Helper()
	c, err := Parse(text, b.world)
	if err != nil {
		b.t.Fatalf("%v:\n%s", err, text)
	}
	if err := os.WriteFile(filepath.Join(b.world.Dir, "opencode.json"), text, 0o600); err != nil {
		b.t.Fatal(err)
	}
	yes := func(string) bool { return true }
	manifest, _, err := opencode.Convert(b.world.Dir, opencode.Known{Provider: yes, LanguageServer: yes})
	if err != nil {
		return subject{}, err
	}
	file := filepath.Join(b.world.Dir, "millhand.yaml")
	if err := os.WriteFile(file, manifest, 0o600); err != nil {
		b.t.Fatal(err)
	}
	plan, err := expand.Load(b.t.Context(), []string{file}, tasks.Options{Dir: b.world.Dir, Getenv: func(name string) string { return map[string]string{"HOME": b.world.Home}[name] }})
	if err != nil {
		b.t.Fatalf("%v\n%s\nmanifest:\n%s", err, text, manifest)
	}
	twice := bytes.Contains(text, []byte(`"agent": `)) && bytes.Contains(text, []byte(`"agents": `))
	return subject{c, manifest, plan.Jobs[0], plan.Agents, twice}, nil
}

// profile returns the profile of an agent, as a session has it.
func (s subject) profile(agent string) permission.Profile {
	p := s.job.Profile
	at := slices.IndexFunc(s.agents, func(a tasks.Agent) bool { return a.Name == agent })
	if at < 0 {
		return p
	}
	a := s.agents[at]
	if a.Max != nil {
		p = p.Under(*a.Max)
	}
	for _, rules := range a.Restrictions {
		p = p.Narrowed("agent "+a.Name, rules)
	}
	p = p.Clone()
	for _, tool := range a.Without {
		p.Rules = append(p.Rules, permission.Rule{Permission: tool, Pattern: "*", Source: "agent " + a.Name})
	}
	return p
}

// decide returns millhand's decision on a call; a denial, if it is one.
func (b *bench) decide(s subject, agent string, call Call) (permission.Decision, bool) {
	b.t.Helper()
	env := b.env
	env.Profile = s.profile(agent)
	decisions, err := tools.Decide(&env, call.Tool, call.Subject)
	if err != nil {
		return permission.Decision{Rule: err.Error(), NoRule: true, Request: permission.Need(call.Tool, call.Subject)}, false
	}
	for _, d := range decisions {
		if !d.Allowed() {
			return d, false
		}
	}
	return permission.Decision{}, true
}

// openCode reports whether every version that accepts a configuration allows a call.
func (b *bench) openCode(readings []Config, agent string, call Call) bool {
	return !slices.ContainsFunc(readings, func(c Config) bool { return !c.Allows(agent, call, b.world) })
}

// documented reports whether a denial of what OpenCode allows is one of the differences
// that the documents describe.
func (b *bench) documented(s subject, agent string, call Call, d permission.Decision) bool {
	need, preset := d.Request.Permission, strings.HasPrefix(d.Source, "preset ")
	broad := s.oracle[0].Broad(agent, call, need, b.world) || s.oracle[0].Broad("", call, need, b.world)
	switch {
	// docs/opencode.md: "agent files | ... their rules can only restrict the task's profile",
	// "they are also limited by the profile of the agent that starts them".
	case !b.openCode(s.oracle, "", call), agent != "build" && !b.openCode(s.oracle, "build", call):
	// docs/opencode.md: "What an agent denies in either form is denied".
	case s.twice:
	// docs/opencode.md: "subagents without to-do list and `task`".
	case d.Source == "agent "+agent:
	// docs/opencode.md: "`plan` and `explore` have commands that only read".
	case strings.HasPrefix(d.Source, "profile review, which limits") || strings.HasPrefix(d.Source, "preset review, which limits"):
	// docs/guide.md: "a decision is made for every command in it, every wrapped command ...
	// and every file that it names". OpenCode knows the paths of few commands.
	case call.Tool == "bash" && need != "bash":
	case need == "bash" && (d.Request.Inner || d.Request.Open != "" || strings.HasPrefix(d.Request.Subject(), "cd ")):
	// ARCHITECTURE.md: "a file is matched by its relative and its absolute path, a command as
	// written and with quotes resolved; a rule matches if it matches any".
	case byOtherName(call, d):
	// docs/opencode.md: "`git` permission, protected paths | added".
	case need == permission.Git, need == "edit" && preset:
	// docs/opencode.md: "`external_directory` | differs | `"*": allow` does not include it".
	case need == permission.ExternalDirectory && broad:
	// docs/guide.md: "No preset allows the tools to read `.env` files ...: this needs explicit rules".
	case need == "read" && strings.Contains(d.Rule, `"*.env`) && broad:
	// docs/tools.md: `webfetch` needs "`webfetch`, and the profile's `network:`".
	case need == "webfetch" && d.NoRule:
	// docs/opencode.md: "MCP servers | differs | ... no preset allows their tools". Which tools a
	// server has is unknown, so a pattern that may match some of them denies all.
	case strings.HasPrefix(need, "srv_"):
	default:
		return false
	}
	return true
}

// byOtherName reports whether a rule denies a request only by a name that OpenCode does not
// compare: an absolute path, or a command without its quotes, assignments or redirections.
func byOtherName(call Call, d permission.Decision) bool {
	_, pattern, found := strings.Cut(d.Rule, `{"`)
	pattern, _, _ = strings.Cut(pattern, `": `)
	compared := d.Request.Subjects[:1]
	if call.Tool == "bash" {
		compared = commands(call.Subject)
	}
	return found && !slices.ContainsFunc(compared, func(name string) bool { return permission.Match(pattern, name) })
}

// generator makes random configurations and calls.
type generator struct {
	*rand.Rand
	world World
	two   bool // the configuration has keys of version 2
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (g generator) effect() string { return pick(g.Rand, "allow", "allow", "deny", "deny", "ask") }

// action returns a name of a permission, or a pattern of names, in version 1.
func (g generator) action() string {
	return pick(g.Rand, "*", "*", "bash", "bash", "bash", "edit", "edit", "read", "read", "webfetch", "task", "skill", "glob", "grep",
		"todowrite", "external_directory", "web*", nameOf(g.two), "*re*", "srv_*", "srv_get", "doom_loop", "list", "question")
}

// nameOf returns a pattern of the name that a version has for bash.
func nameOf(two bool) string {
	if two {
		return "s*l"
	}
	return "?ash"
}

func (g generator) pattern(action string) string {
	switch action {
	case "bash", "shell", "?ash", "s*l":
		return pick(g.Rand, "*", "*", "git *", "git status", "git push*", "git push *", "rm *", "npm run ?", "* --force*", "ls", "ls *", "echo*", "cat *", "*.env*", "g?t *", "cd *")
	case "read", "edit":
		return pick(g.Rand, "*", "*", "src/*", "src/**", "*.env", "*.md", "?.go", "docs/*.md", ".git*", "*go*", "nothing")
	case "task", "subagent":
		return pick(g.Rand, "*", "exp*", "rev", "gener?l")
	case "skill":
		return pick(g.Rand, "*", "go-*")
	case "webfetch":
		return pick(g.Rand, "*", "https://example.com/*", "*private*")
	case "external_directory":
		return pick(g.Rand, "*", filepath.Dir(g.world.Dir)+"/ext/*", filepath.Dir(g.world.Dir)+"/ext/dir/*", "~/*", "~/shared/*")
	}
	return pick(g.Rand, "*", "*", "a*", "src/*")
}

// pairs writes n members, whose keys may repeat, as a JSON object.
func (g generator) pairs(n int, member func() (key string, value any)) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	var keys []string
	for range n {
		key, value := member()
		if slices.Contains(keys, key) {
			continue // strict parsers refuse a repeated key
		}
		if keys = append(keys, key); len(keys) > 1 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s: %s", encode(key), encode(value))
	}
	b.WriteByte('}')
	return b.Bytes()
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

func (g generator) mapping() any {
	if g.IntN(8) == 0 {
		return g.effect()
	}
	return g.pairs(1+g.IntN(5), func() (string, any) {
		action := g.action()
		if g.IntN(3) == 0 {
			return action, g.effect()
		}
		return action, g.pairs(1+g.IntN(4), func() (string, any) { return g.pattern(action), g.effect() })
	})
}

func (g generator) switches() any {
	return g.pairs(1+g.IntN(3), func() (string, any) {
		return pick(g.Rand, "bash", "edit", "write", "patch", "read", "webfetch", "task", "*", "srv_*", "grep"), g.IntN(2) == 0
	})
}

func (g generator) list() any {
	type rule struct {
		Action   string `json:"action"`
		Resource string `json:"resource"`
		Effect   string `json:"effect"`
	}
	rules := []rule{}
	for range g.IntN(7) {
		action := g.action()
		effect := g.effect()
		if renamed := map[string]string{"bash": "shell", "task": "subagent"}[action]; renamed != "" && (effect != "allow" || g.IntN(3) > 0) {
			action = renamed // a name of version 1 has no effect in a list: that it doesn't allow is what matters
		}
		rules = append(rules, rule{action, g.pattern(action), effect})
	}
	return rules
}

// config returns a configuration of version 1 or 2.
func (g generator) config() []byte {
	var keys []string
	g.two = g.IntN(2) == 0
	if !g.two {
		keys = append(keys, pick(g.Rand, []string{"permission"}, []string{"tools"}, []string{"tools", "permission"}, []string{"permission", "agent"}, []string{"tools", "permission", "agent"})...)
	}
	if g.two {
		keys = append(keys, pick(g.Rand, []string{"permissions"}, []string{"permissions", "agents"}, []string{"tools", "permission", "agents"},
			[]string{"permissions", "tools", "permission", "agent"}, []string{"permission", "agent", "agents"})...)
	}
	if g.IntN(2) == 0 {
		keys = append(keys, "mcp")
	}
	g.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	next := 0
	return g.pairs(len(keys), func() (string, any) {
		key := keys[next]
		next++
		switch key {
		case "permission":
			return key, g.mapping()
		case "tools":
			return key, g.switches()
		case "permissions":
			return key, g.list()
		case "mcp":
			return key, json.RawMessage(`{"srv": {"type": "local", "command": ["srv"]}}`)
		}
		return key, g.pairs(1+g.IntN(2), func() (string, any) {
			name := pick(g.Rand, "rev", "build", "rev", "plan", "explore")
			return name, g.pairs(3, func() (string, any) {
				switch {
				case g.IntN(3) == 0:
					return "description", "d"
				case key == "agents":
					return "permissions", g.list()
				case g.IntN(3) == 0:
					return "tools", g.switches()
				}
				return "permission", g.mapping()
			})
		})
	})
}

// call returns a random call.
func (g generator) call() Call {
	root := filepath.Dir(g.world.Dir)
	switch tool := pick(g.Rand, "bash", "bash", "bash", "read", "edit", "write", "webfetch", "task", "skill", "glob", "grep", "todowrite", "srv_get", "srv_put"); tool {
	case "bash":
		n := pick(g.Rand, 1, 1, 2, 3)
		var line strings.Builder
		line.WriteString(g.command())
		for range n - 1 {
			line.WriteString(pick(g.Rand, " && ", " || ", "; ", " | ", "\n", " & ") + g.command())
		}
		return Call{Tool: tool, Subject: line.String()}
	case "read", "edit", "write":
		return Call{Tool: tool, Subject: pick(g.Rand, "src/a.go", "src/x/y.md", "a.go", "docs/a.md", "./src/../a.go", g.world.Dir+"/src/a.go",
			".env", "src/.env.local", ".env.example", ".git/config", ".github/workflows/ci.yml", "src/.gitattributes", root+"/ext/f", root+"/ext/dir/g", root+"/home/shared/x", "../ext/f")}
	case "webfetch":
		return Call{Tool: tool, Subject: pick(g.Rand, "https://example.com/x", "https://private.example.com/")}
	case "task":
		return Call{Tool: tool, Subject: pick(g.Rand, "explore", "general", "rev")}
	case "skill":
		return Call{Tool: tool, Subject: pick(g.Rand, "go-test", "x")}
	case "glob", "grep":
		return Call{Tool: tool, Subject: pick(g.Rand, "*.go", "src/**", "abc")}
	default:
		return Call{Tool: tool, Subject: "*"}
	}
}

func (g generator) command() string {
	return pick(g.Rand, "git status", "git", "git push origin main", "git push --force", "gitk", "rm -rf build", "npm run x", "npm run xy", "ls", "ls -l src", "lsof",
		"echo a", "echo '; rm x'", `echo "$(rm -rf build)"`, "echo $(git status)", "(git status; ls)", "cd src", "cat a.go", "cat .env", "true", "go test ./...")
}
