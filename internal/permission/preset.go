package permission

import "slices"

// Presets returns the names of the built-in profiles, from the narrowest to
// the widest.
func Presets() []string { return []string{"readonly", "review", "edit", "build", "full"} }

// Preset returns a built-in profile; false if not found.
func Preset(name string) (Profile, bool) {
	var p Profile
	switch name {
	case "readonly":
		p.Rules = readonlyRules()
	case "review":
		p.Rules = append(readonlyRules(), reviewCommands()...)
	case "edit":
		p.Rules = append(readonlyRules(), editRules()...)
	case "build":
		p.Rules = append(append(readonlyRules(), editRules()...), allow("bash", "*"))
	case "full":
		p.Rules = append(append(readonlyRules(), editRules()...), allow("bash", "*"),
			allow("webfetch", "*"), allow("websearch", "*"), allow("codesearch", "*"))
		p.Network.Allow = true
	default:
		return Profile{}, false
	}
	p.Name, p.Cache = name, []string{AutoCache}
	if slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Permission == "bash" }) {
		p.Rules = append(p.Rules, systemDirectories()...)
	}
	for i := range p.Rules {
		p.Rules[i].Source, p.Rules[i].Preset = "preset "+name, true
	}
	return p, true
}

func allow(permission, pattern string) Rule {
	return Rule{Permission: permission, Pattern: pattern, Effect: Allow}
}

func deny(permission, pattern string) Rule {
	return Rule{Permission: permission, Pattern: pattern, Effect: Deny}
}

// readonlyRules are the first rules of every preset: reading and searching,
// except files that contain secrets by convention.
func readonlyRules() []Rule {
	return []Rule{
		allow("read", "*"), deny("read", "*.env"), deny("read", "*.env.*"), allow("read", "*.env.example"),
		allow("glob", "*"), allow("grep", "*"), allow("list", "*"), allow("lsp", "*"), allow("batch", "*"),
		allow("todowrite", "*"), allow("todoread", "*"), allow("skill", "*"), allow("task", "*"),
	}
}

// editRules allow changing files, except those that configure CI, git, reviews, agents,
// editors or shells: they run with the permissions of whoever uses the repository next.
// A profile's own later rule allows them.
func editRules() []Rule {
	return append([]Rule{allow("edit", "*")}, Protected("")...)
}

// Protected returns the rules of the presets that deny changing files.
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
