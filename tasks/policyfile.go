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
		return policy.Policy{}, l.found.err()
	}
	sum := sha256.Sum256(data)
	p.SHA256 = hex.EncodeToString(sum[:])
	if root, ok := p.src.parse(data); ok {
		p.read(root)
	}
	if err := l.found.err(); err != nil {
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
		v.problem("unknown profile "+quote(t.s), v.src.found.suggest(t.s, permission.Presets(), "write a file, or one of "))
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
		v.problem(quote(t.s)+" is not the path of a directory", "write it without ~ and wildcards")
		return "", false
	}
	real, err := realPath(resolvePath(v.src.dir, t.s))
	if err != nil {
		v.problem(fmt.Sprintf("directory %s: %s", quote(t.s), missing(err)), "check its path; it is relative to the policy file")
		return "", false
	}
	return real, true
}
