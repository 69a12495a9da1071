package opencode

import (
	"strings"
	"testing"

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
	tests := []struct{ name, file, text, want string }{ // want: what is denied, or ! and what the error contains
		{"rules", "opencode.json", `{"permission": {"edit": "deny"}}`, "opencode edit"},
		{"one rule", "opencode.json", `{"permission": "ask"}`, "opencode *"},
		{"a wildcard", "opencode.json", `{"permission": {"b*": "deny"}}`, "opencode bash"},
		{"a wildcard of another name", "opencode.json", `{"permission": {"wr?te": "ask"}}`, "opencode edit"},
		{"a wildcard before a tool", "opencode.json", `{"permission": {"b*": "deny", "bash": {"git *": "allow"}}}`, "opencode bash *"},
		{"a wildcard after a tool", "opencode.json", `{"permission": {"bash": {"rm *": "deny"}, "b*": {"git *": "allow", "git push*": "deny"}}}`, "opencode bash rm *, opencode bash git push*"},
		{"a wildcard after all", "opencode.json", `{"permission": {"bash": {"rm *": "deny"}, "*": "deny", "b*": {"x": "deny"}}}`, "!rules for bash before and after those for *"},
		{"another name of a tool", "opencode.json", `{"permission": {"shell": {"git push *": "deny"}}}`, "opencode bash git push *"},
		{"another name that allows", "opencode.json", `{"permission": {"edit": "deny", "write": {"*": "allow"}}}`, "opencode edit"},
		{"switches", "opencode.json", `{"tools": {"bash": false}}`, "opencode bash"},
		{"switches by a wildcard", "opencode.json", `{"tools": {"b*": false}, "permission": {"bash": {"git *": "allow"}}}`, "opencode bash *"},
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
