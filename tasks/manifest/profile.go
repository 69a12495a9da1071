package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// profileBody is a profile as a file defines it.
type profileBody struct {
	form.Value
	title    string
	extends  *form.Text
	rules    []writtenRule
	network  *permission.Network
	setup    *setupNetwork
	cache    *[]string // nil if absent
	env      []form.Text
	unusual  []form.Value // rules whose permission is unknown and similar to a known one
	examples []permission.Example
}

// writtenRule is a rule and its pattern before "~" was expanded, which is the
// same on every machine.
type writtenRule struct {
	permission.Rule
	written string
}

// Profile is a profile with what it extends, and a digest of its content that is
// the same on every machine.
type Profile struct {
	permission.Profile
	Digest string
}

// readProfileBody reads a profile's body.
func readProfileBody(v form.Value, title string) *profileBody {
	p := &profileBody{Value: v, title: title}
	p.keys().Read(v)
	if p.cache != nil && len(*p.cache) > maxEntries || len(p.rules)+len(p.env)+len(p.examples) > maxEntries {
		v.Problem(fmt.Sprintf("the profile has more than %d entries", maxEntries), "use wildcards")
		p.rules, p.cache, p.env, p.examples = nil, nil, nil, nil
	}
	return p
}

// readRules reads the key permission.
func (p *profileBody) readRules(v form.Value) { p.rules = append(p.rules, p.rulesOf(v)...) }

func (p *profileBody) readGit(v form.Value) { p.rules = append(p.rules, readGitRule(v)...) }

// rulesOf reads a permission key: one effect for everything, or a mapping from
// permissions to an effect or to patterns with an effect each. The order of
// the file is the order of the rules.
func (p *profileBody) rulesOf(v form.Value) []writtenRule {
	switch {
	case v.Node.Value != "":
		return ruleOf(v, "*", "*")
	case v.IsList():
		v.Wrong("allow, deny or a mapping from permissions to them", "write for example {edit: allow}")
		return nil
	}
	var all []writtenRule
	entries, _ := v.Entries()
	for _, e := range entries {
		all = append(all, p.rulesUnder(e)...)
	}
	return all
}

// rulesUnder reads the rules of one permission.
func (p *profileBody) rulesUnder(e form.Value) (all []writtenRule) {
	name := permission.Alias(e.Key.Value)
	switch {
	case name == permission.Git:
		return readGitRule(e)
	case !p.judged(e):
	case e.IsList():
		e.Wrong("allow, deny or a mapping from patterns to them", `write for example {"*": allow}`)
	case e.IsScalar():
		return ruleOf(e, name, "*")
	default:
		patterns, _ := e.Entries()
		for _, pattern := range patterns {
			all = append(all, ruleOf(pattern, name, pattern.Key.Value)...)
		}
	}
	return all
}

// ruleOf reads an effect and makes the rule of it; none after a problem.
func ruleOf(v form.Value, permissionName, pattern string) []writtenRule {
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
	return []writtenRule{{r, pattern}}
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
func readGitRule(v form.Value) []writtenRule {
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
	return []writtenRule{{r, "*"}}
}

// judged reports whether a rule of this name can ever be looked for. One whose
// name looks like a typing mistake is checked later, as it may be that of a
// tool that the manifest defines further down.
func (p *profileBody) judged(e form.Value) bool {
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
	tools   []string
	servers []string // of MCP, in lower case
	keys    []string // variables that hold keys
}

// add adds what a manifest defines.
func (names *Vocabulary) add(m *Manifest) {
	for _, d := range m.Tools {
		names.tools = append(names.tools, d.Is.Name)
	}
	for _, d := range m.Servers {
		names.servers = append(names.servers, strings.ToLower(d.Is.Name)+"_")
	}
	for _, d := range m.Providers {
		names.keys = append(names.keys, d.Is.KeyEnv)
		if d.Is.Login != nil {
			names.keys = append(names.keys, d.Is.Login.TokenEnv)
		}
	}
	for _, d := range m.forges {
		names.keys = append(names.keys, d.Is.TokenEnv)
		if d.Is.App != nil {
			names.keys = append(names.keys, d.Is.App.KeyEnv)
		}
	}
	for _, d := range m.Search {
		names.keys = append(names.keys, d.Is.KeyEnv)
	}
}

// Check records what can be said about a profile only when all manifests were
// read.
func (p *profileBody) Check(names Vocabulary) {
	for _, e := range p.unusual {
		name := e.Key.Value
		known := slices.Contains(names.tools, name) || slices.ContainsFunc(names.servers, func(prefix string) bool { return strings.HasPrefix(strings.ToLower(name), prefix) })
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
	if strings.HasSuffix(strings.ToUpper(t.S), "_API_KEY") || slices.Contains(names.keys, t.S) || t.S == "ACTIONS_ID_TOKEN_REQUEST_TOKEN" {
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

var (
	networkForm      = form.Of[*permission.Network]{Type: form.Type{Name: "enum", Values: []string{"deny", "allow"}, Or: new(form.ListOf(form.String).Type)}, Read: readNetwork}
	networkHost      = form.Of[string]{Type: form.Type{Name: "string"}, Read: readHost}
	setupNetworkForm = form.Of[*setupNetwork]{Type: form.Type{Name: "enum", Values: []string{"registries", "deny", "allow"}, Or: new(form.ListOf(form.String).Type)}, Read: readSetupNetwork}
	setupHost        = form.Of[string]{Type: form.Type{Name: "string"}, Read: readSetupHost}
	cacheForm        = form.Of[*[]string]{Type: form.Type{Name: "enum", Values: []string{permission.AutoCache, "none"}, Or: new(form.ListOf(form.String).Type)}, Read: readCache}
	cacheName        = form.Of[string]{Type: form.Type{Name: "string"}, Read: readCacheName}
	exampleForm      = form.Of[permission.Example]{Type: form.TypeOf((*example).keys), Read: readExample}
)

// readNetwork reads which addresses may be reached.
func readNetwork(v form.Value) (*permission.Network, bool) {
	switch v.Node.Value {
	case "deny":
		return &permission.Network{}, true
	case "allow":
		if v.Src.Policies.IsUntrusted() {
			v.Refused(policy.Hosts, "network access", "*")
		}
		return &permission.Network{Allow: true}, true
	case "":
		hosts, ok := form.ListOf(networkHost).Read(v)
		return &permission.Network{Hosts: hosts}, ok
	}
	v.Wrong("deny, allow or a list of hosts", "write one of them")
	return nil, false
}

// setupNetwork is what setup commands may reach; nil for the default.
type setupNetwork struct{ *permission.Network }

// readSetupNetwork reads which addresses setup commands may reach.
func readSetupNetwork(v form.Value) (*setupNetwork, bool) {
	switch v.Node.Value {
	case "registries":
		return &setupNetwork{}, true
	case "":
		hosts, ok := form.ListOf(setupHost).Read(v)
		return &setupNetwork{&permission.Network{Hosts: hosts}}, ok
	case "deny", "allow":
		n, ok := readNetwork(v)
		return &setupNetwork{n}, ok
	}
	v.Wrong("registries, deny, allow or a list of hosts", "write one of them")
	return nil, false
}

// readSetupHost reads a host for setup commands. If a policy bounds those, it decides,
// otherwise its hosts do.
func readSetupHost(v form.Value) (string, bool) {
	if v.Node.Value == permission.Registries {
		return permission.Registries, true
	}
	if v.Src.Policies.States(policy.SetupNetwork) {
		return hostWithin(v, policy.SetupNetwork)
	}
	return readHost(v)
}

func readHost(v form.Value) (string, bool) { return hostWithin(v, policy.Hosts) }

// hostWithin reads a host that a key of policies bounds.
func hostWithin(v form.Value, key policy.Key) (string, bool) {
	t, ok := v.Filled()
	if !ok {
		return "", false
	}
	if _, err := reach.Parse([]string{t.S}, false); err != nil {
		v.Problem("invalid host "+problem.Quote(t.S), "write its name alone, such as proxy.golang.org")
		return "", false
	}
	v.Refused(key, "the host "+problem.Quote(t.S), t.S)
	return t.S, ok
}

// readCache reads which build caches may be used.
func readCache(v form.Value) (*[]string, bool) {
	switch v.Node.Value {
	case permission.AutoCache:
		v.Refused(policy.Cache, "build caches", permission.AutoCache)
		return &[]string{permission.AutoCache}, true
	case "none":
		return &[]string{}, true
	case "":
		names, ok := form.ListOf(cacheName).Read(v)
		return &names, ok
	}
	v.Wrong("auto, none or a list of caches", "write for example [go]")
	return nil, false
}

func readCacheName(v form.Value) (string, bool) {
	t, ok := v.Filled()
	if !ok {
		return "", false
	}
	var known []string
	for _, e := range ecosystem.All() {
		known = append(known, e.Name)
	}
	if !slices.Contains(known, t.S) {
		v.Problem("unknown cache "+problem.Quote(t.S), v.Src.Found.Suggest(t.S, known, "known caches: "))
		return "", false
	}
	v.Refused(policy.Cache, "the cache "+problem.Quote(t.S), t.S)
	return t.S, true
}

// example is one expected decision while it is read.
type example struct{ allowed, denied, subject string }

// readExample reads one expected decision.
func readExample(v form.Value) (permission.Example, bool) {
	var x example
	got := x.keys().Read(v)
	_, allows := got["allow"]
	_, denies := got["deny"]
	_, about := got["subject"]
	if allows == denies || !about {
		v.Problem("an example needs one tool and its subject", `write {allow: TOOL, subject: "..."} or {deny: TOOL, subject: "..."}`)
		return permission.Example{}, false
	}
	e := permission.Example{Tool: x.allowed + x.denied, Subject: x.subject, Source: fmt.Sprintf("%s:%d:%d", v.Src.Name, v.Use.Line, v.Use.Column)}
	if allows {
		e.Effect = permission.Allow
	}
	return e, e.Tool != "" && e.Subject != ""
}

// on returns the profile made of a base and the body.
func (p *profileBody) on(base Profile) *Profile {
	out := &Profile{Profile: base.Clone()}
	out.Name, out.Examples = p.title, p.examples
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

// caches returns the caches of a profile that names some and extends another one.
func caches(base, named []string) []string {
	if len(named) == 0 || slices.Contains(named, permission.AutoCache) {
		return named
	}
	return union(slices.DeleteFunc(slices.Clone(base), func(s string) bool { return s == permission.AutoCache }), named)
}

// digest identifies the content of a profile, without its position.
func (p *profileBody) digest(base, out *Profile) string {
	rules := make([][3]string, len(p.rules))
	for i, r := range p.rules {
		rules[i] = [3]string{r.Permission, r.written, r.Effect.String()}
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

func (p *profileBody) keys() form.Table {
	return form.Table{
		{Name: "extends", Field: form.Into(&p.extends, form.Optional(form.Filled)), Doc: "Preset or profile whose rules come first (one that denies everything if absent)"},
		{Name: "permission", Field: form.Field{Type: rulesType(), Read: p.readRules}, Doc: "allow or deny, or rules by permission and pattern; the last match decides"},
		{Name: "git", Field: form.Field{Type: form.Type{Name: "enum", Values: []string{"none", "write"}}, Read: p.readGit}, Doc: "Whether files in .git may be written (as in the extended profile if absent)"},
		{Name: "network", Field: form.Into(&p.network, networkForm), Doc: "deny, allow (public addresses), or a list of hosts and host groups (as in the extended profile if absent)"},
		{Name: "setup_network", Field: form.Into(&p.setup, setupNetworkForm), Def: "registries", Doc: "What setup commands may reach before there is output of a model: registries (those of the package managers that the workspace uses, and network), deny, allow, or a list"},
		{Name: "cache", Field: form.Into(&p.cache, cacheForm), Def: "auto", Doc: "Caches of the user whose downloads commands may read: those of the package managers that the workspace uses, none, or a list (as in the extended profile if absent)"},
		{Name: "env", Field: form.Into(&p.env, form.ListOf(form.EnvName)), Doc: "Environment variables that commands get"},
		{Name: "examples", Field: form.Into(&p.examples, form.ListOf(exampleForm)), Doc: "Expected decisions; millhand validate checks them"},
	}
}

func (e *example) keys() form.Table {
	return form.Table{
		{Name: "allow", Field: form.Into(&e.allowed, form.String), Doc: "Tool whose call must be allowed"},
		{Name: "deny", Field: form.Into(&e.denied, form.String), Doc: "Tool whose call must be denied"},
		{Name: "subject", Field: form.Into(&e.subject, form.String), Doc: "What the tool is called with: a path, a command line or a URL"},
	}
}

// rulesType is the type of permission.
func rulesType() form.Type {
	effect := form.Type{Name: "enum", Values: []string{"allow", "deny"}}
	patterns := effect
	patterns.Or = &form.Type{Name: "map", Names: "PATTERN", Elem: &effect}
	rules := effect
	rules.Or = &form.Type{Name: "map", Names: "PERMISSION", Elem: &patterns}
	return rules
}
