package permission

import (
	"slices"
	"testing"
)

func TestNarrowedOnlyDenies(t *testing.T) {
	build, _ := Preset("build")
	build.Network.Hosts, build.Cache, build.Env = []string{"go"}, []string{"go"}, []string{"CI"}
	build.Rules = append(build.Rules, Rule{Permission: ExternalDirectory, Pattern: "/srv/*", Effect: Allow})
	p := build.Narrowed("agent x", []Rule{deny("edit", "*"), deny("bash", "*"), allow("bash", "git log *"), allow("webfetch", "*"), allow("read", "*")})
	for _, tt := range []struct {
		permission, subject string
		want                bool
	}{
		{"edit", "a.go", false},
		{"bash", "ls", false},
		{"bash", "git log -1", true},
		{"webfetch", "https://example.com", false}, // the profile does not allow it
		{"read", ".env", false},
		{"read", "a.go", true},
		{"task", "explore", true},
		{ExternalDirectory, "/srv/x", true},
		{ExternalDirectory, "/etc", false},
		{Git, ".git/config", false},
	} {
		if got := p.Decide(Need(tt.permission, tt.subject)).Allowed(); got != tt.want {
			t.Errorf("%s %s: %v", tt.permission, tt.subject, got)
		}
	}
	if !p.Hides("edit") || p.Hides("bash") {
		t.Error("what can never be called is offered, or what can be called is not")
	}
	if !slices.Equal(p.Network.Hosts, []string{"go"}) || !slices.Equal(p.Cache, []string{"go"}) || !slices.Equal(p.Env, []string{"CI"}) {
		t.Errorf("%+v %v %v", p.Network, p.Cache, p.Env)
	}
}

func TestMayChange(t *testing.T) {
	preset := func(name string, more ...Rule) Profile {
		p, _ := Preset(name)
		p.Rules = append(p.Rules, more...)
		return p
	}
	for _, tt := range []struct {
		name    string
		profile Profile
		want    bool
	}{
		{"no rules", Profile{}, false},
		{"readonly", preset("readonly"), false},
		{"review", preset("review"), false},
		{"edit", preset("edit"), true},
		{"build", preset("build"), true},
		{"full", preset("full"), true},
		{"some files", preset("edit", deny("edit", "*"), allow("edit", "*.md")), true},
		{"no files", preset("edit", deny("edit", "*")), false},
		{"commands alone", preset("readonly", allow("bash", "make *")), true},
		{"commands of a reviewer and one more", preset("review", allow("bash", "make *")), true},
		{"a reviewer's command, written again", preset("readonly", allow("bash", "git log *")), false},
		{"a narrower form of a reviewer's command", preset("readonly", allow("bash", "git log --oneline *"), allow("bash", "ls")), false},
		{"a wider form of a reviewer's command", preset("readonly", allow("bash", "git *")), true},
		{"a program whose name starts like a reviewer's", preset("readonly", allow("bash", "lsof *")), true},
		{"a command with a denied subcommand", preset("readonly", allow("bash", "go *"), deny("bash", "go test *")), true},
		{"a command that a later rule denies", preset("review", allow("bash", "go test *"), deny("bash", "go *")), false},
		{"a command that a later rule allows again", preset("review", deny("bash", "go *"), allow("bash", "go test *")), true},
		{"everything", preset("readonly", allow("*", "*")), true},
		{"a custom tool", preset("readonly", allow("format", "*"), allow("files_*", "*")), false},
		{"another directory", preset("review", allow(ExternalDirectory, "/srv/*")), false},
		{"git's own files", preset("review", allow(Git, "*")), false},
		{"edit below build without files", preset("edit").Under(preset("build", deny("edit", "*"))), false},
		{"neither files nor commands", preset("build", deny("edit", "*"), deny("bash", "*")), false},
		{"build below readonly", preset("build").Under(preset("readonly")), false},
		{"build below review", preset("build").Under(preset("review")), false},
		{"build narrowed by an agent", preset("build").Narrowed("agent x", []Rule{deny("edit", "*"), deny("bash", "*")}), false},
		{"build narrowed a little", preset("build").Narrowed("agent x", []Rule{deny("edit", ".env")}), true},
	} {
		if got := tt.profile.MayChange(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
