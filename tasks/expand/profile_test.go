package expand

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

// ownRules returns the rules that are not a preset's.
func ownRules(p permission.Profile) []string { return goldenProfileOf(p).Rules }

func TestProfilesOfACommandLine(t *testing.T) {
	text := "version: 1\nprofiles:\n  mine: {extends: edit, env: [CI]}\n"
	body := "extends: mine\npermission:\n  bash: allow\n  \"*\": {\"$HOME/x\": deny, \"~\": deny, \"~bob/x\": allow}\n"
	for _, tt := range []struct {
		name    string
		profile string
		path    string
		want    string
		rules   []string
	}{
		{"a preset", "build", "", "build", nil},
		{"a preset beside a manifest", "build", "m.yaml", "build", nil},
		{"a profile of the manifest, which may lack tasks", "mine", "m.yaml", "mine", nil},
		{"a file with names of OpenCode 2", "second.yaml", "", "second", []string{
			`bash: {"*": deny} at second.yaml:2`, `bash: {"git *": allow} at second.yaml:3`, `task: {"*": deny} at second.yaml:4`,
		}},
		{"a file", "strict.yml", "", "strict", []string{`*: {"*": deny} at strict.yml:1`}},
		{"a file without an ending", "sub/strict", "", "strict", []string{`*: {"*": deny} at sub/strict:1`}},
		{"a file that extends a profile of the manifest", "ci.yaml", "m.yaml", "ci", []string{
			`bash: {"*": allow} at ci.yaml:3`,
			`*: {"/home/ann/x": deny} at ci.yaml:4`,
			`*: {"/home/ann": deny} at ci.yaml:4`,
			`*: {"~bob/x": allow} at ci.yaml:4`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := dirWith(t, map[string]string{"m.yaml": text, "ci.yaml": body, "second.yaml": "permission:\n  bash: deny\n  shell: {\"git *\": allow}\n  subagent: deny\n", "strict.yml": "permission: deny", "sub/strict": "permission: deny"})
			p, err := manifest.LoadProfile(t.Context(), tt.profile, tt.path, options(dir))
			if err != nil {
				t.Fatal(err)
			}
			if p.Name != tt.want {
				t.Errorf("name %q, want %q", p.Name, tt.want)
			}
			if diff := cmp.Diff(tt.rules, ownRules(p)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMistakesInProfilesOfACommandLine(t *testing.T) {
	for _, tt := range []struct {
		name    string
		profile string
		text    string
		want    []string
	}{
		{"unknown", "biuld", "", []string{`--profile: unknown profile "biuld"; did you mean "build"?`}},
		{"of a manifest that is not named", "mine", "", []string{`--profile: unknown profile "mine"; known profiles: readonly, review, edit, build, full`}},
		{"no such manifest", "edit", "no.yaml", []string{`no.yaml: not found; check its path`}},
		{"a manifest with a mistake", "mine", "broken.yaml", []string{`broken.yaml:3:19: "extends" must be a string, not the number 5; put it in quotes`}},
		{"no such file", "no.yml", "", []string{`no.yml: not found; check its path`}},
		{"a directory", "./sub", "", []string{`./sub: not a file; check its path`}},
		{"an empty file", "empty.yaml", "", []string{`empty.yaml:1:1: the file is empty; name another file`}},
		{"a manifest instead of a profile", "m.yaml", "", []string{
			`m.yaml:1:1: unknown key "version"; known here: cache, env, examples, extends, git, network, permission, setup_network`,
			`m.yaml:2:1: unknown key "profiles"; known here: cache, env, examples, extends, git, network, permission, setup_network`,
		}},
		{"ask", "ask.yaml", "", []string{`ask.yaml:1:20: "ask" is not supported, because nobody can be asked; write allow or deny`}},
		{"a circle", "a", "circle.yaml", []string{`circle.yaml:4:16: circular extends: a -> b -> a; let one of them extend a preset`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := dirWith(t, map[string]string{
				"m.yaml": "version: 1\nprofiles: {mine: {extends: edit}}\n", "broken.yaml": "version: 1\nprofiles:\n  mine: {extends: 5}\n", "empty.yaml": "", "sub/": "",
				"ask.yaml": "permission: {edit: ask}", "circle.yaml": "version: 1\nprofiles:\n  a: {extends: b}\n  b: {extends: a}\n",
			})
			_, err := manifest.LoadProfile(t.Context(), tt.profile, tt.text, options(dir))
			if diff := cmp.Diff(tt.want, lines(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTildeWithoutHOMEIsAnError(t *testing.T) {
	o := options(dirWith(t, map[string]string{"p.yaml": "permission:\n  read: {\"~/x\": deny}\n"}))
	o.Getenv = nil
	_, err := manifest.LoadProfile(t.Context(), "p.yaml", "", o)
	want := []string{`p.yaml:2:10: ~ is the home directory, but HOME is not set; write the path of the directory`}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestAProfileAppliesTheRulesOfItsFile(t *testing.T) {
	p := mustLoad(t, oneTask+`
profile: outer
profiles:
  inner: {extends: edit, git: write, permission: {edit: {"*.lock": deny}}}
  outer: {extends: inner, permission: {edit: {"ok.lock": allow}}}
`, tasks.Overrides{}).Jobs[0].Profile
	for _, tt := range []struct {
		need permission.Request
		want permission.Effect
	}{
		{permission.Need("edit", "main.go"), permission.Allow},
		{permission.Need("edit", "yarn.lock"), permission.Deny},
		{permission.Need("edit", "ok.lock"), permission.Allow},
		{permission.Need(permission.Git, ".git/config"), permission.Allow},
		{permission.Need("bash", "ls"), permission.Deny},
	} {
		if got := p.Decide(tt.need); got.Effect != tt.want {
			t.Errorf("%s %s: %v by %s", tt.need.Permission, tt.need.Subject(), got.Effect, got.Rule)
		}
	}
}
