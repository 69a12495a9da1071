package permission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
)

func TestACeilingDeniesWhatTheProfileAllows(t *testing.T) {
	full, ok := permission.Preset("full")
	edit, ok2 := permission.Preset("edit")
	if !ok || !ok2 {
		t.Fatal("the presets are missing")
	}
	p := full.Under(edit)
	for _, c := range []struct {
		permission, subject string
		allowed             bool
	}{
		{"read", "a.go", true},
		{"edit", "a.go", true},
		{"bash", "ls", false},
		{"webfetch", "https://example.com", false},
	} {
		d := p.Decide(permission.Need(c.permission, c.subject))
		if d.Allowed() != c.allowed || p.Allows(c.permission, c.subject) != c.allowed {
			t.Errorf("%s %s: got %v by %s (%s)", c.permission, c.subject, d.Effect, d.Rule, d.Source)
		}
		if !c.allowed && !strings.Contains(d.Source, "no other may exceed") {
			t.Errorf("%s %s: the source %q does not say that the ceiling decided", c.permission, c.subject, d.Source)
		}
	}
	if !p.Hides("bash") || p.Hides("edit") {
		t.Error("the tools offered are not those that both profiles leave")
	}
}

func TestACeilingNeverWidens(t *testing.T) {
	readonly, _ := permission.Preset("readonly")
	full, _ := permission.Preset("full")
	if p := readonly.Under(full); p.Allows("edit", "a.go") || !p.Hides("bash") {
		t.Error("a ceiling above the profile allows more than the profile")
	}
	edit, _ := permission.Preset("edit")
	if p := full.Under(readonly).Under(edit); p.Allows("edit", "a.go") || !p.Allows("read", "a.go") {
		t.Error("a second ceiling lifts the first")
	}
	p := permission.Profile{
		Network: permission.Network{Allow: true, Hosts: []string{"go", "npm"}}, Cache: []string{"go", "npm"}, Env: []string{"CI", "TOKEN"},
	}
	most := permission.Profile{Network: permission.Network{Hosts: []string{"go"}}, Cache: []string{"go"}, Env: []string{"CI"}}
	got := p.Under(most)
	want := permission.Profile{Network: permission.Network{Hosts: []string{"go"}}, Cache: []string{"go"}, Env: []string{"CI"}, Ceiling: &most}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("under the ceiling (-want +got):\n%s", diff)
	}
	if len(p.Env) != 2 {
		t.Error("the profile itself was changed")
	}
}
