package manifest

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
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/problem"
)

// policyFile is a policy while its file is read.
type policyFile struct {
	policy.Policy
	loader *Loader
	src    *form.Source

	untrusted []string   // globs of files
	foreign   form.Value // of untrusted, if given
}

// LoadPolicy reads a policy file. Its error is a [problem.List]: what can't be
// understood bounds nothing, so that nothing may run.
func LoadPolicy(ctx context.Context, file string, o tasks.Options) (policy.Policy, error) {
	return Under(ctx, "policy "+file, func() (policy.Policy, error) { return loadPolicy(ctx, file, o) })
}

func loadPolicy(ctx context.Context, file string, o tasks.Options) (policy.Policy, error) {
	o.Policies = nil
	l := NewLoader(ctx, o)
	path := userfile.Real(userfile.Resolve(o.Dir, file))
	p := &policyFile{Policy: policy.Policy{Name: file, Path: path}, loader: l, src: l.source(file, filepath.Dir(path))}
	data, err := userfile.Read(ctx, path, form.MaxFile)
	if err != nil {
		p.src.Unreadable(err)
		return policy.Policy{}, l.Found.Err()
	}
	sum := sha256.Sum256(data)
	p.SHA256 = hex.EncodeToString(sum[:])
	if root, ok := p.src.Parse(data); ok {
		p.read(root)
	}
	if err := l.Found.Err(); err != nil {
		return policy.Policy{}, err
	}
	return p.Policy, nil
}

func (p *policyFile) read(v form.Value) {
	entries, _ := v.Entries()
	for _, e := range entries {
		if e.Null() || e.IsMapping() && len(e.Node.Content) == 0 { // which would bind nothing
			e.KeyProblem(e.Label+" has no value", "give it one, or remove the key")
		}
	}
	p.keys().Read(v)
	checkUntrusted(p.foreign, p.AfterUntrusted != nil)
	if p.AfterUntrusted != nil {
		p.AfterUntrusted.Files = p.untrusted
	}
}

// registries are the hosts that packages come from: those of the package managers that a
// workspace uses, and all public ones.
func registries() []string {
	all := []string{permission.Registries, "debian"}
	for _, e := range ecosystem.All() {
		if !slices.Contains(all, e.Registry) {
			all = append(all, e.Registry)
		}
	}
	return all
}

func (p *policyFile) rule(key policy.Key, at form.Value, allow []string) {
	p.Rules = append(p.Rules, policy.Rule{Key: key, Allow: allow, Source: at.RuleSource()})
}

// names is a list of what a key allows.
func (p *policyFile) names(key policy.Key, f form.Of[string]) form.Field {
	names := form.ListOf(f)
	return form.Field{Type: names.Type, Read: func(v form.Value) {
		allow, ok := names.Read(v)
		if !ok {
			return
		}
		if key == policy.Publish {
			allow = append(allow, string(tasks.PublishNone))
		}
		p.rule(key, v, allow)
	}}
}

// words is one of several words, or a list of names if those aren't nil. A word
// that allows everything makes no rule.
func (p *policyFile) words(key policy.Key, words map[string][]string, names *form.Of[string]) form.Field {
	one := form.Enum(slices.Sorted(maps.Keys(words))...)
	f := form.Field{Type: one.Type}
	var many form.Field
	if names != nil {
		many = p.names(key, *names)
		f.Or = &many.Type
	}
	f.Read = func(v form.Value) {
		if names != nil && v.IsList() {
			many.Read(v)
			return
		}
		w, ok := one.Read(v)
		if allow := words[w]; ok && !slices.Contains(allow, "*") {
			p.rule(key, v, allow)
		}
	}
	return f
}

// maxProfile reads a preset, or a file that holds a profile's body.
func (p *policyFile) maxProfile(v form.Value) {
	t, ok := v.Filled()
	if !ok {
		return
	}
	if preset, ok := permission.Preset(t.S); ok {
		p.MaxProfile = &preset
		return
	}
	if !strings.ContainsAny(t.S, `/\.`) {
		v.Problem("unknown profile "+problem.Quote(t.S), v.Src.Found.Suggest(t.S, permission.Presets(), "write a file, or one of "))
		return
	}
	if file, ok := p.loader.profileFile(t.S, userfile.Resolve(v.Src.Dir, t.S), profiles.NewSet()); ok {
		p.MaxProfile = &file.Profile
	}
}

// readBudget reads what a run, and all runs of a day, may cost. A price that isn't
// known would make either meaningless.
func (p *policyFile) readBudget(v form.Value) {
	got := p.budgetKeys().Read(v)
	if len(got) == 0 && v.IsMapping() {
		v.KeyProblem("budget bounds nothing", "write {run: 5, day: 50}, in USD")
	}
	p.Run.Source, p.Day.Source = v.RuleSource(), v.RuleSource()
	p.rule(policy.Budget, v, nil)
}

// readPrices reads prices that the operator vouches for.
func (p *policyFile) readPrices(v form.Value) {
	all, _ := readPrices(v)
	p.Prices = map[string]money.Price{}
	for _, price := range all {
		p.Prices[price.Model] = price.Price
	}
}

// requireSandbox reads that sandbox level A is required.
func (p *policyFile) requireSandbox(v form.Value) {
	if _, ok := form.Enum("require").Read(v); ok {
		p.Sandbox = v.RuleSource()
	}
}

var (
	boundHostForm = form.Of[string]{Type: form.Type{Name: "string"}, Read: readBoundHost}
	directoryForm = form.Of[string]{Type: form.Type{Name: "string"}, Read: readDirectory}
)

// readBoundHost reads a host, or "*" for every host.
func readBoundHost(v form.Value) (string, bool) {
	if v.Node.Value == "*" {
		return "*", true
	}
	return profiles.Host.Read(v)
}

// readDirectory reads a directory, and returns it absolute and without symlinks.
func readDirectory(v form.Value) (string, bool) {
	t, ok := v.Filled()
	_, err := pathglob.Parse(t.S)
	isGlob := (err == nil || errors.Is(err, pathglob.ErrTooMany)) && strings.ContainsAny(t.S, "*?[{")
	switch {
	case !ok:
		return "", false
	case strings.HasPrefix(t.S, "~") || isGlob:
		v.Problem(problem.Quote(t.S)+" is not the path of a directory", "write it without ~ and wildcards")
		return "", false
	}
	real, err := userfile.RealPath(userfile.Resolve(v.Src.Dir, t.S))
	if err != nil {
		v.Problem(fmt.Sprintf("directory %s: %s", problem.Quote(t.S), userfile.Missing(err)), "check its path; it is relative to the policy file")
	}
	return real, err == nil
}

func (p *policyFile) keys() form.Table {
	everything := []string{"*"}
	return form.Table{
		{Name: "version", Field: form.Required("version: 1", form.Checked(versionForm)), Doc: "Version of the policy format"},
		{Name: "max_profile", Field: form.Field{Type: form.String.Type, Read: p.maxProfile}, Doc: "Preset or profile file that limits all profiles"},
		{Name: "models", Field: p.names(policy.Models, form.String), Doc: "Models that may be used, as globs"},
		{Name: "providers", Field: p.names(policy.Providers, form.String), Doc: "Providers that may be used"},
		{Name: "hosts", Field: p.names(policy.Hosts, boundHostForm), Doc: "Hosts that may be reached; * is all"},
		{Name: "env", Field: p.names(policy.Env, envNameForm), Doc: "Environment variables that may be used"},
		{Name: "paths", Field: p.names(policy.Paths, directoryForm), Doc: "Directories that manifests may name"},
		{Name: "repos", Field: p.names(policy.Repos, form.String), Doc: "Repositories that may be used, as globs"},
		{Name: "publish", Field: p.names(policy.Publish, form.Enum("none", "patch", "branch", "push", "pr", policy.Comment, policy.RequestsKey)), Doc: "Publish modes that may be used beside none; comment allows publish.comment, and requests publish.requests"},
		{Name: policy.RequestsKey, Field: form.Field{Type: form.TypeOf((*Requests).keys), Read: func(v form.Value) { p.Requests = readLimits(v).bounds() }}, Doc: "Limits of publish.requests; a kind that it lacks may not be requested"},
		{Name: "context", Field: p.names(policy.Context, form.Enum(contextEntryForm.Type.Values...)), Doc: "What context of tasks may add to prompts"},
		{Name: "actors", Field: p.names(policy.Actors, form.String), Doc: "People who may start runs by events"},
		{Name: "sandbox", Field: form.Field{Type: form.Type{Name: "enum", Values: []string{"require"}}, Read: p.requireSandbox}, Doc: "require: refuse to run below sandbox level A"},
		{Name: "protect", Field: form.Into(&p.Protect, protectForm), Doc: "Globs of paths that nothing may change"},
		{Name: policy.AfterUntrustedKey, Field: form.Field{Type: untrustedForm.Type, Read: p.readUntrusted}, Doc: "Rights that every job loses at least once a session has read untrusted content, as in tasks"},
		{Name: policy.UntrustedKey, Field: form.Noting(&p.foreign, form.Into(&p.untrusted, form.ListOf(form.Glob))), Doc: "Globs of files whose content is untrusted, in addition to those of tasks"},
		{Name: "budget", Field: form.Field{Type: form.TypeOf((*policyFile).budgetKeys), Read: p.readBudget}, Doc: "Cost limits that no manifest can raise"},
		{Name: "prices", Field: form.Field{Type: pricesForm.Type, Read: p.readPrices}, Doc: "Prices of models, which replace all others"},
		{Name: "setup", Field: p.words(policy.Setup, map[string][]string{"allow": everything, "deny": nil}, nil), Doc: "Whether tasks may have setup commands and scripts"},
		{Name: "cache", Field: p.words(policy.Cache, map[string][]string{"auto": everything, "none": nil}, nil), Doc: "Whether profiles may use build caches"},
		{Name: "extensions", Field: p.words(policy.Extensions, map[string][]string{"allow": everything, "deny": nil}, &form.String), Doc: "Custom tools, MCP servers, language servers and hooks that may be used: allow, deny or a list of names"},
		{Name: "sign", Field: p.names(policy.Sign, form.Enum(string(tasks.SignSSH), string(tasks.SignOpenPGP), string(tasks.SignAPI))), Doc: "Signatures that commits may have; also for untrusted manifests"},
		{Name: "key_sources", Field: p.names(policy.KeySources, form.String), Doc: "Programs of key_command and files of token_file that may be used; none if absent"},
		{Name: "setup_network", Field: p.words(policy.SetupNetwork, map[string][]string{"allow": everything, "deny": nil, "registries": registries()}, &boundHostForm), Doc: "Hosts that setup commands may reach: allow, deny, registries or a list"},
	}
}

func (p *policyFile) budgetKeys() form.Table {
	return form.Table{
		{Name: "run", Field: form.Into(&p.Run.USD, form.Cost), Doc: "Cost of a run in USD"},
		{Name: "day", Field: form.Into(&p.Day.USD, form.Cost), Doc: "Cost of all runs of a day in USD"},
	}
}

var envNameForm = form.Of[string]{Type: form.Type{Name: "string"}, Read: func(v form.Value) (string, bool) { t, ok := programs.EnvName.Read(v); return t.S, ok }}
