package profiles

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/problem"
)

// Body is a profile as a file defines it.
type Body struct {
	Value    form.Value
	Title    string
	extends  *form.Text
	rules    []Rule
	network  *permission.Network
	setup    *setupNetwork
	cache    *[]string // nil if absent
	env      []form.Text
	unusual  []form.Value // rules whose permission is unknown and similar to a known one
	examples []permission.Example
}

// Rule is a rule and its pattern before "~" was expanded, which is the
// same on every machine.
type Rule struct {
	permission.Rule
	Written string
}

// Profile is a profile with what it extends, and a digest of its content that is
// the same on every machine.
type Profile struct {
	permission.Profile
	Digest string
}

// Read reads a profile's body.
func Read(v form.Value, title string) *Body {
	p := &Body{Value: v, Title: title}
	p.keys().Read(v)
	if p.cache != nil && len(*p.cache) > MaxEntries || len(p.rules)+len(p.env)+len(p.examples) > MaxEntries {
		v.Problem(fmt.Sprintf("the profile has more than %d entries", MaxEntries), "use wildcards")
		p.rules, p.cache, p.env, p.examples = nil, nil, nil, nil
	}
	return p
}

// readRules reads the key permission.
func (p *Body) readRules(v form.Value) { p.rules = append(p.rules, p.RulesOf(v)...) }

func (p *Body) readGit(v form.Value) { p.rules = append(p.rules, readGitRule(v)...) }

// RulesOf reads a permission key: one effect for everything, or a mapping from
// permissions to an effect or to patterns with an effect each. The order of
// the file is the order of the rules.
func (p *Body) RulesOf(v form.Value) []Rule {
	switch {
	case v.Node.Value != "":
		return RuleOf(v, "*", "*")
	case v.IsList():
		v.Wrong("allow, deny or a mapping from permissions to them", "write for example {edit: allow}")
		return nil
	}
	var all []Rule
	entries, _ := v.Entries()
	for _, e := range entries {
		all = append(all, p.RulesUnder(e)...)
	}
	return all
}

// RulesUnder reads the rules of one permission.
func (p *Body) RulesUnder(e form.Value) (all []Rule) {
	name := permission.Alias(e.Key.Value)
	switch {
	case name == permission.Git:
		return readGitRule(e)
	case !p.judged(e):
	case e.IsList():
		e.Wrong("allow, deny or a mapping from patterns to them", `write for example {"*": allow}`)
	case e.IsScalar():
		return RuleOf(e, name, "*")
	default:
		patterns, _ := e.Entries()
		for _, pattern := range patterns {
			all = append(all, RuleOf(pattern, name, pattern.Key.Value)...)
		}
	}
	return all
}

// RuleOf reads an effect and makes the rule of it; none after a problem.
func RuleOf(v form.Value, permissionName, pattern string) []Rule {
	effect, ok := readEffect(v)
	if !ok {
		return nil
	}
	expanded, ok := v.ExpandHome(pattern)
	if !ok {
		return nil
	}
	checkOutside(v, permissionName, expanded, effect)
	r := permission.Rule{Permission: permissionName, Pattern: expanded, Effect: effect, Source: v.RuleSource()}
	return []Rule{{r, pattern}}
}

// readEffect reads allow or deny.
func readEffect(v form.Value) (permission.Effect, bool) {
	switch v.Node.Value {
	case "allow":
		return permission.Allow, true
	case "deny":
		return permission.Deny, true
	case "ask":
		v.Problem(`"ask" is not supported, because nobody can be asked`, "write allow or deny")
	default:
		v.Wrong("allow or deny", "write one of them")
	}
	return permission.Deny, false
}

// readGitRule reads whether git's own files may be written. none is a rule too:
// it denies what an extended profile allows.
func readGitRule(v form.Value) []Rule {
	r := permission.Rule{Permission: permission.Git, Pattern: "*", Source: v.RuleSource()}
	switch {
	case v.Null():
		return nil
	case v.Node.Value == "write":
		r.Effect = permission.Allow
	case v.Node.Value != "none":
		v.Wrong("write or none", "write one of them")
		return nil
	}
	return []Rule{{r, "*"}}
}

// judged reports whether a rule of this name can ever be looked for. One whose
// name looks like a typing mistake is checked later, as it may be that of a
// tool that the manifest defines further down.
func (p *Body) judged(e form.Value) bool {
	name := permission.Alias(e.Key.Value)
	if slices.Contains(permission.Known(), name) || strings.ContainsAny(name, "*?") {
		return true
	}
	if judged := permission.ForTool(name); judged != name {
		e.KeyProblem(fmt.Sprintf("the tool %s has no rules of its own", problem.Quote(name)), fmt.Sprintf("write them under %q", judged))
		return false
	}
	if similarPermission(name) != "" {
		p.unusual = append(p.unusual, e)
	}
	return true
}

// similarPermission returns the known name that a name is probably a typing
// mistake of, or "".
func similarPermission(name string) string {
	known := permission.Known()
	if i := slices.IndexFunc(known, func(k string) bool { return sameLetters(name, k) }); i >= 0 {
		return known[i]
	}
	return problem.Nearest(name, known, 1)
}

// Vocabulary is what manifests define that profiles may, or must not, speak of.
type Vocabulary struct {
	Tools   []string
	Servers []string // prefixes of the tools of MCP servers, in lower case
	Keys    []string // variables that hold keys
}

// Check records what can be said about a profile only when all manifests were
// read.
func (p *Body) Check(names Vocabulary) {
	for _, e := range p.unusual {
		name := e.Key.Value
		known := slices.Contains(names.Tools, name) || slices.ContainsFunc(names.Servers, func(prefix string) bool { return strings.HasPrefix(strings.ToLower(name), prefix) })
		if !known {
			e.KeyProblem("unknown permission "+problem.Quote(name), fmt.Sprintf("did you mean %q?", similarPermission(name)))
		}
	}
	for _, t := range p.env {
		if names.CheckEnv(t) && slices.Contains(cloudSecrets, t.S) {
			t.Problem(problem.Quote(t.S)+" is a credential of a cloud, with which models can be called, and commands must not see it", "remove it, or pass a credential with fewer rights in a variable with another name")
		}
	}
}

// cloudSecrets are the variables with secrets that the SDKs of clouds read. Setup commands may get them, for
// registries of a cloud.
var cloudSecrets = []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "AZURE_OPENAI_AD_TOKEN"}

// CheckEnv records a variable that commands must not get; false if it is one.
func (names *Vocabulary) CheckEnv(t form.Text) bool {
	if strings.HasSuffix(strings.ToUpper(t.S), "_API_KEY") || slices.Contains(names.Keys, t.S) || t.S == "ACTIONS_ID_TOKEN_REQUEST_TOKEN" {
		t.Problem(problem.Quote(t.S)+" is an API key or named like one, which commands must not see", "remove it: millhand reads API keys itself")
		return false
	}
	return true
}

// sameLetters reports whether two words differ only in the order of their
// letters, as when two were swapped in typing.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// on returns the profile made of a base and the body.
func (p *Body) on(base Profile) *Profile {
	out := &Profile{Profile: base.Clone()}
	out.Name, out.Examples = p.Title, p.examples
	for _, r := range p.rules {
		out.Rules = append(out.Rules, r.Rule)
	}
	if p.network != nil {
		out.Network = *p.network
	}
	if p.setup != nil {
		out.Setup = p.setup.Network
	}
	if p.cache != nil {
		out.Cache = caches(base.Cache, *p.cache)
	}
	env := make([]string, len(p.env))
	for i, t := range p.env {
		env[i] = t.S
	}
	out.Env = union(base.Env, env)
	out.Digest = p.digest(&base, out)
	return out
}

// digest identifies the content of a profile, without its position.
func (p *Body) digest(base, out *Profile) string {
	rules := make([][3]string, len(p.rules))
	for i, r := range p.rules {
		rules[i] = [3]string{r.Permission, r.Written, r.Effect.String()}
	}
	return tasks.Digest(out.Name, base.Digest, rules, out.Network, out.Setup, out.Cache, out.Env)
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (p *Body) keys() form.Table {
	return form.Table{
		{Name: "extends", Field: form.Into(&p.extends, form.Optional(form.Filled)), Doc: "Preset or profile whose rules come first (one that denies everything if absent)"},
		{Name: "permission", Field: form.Field{Type: RulesType(), Read: p.readRules}, Doc: "allow or deny, or rules by permission and pattern; the last match decides"},
		{Name: "git", Field: form.Field{Type: form.Type{Name: "enum", Values: []string{"none", "write"}}, Read: p.readGit}, Doc: "Whether files in .git may be written (as in the extended profile if absent)"},
		{Name: "network", Field: form.Into(&p.network, Network), Doc: "deny, allow (public addresses), or a list of hosts and host groups (as in the extended profile if absent)"},
		{Name: "setup_network", Field: form.Into(&p.setup, setupNetworkForm), Def: "registries", Doc: "What setup commands may reach before there is output of a model: registries (those of the package managers that the workspace uses, and network), deny, allow, or a list"},
		{Name: "cache", Field: form.Into(&p.cache, Cache), Def: "auto", Doc: "Caches of the user whose downloads commands may read: those of the package managers that the workspace uses, none, or a list (as in the extended profile if absent)"},
		{Name: "env", Field: form.Into(&p.env, form.ListOf(programs.EnvName)), Doc: "Environment variables that commands get"},
		{Name: "examples", Field: form.Into(&p.examples, form.ListOf(exampleForm)), Doc: "Expected decisions; millhand validate checks them"},
	}
}

// RulesType is the type of permission.
func RulesType() form.Type {
	effect := form.Type{Name: "enum", Values: []string{"allow", "deny"}}
	patterns := effect
	patterns.Or = &form.Type{Name: "map", Names: "PATTERN", Elem: &effect}
	rules := effect
	rules.Or = &form.Type{Name: "map", Names: "PERMISSION", Elem: &patterns}
	return rules
}

// checkOutside records a rule that allows directories outside of the workspace
// which a policy refuses.
func checkOutside(v form.Value, name, pattern string, effect permission.Effect) {
	outside := name == permission.ExternalDirectory || name == permission.ExternalRead
	if effect != permission.Allow || !outside || !v.Src.Policies.States(policy.Paths) {
		return
	}
	fixed, _, _ := strings.Cut(strings.NewReplacer("?", "*").Replace(pattern), "*")
	if !strings.HasSuffix(fixed, "/") && fixed != pattern {
		fixed = fixed[:strings.LastIndexByte(fixed, '/')+1]
	}
	v.Outside(cmp.Or(fixed, "/"), pattern)
}
