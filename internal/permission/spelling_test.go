package permission

import (
	"strings"
	"testing"
)

func TestPresetsProtectFilesInEverySpelling(t *testing.T) {
	build, _ := Preset("build")
	lifted := build.Clone()
	lifted.Rules = append(lifted.Rules, Rule{Permission: "edit", Pattern: ".github/**", Effect: Allow})
	for _, name := range []string{
		".github/workflows/x.yml", ".github", ".github/", ".GITHUB/workflows/x.yml", ".git\u200chub/x", ".github./x", ".github /x",
		".github::$INDEX_ALLOCATION/x", "GITHUB~1/x", "github~2/x", "GI7EBA~1/x", `.github\x`,
		".gitlab-ci.yml", ".gitlab-ci.yml::$DATA", "GITLAB~1.YML", ".circleci/config.yml", "jenkinsfile", "JENKIN~1", "azure-pipelines.yml", "AZURE-~1.YML",
		".buildkite/x", ".millhand/x", "a/.git/HEAD", "a/.GIT/head", ".gitmodules", "a/b/.gitModules", "GITMOD~1", "a/GI7EBA~1", ".gitattributes", "a/GITATT~1", "GI7D29~1", "CODEOWNERS", "docs/codeowners", "a/CODEOW~1",
		"AGENTS.md", "a/agents.MD", "a/AGENT\u017f.md", "CLAUDE.md.", "a/CLAUDE.md", ".opencode/x", ".claude/settings.json", "CLAUDE~1/settings.json", ".cursor/x", "opencode.json", "OPENCO~1.JSO", ".mcp.json", "MCP~1.JSO",
		".vscode/tasks.json", ".VSCode/x", ".idea/x", ".devcontainer/devcontainer.json", ".devcontainer.json", ".envrc", "a/b/.ENVRC", ".husky/pre-commit",
		".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yaml", ".bashrc", ".Zshenv", ".profile",
	} {
		if d, barred := build.Bars(name, "/work/"+name); !barred || d.Source != "preset build" {
			t.Errorf("%q: barred %v by %s", name, barred, d.By())
		}
		if d := build.Decide(Need("edit", name, "/work/"+name)); d.Allowed() {
			t.Errorf("%q may be edited by %s", name, d.By())
		}
	}
	for _, name := range []string{
		"main.go", "github/x", "a/.github/x", ".githubx", "a/.gitlab-ci.yml", ".gitignore", "GITIGN~1", "AGENTS.md.bak", "a/opencode.json", "MCP~1.JS", "GITHUB~1.X/y", "Jenkinsfiles/x", "~1", "a~b", "...", "a/.vscode/x", ".vscodes", "husky/x", "profile", "a/.bashrc",
	} {
		if d, barred := build.Bars(name, "/work/"+name); barred {
			t.Errorf("%q: barred by %s", name, d.By())
		}
	}
	// The directories above the workspace don't matter.
	if d, barred := build.Bars("x", "/home/u/.claude/AGENTS.md/x"); barred {
		t.Errorf("barred by %s", d.By())
	}
	if _, barred := lifted.Bars(".github/x"); barred {
		t.Error("a later rule doesn't allow it")
	}
	if _, barred := lifted.Bars(".GITHUB/x"); !barred {
		t.Error("an allow rule matches another spelling")
	}
	if _, barred := lifted.Under(build).Bars(".github/x"); !barred {
		t.Error("the maximum profile doesn't count")
	}
}

func TestBars(t *testing.T) {
	shell := Rule{Permission: "bash", Pattern: "*", Effect: Allow}
	deny := func(permission, pattern string) Rule { return Rule{Permission: permission, Pattern: pattern} }
	tests := []struct {
		name  string
		rules []Rule
		want  bool
	}{
		{"no edit rule", []Rule{shell}, false},
		{"everything is denied except the shell", []Rule{deny("*", "*"), shell}, false},
		{"no edits", []Rule{shell, deny("edit", "*")}, true},
		{"and then nothing else either", []Rule{shell, deny("edit", "*"), deny("*", "*")}, true},
		{"the file", []Rule{shell, deny("edit", "ci/x")}, true},
		{"by another case", []Rule{shell, deny("edit", "CI/*")}, true},
		{"by an absolute path", []Rule{shell, deny("edit", "/work/ci/*")}, true},
		{"another file", []Rule{shell, deny("edit", "src/*")}, false},
		{"for every tool", []Rule{deny("*", "ci/*"), shell}, true},
		{"allowed later", []Rule{deny("edit", "ci/*"), {Permission: "edit", Pattern: "*", Effect: Allow}}, false},
		{"protected by a glob", []Rule{Protect("ci/*.{yml,x}", ""), Protect("c?", "")}, true},
		{"a star is within a directory", []Rule{Protect("*.x", ""), Protect("*x", "")}, false},
	}
	for _, tt := range tests {
		p := Profile{Rules: tt.rules}
		if _, got := p.Bars("ci/x", "/work/ci/x"); got != tt.want {
			t.Errorf("%s: barred: %v", tt.name, got)
		}
		if tt.want && !p.BarsAny() {
			t.Errorf("%s: bars nothing", tt.name)
		}
	}
	if (Profile{Rules: []Rule{deny("*", "*"), shell}}).BarsAny() {
		t.Error("a profile without an edit rule bars something")
	}
}

func TestMayEdit(t *testing.T) {
	edit, _ := Preset("edit")
	readonly, _ := Preset("readonly")
	own := func(of Profile, rules ...Rule) Profile {
		p := of.Clone()
		p.Rules = append(p.Rules, rules...)
		return p
	}
	allow := func(pattern string) Rule { return Rule{Permission: "edit", Pattern: pattern, Effect: Allow} }
	deny := func(pattern string) Rule { return Rule{Permission: "edit", Pattern: pattern} }
	edit = own(edit, deny("ci/*")) // as presets deny directories of CI systems
	for name, c := range map[string]struct {
		p    Profile
		want bool
	}{
		"a preset":                    {edit, false},
		"no edits":                    {readonly, false},
		"no edit rule":                {own(Profile{}, Rule{Permission: "bash", Pattern: "*", Effect: Allow}), false},
		"the directory":               {own(edit, allow("ci/**")), true},
		"one file of it":              {own(edit, allow("ci/a.yml")), true},
		"by an absolute path":         {own(edit, allow("/work/ci/a.yml")), true},
		"other files of it":           {own(edit, allow("ci/*.md")), false},
		"other files anywhere":        {own(Profile{}, deny("*"), allow("*.md")), false},
		"everything":                  {own(Profile{}, allow("*")), true},
		"everything but these":        {own(Profile{}, allow("*"), deny("ci/*")), false},
		"everything but one of these": {own(Profile{}, allow("*"), deny("ci/a.yml")), true},
		"protected":                   {own(Profile{}, allow("*")).Narrowed("x", []Rule{Protect("ci", "")}), false},
		"protected files of it":       {own(Profile{}, allow("*")).Narrowed("x", []Rule{Protect("ci/*.yml", "")}), false},
		"another is protected":        {own(Profile{}, allow("*")).Narrowed("x", []Rule{Protect("src", "")}), true},
		"under a maximum":             {own(Profile{}, allow("*")).Under(edit), false},
	} {
		if got := c.p.MayEdit("ci/\x00.yml", "/work/ci/\x00.yml"); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestMayCall(t *testing.T) {
	rule := func(tool string, effect Effect) Rule { return Rule{Permission: tool, Pattern: "*", Effect: effect} }
	full, _ := Preset("full")
	for name, c := range map[string]struct {
		p    Profile
		want bool
	}{
		"a preset":                     {full, false},
		"all tools of the server":      {Profile{Rules: []Rule{rule("files_*", Allow)}}, true},
		"one of them":                  {Profile{Rules: []Rule{rule("files_read", Allow)}}, true},
		"those of another":             {Profile{Rules: []Rule{rule("file_*", Allow)}}, false},
		"everything":                   {Profile{Rules: []Rule{rule("*", Allow)}}, true},
		"everything but these":         {Profile{Rules: []Rule{rule("*", Allow), rule("files_*", Deny)}}, false},
		"everything but one of it":     {Profile{Rules: []Rule{rule("*", Allow), rule("files_read", Deny)}}, true},
		"denied, and one allowed":      {Profile{Rules: []Rule{rule("*", Deny), rule("files_read", Allow)}}, true},
		"under a maximum without":      {Profile{Rules: []Rule{rule("files_*", Allow)}}.Under(full), false},
		"under a maximum that has one": {Profile{Rules: []Rule{rule("files_*", Allow)}}.Under(Profile{Rules: []Rule{rule("files_x", Allow)}}), true},
	} {
		if got := c.p.MayCall("files_\x00"); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestLockedPathsAreThoseOfRulesAndNotTheirParents(t *testing.T) {
	build, _ := Preset("build")
	own := func(rules ...Rule) Profile {
		p := build.Clone()
		p.Rules = append(p.Rules, rules...)
		return p
	}
	allow := func(pattern string) Rule { return Rule{Permission: "edit", Pattern: pattern, Effect: Allow} }
	deny := func(pattern string) Rule { return Rule{Permission: "edit", Pattern: pattern} }
	for _, tt := range []struct {
		name  string
		p     Profile
		file  string
		isDir bool
		want  bool
	}{
		{"a directory of a preset", build, ".github", true, true},
		{"a file in it", build, ".github/x", false, true},
		{"a file anywhere", build, "docs/AGENTS.md", false, true},
		{"the directory that it is in", build, "docs", true, false},
		{"another file", build, "main.go", false, false},
		{"a directory with a file that a later rule may allow", own(allow(".github/x/*")), ".github", true, false},
		{"by any wildcard", own(allow("*.md")), ".github", true, false},
		{"and the rest of it", own(allow(".github/x/*")), ".github/y", true, true},
		{"a directory of a rule's own", own(deny("ci/*")), "ci", true, true},
		{"only its name", own(deny("ci")), "ci", true, false},
		{"a file of a rule's own", own(deny("ci/*")), "ci/x", false, true},
		{"everything is denied", own(deny("*")), "src", true, false},
		{"and this, too", own(deny("*")), ".github", true, true},
		{"a maximum profile", own(allow("*")).Under(build), ".github", true, true},
	} {
		if got := tt.p.Locks(tt.isDir, tt.file, "/work/"+tt.file); got != tt.want {
			t.Errorf("%s: Locks(%q) is %v", tt.name, tt.file, got)
		}
	}
}

func TestWhatIsGivenBackMayBeUndone(t *testing.T) {
	build, _ := Preset("build")
	p := build.Narrowed("commit.protect", []Rule{Protect("ci/**", "")}).Returned([]string{".github/workflows/x.yml", "ci/x", ".github/*"}, nil)
	for name, want := range map[string]bool{".github/workflows/x.yml": true, ".github": true, ".github/": true, "ci": true, "ci/x": true, "ci/y": false, ".github/y": false, "AGENTS.md": false} {
		if got := p.Decide(Need("edit", name, "/work/"+name)).Allowed(); got != want {
			t.Errorf("%s: allowed is %v", name, got)
		}
	}
	if _, barred := build.Bars("ci/x"); barred {
		t.Error("the original has changed")
	}
}

// What is known only at run time is decided when it is known.
func TestAProtectedPathDoesNotDenyUnknownOnes(t *testing.T) {
	build, _ := Preset("build")
	for _, req := range []Request{
		{Permission: "edit", Subjects: []string{"$f"}, Open: "\x00"},
		{Permission: "edit", Subjects: []string{"$f"}, Unknown: "why"},
	} {
		if d := build.Decide(req); !d.Allowed() {
			t.Errorf("denied: %s", d.By())
		}
	}
	if d := build.Decide(Request{Permission: "edit", Subjects: []string{".github/$f"}, Open: ".github/\x00"}); d.Allowed() {
		t.Errorf("allowed: %s", d.By())
	}
	if build.Hides("edit") || (Profile{Rules: []Rule{{Permission: "edit", Pattern: "*", Effect: Allow}, Protect("*", "")}}).Hides("edit") {
		t.Error("a protected path hides the tools")
	}
}

func FuzzFold(f *testing.F) {
	f.Add(".git\u200chub. /x:y")
	f.Fuzz(func(t *testing.T, name string) {
		once := fold(name)
		if twice := fold(once); twice != once {
			t.Errorf("%q folded is %q, and folded again %q", name, once, twice)
		}
		if other := fold("\u200cx/" + name); other != "X/"+once { // an ignored character
			t.Errorf("%q folded is %q, and below a directory %q", name, once, other)
		}
	})
}

func FuzzLiteralOf(f *testing.F) {
	for glob, name := range map[string]string{"./A/B?/LONGER/": "A/BC/LONGER/x", "**/AGENTS.MD": "a/AGENTS.MD", "*.LOCK": "x.LOCK", "{A,B}/C": "A/C", "[AB]C": "AC", `\A`: "A", "A/**": "A"} {
		f.Add(glob, name)
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		rule := foldRule(new(Protect(glob, "")))
		if literal := literalOf(rule.pattern); rule.protect(name) && !strings.Contains(name, literal) {
			t.Errorf("%q matches %q, which does not contain %q", glob, name, literal)
		}
	})
}

// Each alternative of a glob is tried for each file: without a limit of braces that does not end.
func TestAGlobWithTooManyAlternativesProtectsEverything(t *testing.T) {
	build, _ := Preset("build")
	for glob, want := range map[string]bool{"{a,b}/{c,d}*.{x,y}": false, "{docs,src}/**": true, "main.{go,c}": false, "a" + strings.Repeat("{,}", 40) + "x": true, strings.Repeat("*{a,b}", 40): true} {
		p := build.Narrowed("commit.protect", []Rule{Protect(glob, "")})
		if _, barred := p.Bars("src/main.go"); barred != want {
			t.Errorf("%s: protects src/main.go is %v", glob, barred)
		}
		if locked := p.Locker()(false, "src/main.go"); locked != want {
			t.Errorf("%s: locks src/main.go is %v", glob, locked)
		}
	}
}
