package permission

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, subject string
		want             bool
	}{
		{"*", "", true},
		{"*", "anything at all", true},
		{"", "", true},
		{"", "x", false},
		{"git *", "git push", true},
		{"git *", "git", true}, // the tail is optional
		{"git *", "gitk", false},
		{"git*", "gitk", true},
		{"git * -f", "git push -f", true},
		{"git * -f", "git -f", false}, // only at the end
		{"*.env", "a/b/.env", true},   // * crosses slashes
		{"*.env", ".env.example", false},
		{"src/**", "src/a/b.go", true},
		{"src/**", "src", false},
		{"s?c", "src", true},
		{"s?c", "sc", false},
		{"?", "é", true}, // a character, not a byte
		{"Git", "git", false},
		{"a.c", "abc", false}, // nothing else is special
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{"(x)*", "(x)y", true},
		{"a*b*c", "a1b2b3c", true},
		{"a*b*c", "a1b2b3", false},
		{"*\n*", "one\ntwo", true}, // * crosses newlines
		{`src\a`, "src/a", true},
		{"src/a", `src\a`, true},
	}
	for _, tt := range tests {
		if got := Match(tt.pattern, tt.subject); got != tt.want {
			t.Errorf("Match(%q, %q) = %v, want %v", tt.pattern, tt.subject, got, tt.want)
		}
	}
}

func TestMatchOfPartlyUnknownSubjects(t *testing.T) {
	tests := []struct {
		pattern, open string
		may, must     bool
	}{
		{"git push *", "git \x00", true, false},
		{"git push *", "git log \x00", false, false},
		{"git push *", "git push\x00", true, false}, // it may be git pushed
		{"git push*", "git push\x00", true, true},
		{"git *", "git \x00", true, true},
		{"rm -rf *", "rm\x00 x", true, false},
		{"rm -rf *", "rm -r \x00", false, false},
		{"rm -rf *", "echo \x00", false, false},
		{"* --force", "git push \x00", true, false},
		{"* --force", "git \x00 --force", true, true},
		{"a?c", "a\x00c", true, false},
		{"*", "\x00", true, true},
		{"x", "\x00\x00", true, false},
		{"é", "\x00", true, false},
	}
	for _, tt := range tests {
		if got := mayMatch(tt.pattern, tt.open); got != tt.may {
			t.Errorf("%q may match %q: %v", tt.pattern, tt.open, got)
		}
		if got := mustMatch(tt.pattern, tt.open); got != tt.must {
			t.Errorf("%q must match %q: %v", tt.pattern, tt.open, got)
		}
	}
}

// FuzzMayMatch fills the unknown part in: what matches then may have matched.
func FuzzMayMatch(f *testing.F) {
	f.Add("git * -f", "git ", "push -f", "")
	f.Add("a?b*", "a", "é", "b")
	f.Fuzz(func(t *testing.T, pattern, before, filled, after string) {
		open := before + "\x00" + after
		if Match(pattern, before+filled+after) && utf8.ValidString(pattern+before+filled+after) && !mayMatch(pattern, open) {
			t.Errorf("%q matches %q, and %q may not", pattern, before+filled+after, open)
		}
		if mustMatch(pattern, open) && !strings.Contains(pattern, "\x00") && utf8.ValidString(filled) && !Match(pattern, before+filled+after) {
			t.Errorf("%q matches %q whatever stands there, and not %q", pattern, open, before+filled+after)
		}
	})
}

func FuzzMatch(f *testing.F) {
	f.Add("git *", "git push")
	f.Add("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	f.Add("??\xff", "a\xffb")
	f.Fuzz(func(t *testing.T, pattern, subject string) {
		Match(pattern, subject)
		if !Match("*", subject) {
			t.Errorf("* does not match %q", subject)
		}
		if !Match(subject+"*", subject) && !Match("*", pattern) {
			t.Errorf("%q* does not match itself", subject)
		}
	})
}

func TestTheLastMatchingRuleDecides(t *testing.T) {
	profile := Profile{Name: "p", Rules: []Rule{
		{"*", "*", Allow, "f:1", false, false},
		{"bash", "*", Deny, "f:2", false, false},
		{"bash", "git *", Allow, "f:3", false, false},
		{"bash", "git push *", Deny, "f:4", false, false},
		{"mcp_*", "*", Deny, "f:5", false, false},
		{"read", "/abs/secret", Deny, "f:6", false, false},
	}}
	tests := []struct {
		name   string
		req    Request
		want   Effect
		source string
	}{
		{"a rule for every permission", Need("edit", "a.go"), Allow, "f:1"},
		{"a later rule overrides it", Need("bash", "ls"), Deny, "f:2"},
		{"and a still later one that", Need("bash", "git log"), Allow, "f:3"},
		{"the last one wins", Need("bash", "git push -f"), Deny, "f:4"},
		{"the permission may hold wildcards", Need("mcp_search", "x"), Deny, "f:5"},
		{"any name of the thing counts", Need("read", "secret", "/abs/secret"), Deny, "f:6"},
		{"a rule for * does not reach outside the workspace", Need(ExternalDirectory, "/etc/x"), Deny, "profile p"},
		{"nor to reading there", Need(ExternalRead, "/etc/x"), Deny, "profile p"},
		{"nor into .git", Need(Git, ".git/config"), Deny, "profile p"},
		{"what can't be known is denied where anything is", Request{Permission: "bash", Subjects: []string{"$X"}, Unknown: "why"}, Deny, "f:2"},
		{"and allowed where nothing is", Request{Permission: "edit", Subjects: []string{"$X"}, Unknown: "why"}, Allow, "f:1"},
		{"what another request speaks for is denied by a rule that means it", Request{Permission: "bash", Subjects: []string{"git push"}, Inner: true}, Deny, "f:4"},
		{"not by one that denies everything", Request{Permission: "bash", Subjects: []string{"eslint ."}, Inner: true}, Allow, "f:1"},
		{"nor does one stand in for another", Request{Permission: "mcp_x", Subjects: []string{"x"}, Inner: true}, Allow, "f:1"},
		{"nor for want of a rule", Request{Permission: "nothing", Subjects: []string{"x"}, Inner: true}, Allow, "f:1"},
		{"what is forbidden is never allowed", Request{Permission: "edit", Forbidden: "why"}, Deny, "built in"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := profile.Decide(tt.req)
			if d.Effect != tt.want || d.Source != tt.source {
				t.Errorf("got %s by %s (%s), want %s by %s", d.Effect, d.Source, d.Rule, tt.want, tt.source)
			}
		})
	}
}

func TestNoRuleMeansDeny(t *testing.T) {
	if d := (Profile{}).Decide(Need("read", "a")); d.Allowed() {
		t.Errorf("an empty profile allows: %+v", d)
	}
	narrow := Profile{Rules: []Rule{{"bash", "git *", Allow, "", false, false}, {"bash", "git push *", Deny, "", false, false}, {"bash", "*", Deny, "", false, false}, {"bash", "npx *", Allow, "", false, false}}}
	for subject, want := range map[string]bool{"git push": false, "git log": true, "eslint .": true} {
		if d := narrow.Decide(Request{Permission: "bash", Subjects: []string{subject}, Inner: true}); d.Allowed() != want {
			t.Errorf("npx %s: %+v", subject, d)
		}
	}
	narrow = Profile{Rules: narrow.Rules[:1]}
	if d := narrow.Decide(Request{Permission: "bash", Subjects: []string{"$X"}, Unknown: "why"}); d.Allowed() {
		t.Errorf("an allow-list allows what can't be known: %+v", d)
	}
}

func TestExternalRulesCoverReadingToo(t *testing.T) {
	p := Profile{Rules: []Rule{{ExternalDirectory, "/opt/*", Allow, "", false, false}}}
	if !p.Decide(Need(ExternalRead, "/opt/x")).Allowed() {
		t.Error("a directory that may be used may not be read")
	}
	p = Profile{Rules: []Rule{{ExternalRead, "/opt/*", Allow, "", false, false}}}
	if p.Decide(Need(ExternalDirectory, "/opt/x")).Allowed() {
		t.Error("a directory that may only be read may be written")
	}
}

func TestDecideAllReturnsTheFirstDenial(t *testing.T) {
	p := Profile{Rules: []Rule{{"bash", "*", Allow, "a", false, false}, {"bash", "rm *", Deny, "b", false, false}}}
	d := p.DecideAll([]Request{Need("bash", "ls"), Need("bash", "rm x"), Need("bash", "pwd")})
	if d.Allowed() || d.Request.Subject() != "rm x" {
		t.Errorf("got %+v", d)
	}
	if d := p.DecideAll(nil); !d.Allowed() {
		t.Errorf("a call that needs nothing is denied: %+v", d)
	}
}

func TestHides(t *testing.T) {
	tests := []struct {
		name  string
		rules []Rule
		want  bool
	}{
		{"no rule at all", nil, true},
		{"a plain deny last", []Rule{{"bash", "git *", Allow, "", false, false}, {"bash", "*", Deny, "", false, false}}, true},
		{"an exception after the deny", []Rule{{"bash", "*", Deny, "", false, false}, {"bash", "git *", Allow, "", false, false}}, false},
		{"a deny of everything by wildcard", []Rule{{"*", "*", Deny, "", false, false}}, true},
		{"another tool's rules", []Rule{{"read", "*", Allow, "", false, false}}, true},
	}
	for _, tt := range tests {
		if got := (Profile{Rules: tt.rules}).Hides("bash"); got != tt.want {
			t.Errorf("%s: Hides = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestPresets(t *testing.T) {
	type ask struct {
		permission, subject string
		want                string // the presets that allow it
	}
	asks := []ask{
		{"read", "main.go", "readonly review edit build full"},
		{"read", ".env", ""},
		{"read", "deploy/.env.production", ""},
		{"read", ".env.example", "readonly review edit build full"},
		{"grep", "x", "readonly review edit build full"},
		{"todowrite", "*", "readonly review edit build full"},
		{"edit", "main.go", "edit build full"},
		{"bash", "git status -s", "review build full"},
		{"bash", "git push", "build full"},
		{"bash", "sed -n 1,3p f", "review build full"},
		{"bash", "sed 1d f", "build full"},
		{"bash", "rm -rf x", "build full"},
		{"webfetch", "https://example.com", "full"},
		{"websearch", "q", "full"},
		{ExternalDirectory, "/etc/passwd", ""},
		{ExternalRead, "/etc/passwd", "review build full"},
		{ExternalRead, "/home/u/.ssh/id", ""},
		{Git, ".git/config", ""},
		{"mcp_x", "*", ""},
	}
	for _, a := range asks {
		var got string
		for _, name := range Presets() {
			p, ok := Preset(name)
			if !ok {
				t.Fatalf("preset %s not found", name)
			}
			if p.Decide(Need(a.permission, a.subject)).Allowed() {
				if got != "" {
					got += " "
				}
				got += name
			}
		}
		if got != a.want {
			t.Errorf("%s %q is allowed by [%s], want [%s]", a.permission, a.subject, got, a.want)
		}
	}
	if _, ok := Preset("all"); ok {
		t.Error("a preset that does not exist is found")
	}
}

func TestADenialNamesTheRuleAndItsPlace(t *testing.T) {
	p := Profile{Rules: []Rule{{"bash", "git push *", Deny, "m.yaml:7", false, false}}}
	want := `permission denied: bash "git push -f", by rule bash: {"git push *": deny} (m.yaml:7)`
	if got := p.Decide(Need("bash", "git push -f")).Denial(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCloneIsDeep(t *testing.T) {
	p, _ := Preset("build")
	c := p.Clone()
	c.Rules[0].Effect = Deny
	if p.Rules[0].Effect != Allow {
		t.Error("changing a clone changes its original")
	}
}
