package permission

import "slices"

// Presets returns the names of the built-in profiles, from the narrowest to
// the widest.
func Presets() []string { return []string{"readonly", "review", "edit", "build", "full"} }

// Preset returns a built-in profile; false if not found.
func Preset(name string) (Profile, bool) {
	includes := map[string][]string{
		"readonly": {"readonly"},
		"review":   {"readonly"},
		"edit":     {"readonly", "edit"},
		"build":    {"readonly", "edit", "build"},
		"full":     {"readonly", "edit", "build", "full"},
	}[name]
	if includes == nil {
		return Profile{}, false
	}
	p := Profile{Name: name, Cache: []string{AutoCache}}
	for _, preset := range includes {
		for _, permission := range AllowedFrom(preset) {
			p.Rules = append(append(p.Rules, allow(permission, "*")), protected(permission)...)
		}
	}
	if name == "review" {
		p.Rules = append(p.Rules, reviewCommands()...)
	}
	p.Network.Allow = name == "full"
	if slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Permission == "bash" }) {
		p.Rules = append(p.Rules, systemDirectories()...)
	}
	for i := range p.Rules {
		p.Rules[i].Source, p.Rules[i].Preset = "preset "+name, true
	}
	return p, true
}

// AllowedFrom returns the permissions of the built-in tools that a preset allows and narrower presets don't.
func AllowedFrom(preset string) []string {
	var names []string
	for _, t := range builtIns {
		if p := ForTool(t.name); t.preset == preset && !slices.Contains(names, p) {
			names = append(names, p)
		}
	}
	return names
}

// protected returns what presets deny of a permission that they allow.
func protected(permission string) []Rule {
	switch permission {
	case "read": // files that contain secrets by convention
		return []Rule{deny("read", "*.env"), deny("read", "*.env.*"), allow("read", "*.env.example")}
	case "edit":
		return Protected("")
	}
	return nil
}

func allow(permission, pattern string) Rule {
	return Rule{Permission: permission, Pattern: pattern, Effect: Allow}
}

func deny(permission, pattern string) Rule {
	return Rule{Permission: permission, Pattern: pattern, Effect: Deny}
}

// Protected returns the rules of the presets that deny changing files: those that configure CI, git, reviews, agents,
// editors or shells, because they run with the permissions of whoever uses the repository next.
// A profile's own later rule allows them.
func Protected(source string) []Rule {
	var rules []Rule
	for _, glob := range []string{
		".github/**", ".gitlab-ci.yml", ".circleci/**", "Jenkinsfile", "azure-pipelines.yml", ".buildkite/**", ".millhand/**",
		"**/.git/HEAD", "**/.gitmodules", "**/.gitattributes", "**/CODEOWNERS",
		"**/AGENTS.md", "**/CLAUDE.md", ".opencode/**", ".claude/**", ".cursor/**", "opencode.json", ".mcp.json",
		".vscode/**", ".idea/**", ".devcontainer/**", ".devcontainer.json", "**/.envrc",
		".husky/**", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml",
		".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
	} {
		rules = append(rules, Protect(glob, source))
	}
	return rules
}

// Protect returns the rule that denies changing the files that a glob matches.
func Protect(glob, source string) Rule {
	return Rule{Permission: "edit", Pattern: glob, Effect: Deny, Source: source, Protects: true}
}

// systemDirectories contain a machine's programs and their configuration.
// Commands may name them as arguments; the sandbox keeps them read-only.
func systemDirectories() []Rule {
	var rules []Rule
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib*", "/etc", "/opt"} {
		rules = append(rules, allow(ExternalRead, dir), allow(ExternalRead, dir+"/*"))
	}
	return rules
}

// reviewCommands lets a reviewer run read-only commands. What they can write or
// run through an option (sort -o, find -exec, sed's w) is found by the analysis
// of the command line and decided separately, so it needs no rule here.
func reviewCommands() []Rule {
	var rules []Rule
	for _, c := range []string{
		"git status", "git log", "git diff", "git show", "git blame", "git shortlog", "git describe", "git rev-parse",
		"git ls-files", "git ls-tree", "git cat-file", "git grep", "git merge-base", "git rev-list", "git name-rev",
		"ls", "cat", "head", "tail", "wc", "find", "grep", "rg", "sort", "uniq", "cut", "tr", "nl", "tree", "file", "stat", "du",
		"diff", "cmp", "comm", "sed -n", "jq", "basename", "dirname", "realpath", "readlink", "pwd", "echo", "printf",
		"test", "true", "false", "which", "sha256sum", "md5sum", "cd",
	} {
		rules = append(rules, allow("bash", c+" *"))
	}
	return rules
}
