package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/problem"
)

// policyFile is a policy while its file is read.
type policyFile struct {
	policy.Policy
	loader *loader
	src    *source
}

// LoadPolicy reads a policy file. Its error is a [Problems]: what can't be
// understood bounds nothing, so that nothing may run.
func LoadPolicy(ctx context.Context, file string, o Options) (policy.Policy, error) {
	return under(ctx, "policy "+file, func() (policy.Policy, error) { return loadPolicy(ctx, file, o) })
}

func loadPolicy(ctx context.Context, file string, o Options) (policy.Policy, error) {
	o.Policies = nil
	l := newLoader(ctx, o)
	path := realDir(resolvePath(o.Dir, file))
	p := &policyFile{Policy: policy.Policy{Name: file, Path: path}, loader: l, src: l.source(file, filepath.Dir(path))}
	data, err := readFile(ctx, path)
	if err != nil {
		p.src.unreadable(err)
		return policy.Policy{}, l.found.Err()
	}
	sum := sha256.Sum256(data)
	p.SHA256 = hex.EncodeToString(sum[:])
	if root, ok := p.src.parse(data); ok {
		p.read(root)
	}
	if err := l.found.Err(); err != nil {
		return policy.Policy{}, err
	}
	return p.Policy, nil
}

func (p *policyFile) read(v value) {
	entries, _ := v.entries()
	for _, e := range entries {
		if e.null() || e.isMapping() && len(e.node.Content) == 0 { // which would bind nothing
			e.keyProblem(e.name+" has no value", "give it one, or remove the key")
		}
	}
	p.keys().read(v)
}

// registries are the hosts that packages come from: those of the package managers that a
// workspace uses, and all public ones.
func registries() []string {
	all := []string{permission.Registries, "debian"}
	for _, e := range ecosystem.All() {
		all = union(all, []string{e.Registry})
	}
	return all
}

func (p *policyFile) rule(key policy.Key, at value, allow []string) {
	p.Rules = append(p.Rules, policy.Rule{Key: key, Allow: allow, Source: at.ruleSource()})
}

// names is a list of what a key allows.
func (p *policyFile) names(key policy.Key, f form[string]) field {
	names := listOf(f)
	return field{Type: names.Type, read: func(v value) {
		allow, ok := names.read(v)
		if !ok {
			return
		}
		if key == policy.Publish {
			allow = append(allow, string(PublishNone))
		}
		p.rule(key, v, allow)
	}}
}

// words is one of several words, or a list of names if those aren't nil. A word
// that allows everything makes no rule.
func (p *policyFile) words(key policy.Key, words map[string][]string, names *form[string]) field {
	one := enum(slices.Sorted(maps.Keys(words))...)
	f := field{Type: one.Type}
	var many field
	if names != nil {
		many = p.names(key, *names)
		f.Or = &many.Type
	}
	f.read = func(v value) {
		if names != nil && v.isList() {
			many.read(v)
			return
		}
		w, ok := one.read(v)
		if allow := words[w]; ok && !slices.Contains(allow, "*") {
			p.rule(key, v, allow)
		}
	}
	return f
}

// maxProfile reads a preset, or a file that holds a profile's body.
func (p *policyFile) maxProfile(v value) {
	t, ok := v.filled()
	if !ok {
		return
	}
	if preset, ok := permission.Preset(t.s); ok {
		p.MaxProfile = &preset
		return
	}
	if !strings.ContainsAny(t.s, `/\.`) {
		v.problem("unknown profile "+problem.Quote(t.s), v.src.Found.Suggest(t.s, permission.Presets(), "write a file, or one of "))
		return
	}
	if file, ok := p.loader.profileFile(t.s, resolvePath(v.src.dir, t.s), newProfiles()); ok {
		p.MaxProfile = &file.Profile
	}
}

// readBudget reads what a run, and all runs of a day, may cost. A price that isn't
// known would make either meaningless.
func (p *policyFile) readBudget(v value) {
	got := p.budgetKeys().read(v)
	if len(got) == 0 && v.isMapping() {
		v.keyProblem("budget bounds nothing", "write {run: 5, day: 50}, in USD")
	}
	p.Run.Source, p.Day.Source = v.ruleSource(), v.ruleSource()
	p.rule(policy.Budget, v, nil)
}

// readPrices reads prices that the operator vouches for.
func (p *policyFile) readPrices(v value) {
	all, _ := readPrices(v)
	p.Prices = map[string]money.Price{}
	for _, price := range all {
		p.Prices[price.model] = price.Price
	}
}

// requireSandbox reads that sandbox level A is required.
func (p *policyFile) requireSandbox(v value) {
	if _, ok := enum("require").read(v); ok {
		p.Sandbox = v.ruleSource()
	}
}

var (
	boundHostForm = form[string]{Type{Name: "string"}, readBoundHost}
	directoryForm = form[string]{Type{Name: "string"}, readDirectory}
	envNameForm   = form[string]{Type{Name: "string"}, func(v value) (string, bool) { t, ok := readEnvName(v); return t.s, ok }}
)

// readBoundHost reads a host, or "*" for every host.
func readBoundHost(v value) (string, bool) {
	if v.node.Value == "*" {
		return "*", true
	}
	return readHost(v)
}

// readDirectory reads a directory, and returns it absolute and without symlinks.
func readDirectory(v value) (string, bool) {
	t, ok := v.filled()
	_, err := pathglob.Parse(t.s)
	isGlob := (err == nil || errors.Is(err, pathglob.ErrTooMany)) && strings.ContainsAny(t.s, "*?[{")
	switch {
	case !ok:
		return "", false
	case strings.HasPrefix(t.s, "~") || isGlob:
		v.problem(problem.Quote(t.s)+" is not the path of a directory", "write it without ~ and wildcards")
		return "", false
	}
	real, err := realPath(resolvePath(v.src.dir, t.s))
	if err != nil {
		v.problem(fmt.Sprintf("directory %s: %s", problem.Quote(t.s), missing(err)), "check its path; it is relative to the policy file")
		return "", false
	}
	return real, true
}

func (p *policyFile) keys() keys {
	everything := []string{"*"}
	return keys{
		{"version", required("version: 1", checked(versionForm)), "", "Version of the policy format"},
		{"max_profile", field{Type: stringForm.Type, read: p.maxProfile}, "", "Preset or profile file that limits all profiles"},
		{"models", p.names(policy.Models, stringForm), "", "Models that may be used, as globs"},
		{"providers", p.names(policy.Providers, stringForm), "", "Providers that may be used"},
		{"hosts", p.names(policy.Hosts, boundHostForm), "", "Hosts that may be reached; * is all"},
		{"env", p.names(policy.Env, envNameForm), "", "Environment variables that may be used"},
		{"paths", p.names(policy.Paths, directoryForm), "", "Directories that manifests may name"},
		{"repos", p.names(policy.Repos, stringForm), "", "Repositories that may be used, as globs"},
		{"publish", p.names(policy.Publish, enum("none", "patch", "branch", "push", "pr", policy.Comment)), "", "Publish modes that may be used beside none; comment allows publish.comment"},
		{"actors", p.names(policy.Actors, stringForm), "", "People who may start runs by events"},
		{"sandbox", field{Type: Type{Name: "enum", Values: []string{"require"}}, read: p.requireSandbox}, "", "require: refuse to run below sandbox level A"},
		{"protect", into(&p.Protect, protectForm), "", "Globs of paths that nothing may change"},
		{"budget", field{Type: typeOf((*policyFile).budgetKeys), read: p.readBudget}, "", "Cost limits that no manifest can raise"},
		{"prices", field{Type: pricesForm.Type, read: p.readPrices}, "", "Prices of models, which replace all others"},
		{"setup", p.words(policy.Setup, map[string][]string{"allow": everything, "deny": nil}, nil), "", "Whether tasks may have setup commands and scripts"},
		{"cache", p.words(policy.Cache, map[string][]string{"auto": everything, "none": nil}, nil), "", "Whether profiles may use build caches"},
		{"extensions", p.words(policy.Extensions, map[string][]string{"allow": everything, "deny": nil}, &stringForm), "", "Custom tools, MCP servers, language servers and hooks that may be used: allow, deny or a list of names"},
		{"sign", p.names(policy.Sign, enum(string(SignSSH), string(SignOpenPGP), string(SignAPI))), "", "Signatures that commits may have; also for untrusted manifests"},
		{"key_sources", p.names(policy.KeySources, stringForm), "", "Programs of key_command and files of token_file that may be used; none if absent"},
		{"setup_network", p.words(policy.SetupNetwork, map[string][]string{"allow": everything, "deny": nil, "registries": registries()}, &boundHostForm), "", "Hosts that setup commands may reach: allow, deny, registries or a list"},
	}
}

func (p *policyFile) budgetKeys() keys {
	return keys{
		{"run", into(&p.Run.USD, costForm), "", "Cost of a run in USD"},
		{"day", into(&p.Day.USD, costForm), "", "Cost of all runs of a day in USD"},
	}
}
