package suggest_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/suggest"
)

// call returns a call from texts like "bash git status" of what it needs.
func call(needs ...string) suggest.Call {
	c := suggest.Call{Tool: "bash", Count: 1, Rule: "a rule", Source: "m.yaml:1"}
	for _, n := range needs {
		name, subject, _ := strings.Cut(n, " ")
		c.Needs = append(c.Needs, permission.Need(name, subject))
		c.Subject = subject
	}
	c.Tool, _, _ = strings.Cut(needs[0], " ")
	return c
}

func calls(texts ...string) []suggest.Call {
	var all []suggest.Call
	for _, t := range texts {
		all = append(all, call(strings.Split(t, " && ")...))
	}
	return all
}

// holds decides on an example whose subject is all that the call needs.
func holds(p permission.Profile, e permission.Example) bool {
	return p.Decide(permission.Need(permission.ForTool(e.Tool), e.Subject)).Effect == e.Effect
}

func from(used, denied []suggest.Call) suggest.Suggestion {
	return suggest.From(suggest.Record{Used: used, Denied: denied}, holds)
}

// texts returns rules as "permission pattern", with "!" before a denial.
func texts(rules []suggest.Rule) []string {
	out := []string{}
	for _, r := range rules {
		sign := ""
		if r.Effect == permission.Deny {
			sign = "!"
		}
		out = append(out, sign+r.Permission+" "+r.Pattern)
	}
	return out
}

func TestSuggestedRulesAllowWhatWasUsedOnly(t *testing.T) {
	for name, c := range map[string]struct {
		used, denied []string
		extends      string
		rules, risky []string
	}{
		"commands by subcommand": {
			used:  []string{"bash go test ./...", "bash go test .", "bash git diff --stat", "bash npm run build", "bash ls -la", "bash python3 -m pytest x", "bash python3 gen.py 1"},
			rules: []string{"bash git diff *", "bash go test *", "bash ls *", "bash npm run build *", "bash python3 -m pytest *", "bash python3 gen.py *"},
		},
		"reading is the preset's": {
			used:    []string{"read a.go", "grep x", "list ."},
			extends: "readonly",
		},
		"reading by name if the preset allows what was denied": {
			used:   []string{"read a/1.go", "read a/2.go", "read a/3.go", "read x", "grep x"},
			denied: []string{"read secret.txt"},
			rules:  []string{"grep *", "read a/*.go", "read x"},
		},
		"narrower than what was denied": {
			used:   []string{"bash git push origin a", "bash git push origin b", "bash go test ./..."},
			denied: []string{"bash git push --force", "bash go test ./... && bash rm x"},
			risky:  []string{"bash git push origin *"},
			rules:  []string{"bash go test *"},
		},
		"more words": {
			used:   []string{"bash go test -run A", "bash go test -run B", "bash go test ./x"},
			denied: []string{"bash go test ./e2e"},
			rules:  []string{"bash go test -run *", "bash go test ./x *"},
		},
		"the exact command": {
			used:   []string{"bash make a b c d e f g"},
			denied: []string{"bash make a b c d e f h"},
			rules:  []string{"bash make a b c d e f g"},
		},
		"few files": {
			used:  []string{"edit a/1.go", "edit a/2.go", "edit README.md"},
			rules: []string{"edit README.md", "edit a/1.go", "edit a/2.go"},
		},
		"many files": {
			used:  []string{"edit a/b/1.go", "edit a/b/2.go", "edit a/b/3.go", "edit c/1.go", "edit a/c/1.go", "edit a/d/1.go"},
			rules: []string{"edit a/*.go", "edit c/1.go"},
		},
		"many files beside a denied one": {
			used:   []string{"edit a/b/1.go", "edit a/b/2.go", "edit a/b/3.go", "edit a/c/1.go", "edit a/d/1.go"},
			denied: []string{"edit a/gen.go"},
			rules:  []string{"edit a/b/*.go", "edit a/c/1.go", "edit a/d/1.go"},
		},
		"protected files": {
			used:  []string{"edit docs/1.md", "edit docs/2.md", "edit docs/3.md", "edit .github/x.yml"},
			rules: []string{"edit docs/*.md", "!edit **/AGENTS.md", "!edit **/CLAUDE.md"},
			risky: []string{"edit .github/x.yml"},
		},
		"risky programs": {
			used:  []string{"bash curl -s x && bash jq .", "bash sudo ls", "bash docker run x", "bash python3 -c x", "bash python3", "read .env", "git .git/config && edit .git/config"},
			risky: []string{"bash curl *", "bash docker *", "bash jq *", "bash python3 *", "bash python3 -c *", "bash sudo *", "edit .git/config", "git *", "read .env"},
		},
		"directories outside": {
			used:  []string{"external_read /usr/lib/x", "external_directory /tmp/a/b && edit /tmp/a/b", "external_directory /root/.ssh/id"},
			rules: []string{"edit /tmp/a/b", "external_directory /tmp/a/*", "external_read /usr/lib/*"},
			risky: []string{"external_directory /root/.ssh/id"},
		},
		"other tools": {
			used:   []string{"webfetch https://a.org/x?y", "mcp_tool *", "task general"},
			denied: []string{"task explore", "webfetch https://b.org/"},
			rules:  []string{"mcp_tool *", "task general", "webfetch https://a.org/*"},
		},
		"used and denied": {
			used:   []string{"bash go vet ."},
			denied: []string{"bash go vet ."},
			rules:  []string{"bash go vet ."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			used, denied := calls(c.used...), calls(c.denied...)
			s := from(used, denied)
			for _, list := range []*[]string{&c.rules, &c.risky} {
				if *list == nil {
					*list = []string{}
				}
			}
			risky := texts(s.Risky)
			slices.Sort(risky)
			slices.Sort(c.risky)
			if diff := cmp.Diff(c.rules, texts(s.Rules)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.risky, risky); diff != "" {
				t.Errorf("risky (-want +got):\n%s", diff)
			}
			if s.Extends != c.extends {
				t.Errorf("extends %q, want %q", s.Extends, c.extends)
			}
			check(t, s, used)
		})
	}
}

// check tests what a suggestion promises: it allows the used calls except those that it
// lists, denies the denied ones except those that accepted calls need, and needs each rule.
func check(t *testing.T, s suggest.Suggestion, used []suggest.Call) {
	t.Helper()
	p := s.Profile()
	for _, c := range s.Denied {
		if p.DecideAll(c.Needs).Allowed() != c.Allowed {
			t.Errorf("denied call %v: allowed is not %v", c.Needs, c.Allowed)
		}
	}
	for _, e := range s.Examples {
		if !holds(p, e) {
			t.Errorf("example %v does not hold", e)
		}
	}
	allowed := func(p permission.Profile) (n int) {
		for _, c := range used {
			if p.DecideAll(c.Needs).Allowed() {
				n++
			}
		}
		return n
	}
	if len(s.Risky)+len(s.Unstated) == 0 && allowed(p) != len(used) {
		t.Errorf("%d of %d used calls are allowed", allowed(p), len(used))
	}
	proposed := p.Clone()
	for _, r := range s.Risky {
		proposed.Rules = append(proposed.Rules, r.Rule)
	}
	if n := allowed(proposed); len(s.Unstated) == 0 && n != len(used) {
		t.Errorf("with the risky rules %d of %d used calls are allowed", n, len(used))
	}
	for i, r := range p.Rules {
		if r.Source != suggest.Name || r.Effect == permission.Deny {
			continue
		}
		less := p.Clone()
		less.Rules = slices.Delete(less.Rules, i, i+1)
		if allowed(less) == allowed(p) {
			t.Errorf("rule %s is not needed", r)
		}
	}
}

func TestUnknownAndForbiddenCallsGetNoRule(t *testing.T) {
	unknown := suggest.Call{Tool: "bash", Subject: "$X a", Count: 2, Needs: []permission.Request{{Permission: "bash", Subjects: []string{"$X"}, Unknown: "the command name is known only at run time"}}}
	forbidden := suggest.Call{Tool: "read", Subject: "/proc/1", Count: 1, Needs: []permission.Request{{Permission: "read", Subjects: []string{"/proc/1"}, Forbidden: "never"}}}
	s := from([]suggest.Call{unknown, forbidden, unknown}, nil)
	if len(s.Unstated) != 2 || s.Unstated[0].Count != 4 || len(s.Rules) > 0 {
		t.Errorf("got %+v", s)
	}
}

func TestACommandWithUnknownArgumentsGetsItsPrefix(t *testing.T) {
	c := suggest.Call{Tool: "bash", Count: 1, Needs: []permission.Request{{Permission: "bash", Subjects: []string{"echo $X"}, Open: "echo\x00"}}}
	s := from([]suggest.Call{c}, nil)
	if diff := cmp.Diff([]string{"bash echo*"}, texts(s.Rules)); diff != "" {
		t.Error(diff)
	}
	check(t, s, []suggest.Call{c})
}

func TestAHostHasItsPortIfAnotherPortWasRefused(t *testing.T) {
	s := suggest.From(suggest.Record{
		Reached: []suggest.Host{{Name: "a.org", Port: 443, Count: 2}, {Name: "b.org", Port: 443, Count: 1}, {Name: "c.org:8443", Port: 8443, Count: 1}},
		Refused: []suggest.Host{{Name: "b.org", Port: 22, Count: 1}},
	}, holds)
	var names []string
	for _, h := range s.Network {
		names = append(names, h.Name)
	}
	if diff := cmp.Diff([]string{"a.org", "b.org:443", "c.org:8443"}, names); diff != "" {
		t.Error(diff)
	}
}

// hostile are texts of models that try to become YAML, commands of a CI or of a terminal.
func hostile() []string {
	return []string{
		"x\n    network: allow", "x\": allow\n\"y", "a # b", "##[error]x", "::error::x", "\x1b[31mred", "\u202egpj", "*: allow", "{a: b}", "$HOME/x", "~/x",
		"${{ env.X }}", "\u2028", "\x7f\u0085", "\\", "'", "%q%s", "\r\n", "\U0001F600", "- x", "? y", "&a", "!!x", "\t", "null",
	}
}

func TestHostileTextsAreValidYAML(t *testing.T) {
	var used, denied []suggest.Call
	for _, text := range hostile() {
		used = append(used, call("bash p"+text+" x"), call(text+" *"), call("edit "+text))
		denied = append(denied, call("bash curl "+text), call(text+"2 *"))
	}
	s := suggest.From(suggest.Record{Used: used, Denied: denied, Refused: []suggest.Host{{Name: "x\ny", Port: 1, Count: 1, Error: "e\nf"}}}, holds)
	checkYAML(t, s)
}

// checkYAML compares what YAML writes with the profile.
func checkYAML(t *testing.T, s suggest.Suggestion) {
	t.Helper()
	var out bytes.Buffer
	if err := s.YAML(&out, "a\nb: c"); err != nil {
		t.Fatal(err)
	}
	for _, r := range out.String() {
		if r != '\n' && (r < ' ' || r == 0x7f || r == 0x202e || r == 0x2028 || r == 0x85) {
			t.Errorf("the page has the character %U", r)
		}
	}
	if strings.Contains(out.String(), "##[") || strings.Contains(out.String(), "\n::") {
		t.Errorf("the page has a command of a CI:\n%s", &out)
	}
	var doc struct {
		Profiles map[string]struct {
			Extends    string              `yaml:"extends"`
			Permission yaml.Node           `yaml:"permission"`
			Network    []string            `yaml:"network"`
			Examples   []map[string]string `yaml:"examples"`
		} `yaml:"profiles"`
	}
	dec := yaml.NewDecoder(&out)
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	got := doc.Profiles[suggest.Name]
	if len(doc.Profiles) != 1 || got.Extends != s.Extends || len(got.Network) != len(s.Network) || len(got.Examples) != len(s.Examples) {
		t.Errorf("got %+v", doc)
	}
	n := 0
	rules := map[string]yaml.Node{}
	if err := got.Permission.Decode(&rules); err != nil && (got.Permission.Value != "deny" || len(s.Rules) > 0) {
		t.Error(err)
	}
	for name, node := range rules {
		for i := 0; i < len(node.Content); i += 2 {
			n++
			want := fmt.Sprintf("%s %s %s", name, node.Content[i].Value, node.Content[i+1].Value)
			if !slices.ContainsFunc(s.Rules, func(r suggest.Rule) bool { return fmt.Sprintf("%s %s %s", r.Permission, r.Pattern, r.Effect) == want }) {
				t.Errorf("the page has the rule %q", want)
			}
		}
	}
	if n != len(s.Rules) {
		t.Errorf("the page has %d rules of %d", n, len(s.Rules))
	}
}

func FuzzFrom(f *testing.F) {
	for _, text := range hostile() {
		f.Add("bash go test "+text, "edit "+text, "bash "+text)
	}
	f.Add("bash git push a\nbash git push b", "edit a/1.go\nedit a/2.go\nedit a/3.go", "bash git push a\nedit a/4.go")
	f.Fuzz(func(t *testing.T, first, second, denied string) {
		if !utf8.ValidString(first) || !utf8.ValidString(second) || !utf8.ValidString(denied) || len(first)+len(second)+len(denied) > 500 {
			t.Skip("events are UTF-8, and long inputs only take time")
		}
		used := calls(append(strings.Split(first, "\n"), strings.Split(second, "\n")...)...)
		s := from(used, calls(strings.Split(denied, "\n")...))
		check(t, s, used)
		checkYAML(t, s)
	})
}
