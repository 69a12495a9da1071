package permission

import (
	"fmt"
	"path"
	"testing"
)

// checkReadable compares Readable with Allows.
func checkReadable(t *testing.T, p Profile, dir, rel string) {
	t.Helper()
	abs := path.Join(dir, rel)
	if got, want := p.Readable(dir, true)(rel), p.Allows("read", rel, abs); got != want {
		t.Errorf("%v: %q in %q: %t, but it is decided %t", p.Rules, rel, dir, got, want)
	}
	if got, want := p.Readable(dir, false)(rel), p.Allows("read", abs); got != want {
		t.Errorf("%v: the absolute path of %q in %q: %t, but it is decided %t", p.Rules, rel, dir, got, want)
	}
}

func TestReadableIsTheDecision(t *testing.T) {
	patterns := []string{
		"", "*", "**", "*.env", "*.env.*", "*env", "*a*", "**a**", "*/a", "*é", "*\xa9", "*\x80*", "* *", "*a *", "a *", "*?", "?*", "*a?", "a", "a*", "a/*", "*a/*b",
		"/w/*", "/w/a*", "/*", "w/*", "*w*", "*w", `*\a`, `a\b`, `*a\*`, "secret/*", "*.pem", "/w", "*d/a*", "**",
	}
	names := []string{
		"a", "b", "a/b", ".env", "x/.env", "x.env", ".env.local", "x/.env.d/y", "env", `a\b`, `x\.env`, "é", "x/\xc3", "\xa9", "\xc3\x80x", "a ", "a b", "w", "w/w", "secret/k.pem", "secret",
		"d/aa", "ab/c/d", "x/a", "\xe2\x82a", "\xff.env", "x.env/.env", "a?",
	}
	for _, dir := range []string{"/w", "/", "/home/.env.x/w", `/a\b/w`, "/secret", "/é/\xa9"} {
		for _, first := range patterns {
			for _, second := range patterns {
				p := Profile{Name: "p", Rules: []Rule{
					{Permission: "read", Pattern: "*", Effect: Allow},
					{Permission: "*", Pattern: first, Effect: Deny},
					{Permission: "read", Pattern: second, Effect: Allow},
					{Permission: "edit", Pattern: "*", Effect: Deny},
				}}
				for _, name := range names {
					checkReadable(t, p, dir, name)
				}
			}
		}
	}
}

func TestReadableObeysLimits(t *testing.T) {
	for _, preset := range Presets() {
		p, _ := Preset(preset)
		for _, rules := range [][]Rule{nil, {{Permission: "read", Pattern: "a/*", Effect: Deny}}, {{Permission: "*", Pattern: "*", Effect: Deny}, {Permission: "re*", Pattern: "*.go", Effect: Allow}}} {
			narrow := p.Narrowed("limit", rules)
			for i, name := range []string{"a/b", "a.go", "x.env", ".env.example", "a/.env.example", ".git/config"} {
				t.Run(fmt.Sprint(preset, len(rules), i), func(t *testing.T) {
					checkReadable(t, narrow, "/w", name)
					checkReadable(t, p.Under(Profile{Name: "other", Rules: rules}), "/w", name)
				})
			}
		}
	}
	checkReadable(t, Profile{}, "/w", "a")
	checkReadable(t, Profile{Rules: []Rule{{Permission: "read", Pattern: "*", Effect: Allow, Protects: true}}}, "/w", "a")
}

func FuzzReadable(f *testing.F) {
	f.Add("*.env", "*a*", "w", "x/a.env")
	f.Add("*é", `*\a`, "é", `b\a`)
	f.Fuzz(func(t *testing.T, first, second, dir, rel string) {
		dir, rel = path.Join("/", dir), path.Join("/", rel)[1:]
		if rel == "" {
			return
		}
		checkReadable(t, Profile{Rules: []Rule{{Permission: "read", Pattern: first, Effect: Allow}, {Permission: "*", Pattern: second, Effect: Deny}}}, dir, rel)
		checkReadable(t, Profile{Rules: []Rule{{Permission: "read", Pattern: "*", Effect: Allow}, {Permission: "read", Pattern: first, Effect: Deny}, {Permission: "read", Pattern: second, Effect: Allow}}}, dir, rel)
	})
}
