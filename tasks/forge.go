package tasks

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/problem"
)

// forge is the access to one git host as a manifest has it.
type forge struct {
	Forge
	command program
	ttl     time.Duration
}

var (
	forgesForm    = mapOf("HOST", typeOf((*forge).keys), readForges)
	forgeKindForm = enum(string(GitHub), string(GitLab), string(Gitea))
)

// KindOfHost returns the kind of a well-known host; "" for others.
func KindOfHost(host string) ForgeKind {
	return map[string]ForgeKind{"github.com": GitHub, "gitlab.com": GitLab, "codeberg.org": Gitea, "gitea.com": Gitea}[host]
}

// readForges reads how git hosts are accessed.
func readForges(v value) ([]definition[Forge], bool) {
	var all []definition[Forge]
	first := map[string]value{}
	entries, ok := v.definitions()
	for _, e := range entries {
		host, valid := forgeHost(e.key.Value)
		if !valid {
			e.keyProblem("invalid host "+problem.Quote(e.key.Value), "write HOST or HOST:PORT, such as git.example.com")
			continue
		}
		if before, twice := first[host]; twice {
			e.keyProblem(fmt.Sprintf("duplicate host %s, first at %s", problem.Quote(host), before.ruleSource()), "remove one of them")
			continue
		}
		first[host] = e
		f := readForge(e, host)
		all = append(all, definition[Forge]{value: e, title: "forge " + problem.Quote(host), digest: digest(f), is: f})
	}
	return all, ok
}

// forgeHost returns a host in lower case, without the default port.
func forgeHost(written string) (string, bool) {
	u, err := url.Parse("//" + written)
	if err != nil || u.Host != written || u.Hostname() == "" || strings.ContainsAny(written, "*, ") || strings.HasSuffix(written, ":") {
		return "", false
	}
	return strings.TrimSuffix(strings.ToLower(written), ":443"), true
}

// readForge reads the access to one host. A policy bounds the host as it does those of
// providers, because the token is sent there.
func readForge(v value, host string) Forge {
	f := forge{Forge: Forge{Host: host, Kind: KindOfHost(host), Source: v.ruleSource()}}
	v.refused(policy.Hosts, "the host "+problem.Quote(host), withPort("https", host))
	got := f.keys().read(v)
	if f.Kind == "" && v.isMapping() {
		if _, given := got["kind"]; !given {
			v.lacks("kind", "write kind: github, gitlab or gitea")
		}
	}
	oneSource(got, "token_env", "key_command", "app")
	if app, given := got["app"]; given && f.Kind != "" && f.Kind != GitHub {
		app.keyProblem("app requires kind: github", "remove it, or use key_command")
	}
	f.Key = readKeyCommand(got, f.command, f.ttl, v.src.dir)
	return f.Forge
}

// LoadForges reads only the git hosts of manifests, whatever their tasks are now. The error
// is as that of [Load].
func LoadForges(ctx context.Context, paths []string, o Options) ([]Forge, error) {
	return under(ctx, strings.Join(paths, ", "), func() ([]Forge, error) { return loadForges(ctx, paths, o) })
}

func loadForges(ctx context.Context, paths []string, o Options) ([]Forge, error) {
	l := newLoader(ctx, o)
	var manifests []*manifest
	for _, path := range paths {
		root, ok, err := l.document(ctx, path)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		m := &manifest{}
		entries, _ := root.entries()
		for _, e := range entries {
			if e.key.Value == "forges" && !e.null() {
				m.forges, _ = readForges(e)
			}
		}
		manifests = append(manifests, m)
	}
	b := &builder{loader: l, manifests: manifests}
	b.defineForges()
	return b.forges, l.found.Err()
}

var appForm = form[*GitHubApp]{typeOf((*GitHubApp).keys), readApp}

// readApp reads the variables of a GitHub App. Policies bound the default ones, too.
func readApp(v value) (*GitHubApp, bool) {
	a := withDefaults((*GitHubApp).keys)
	got := a.keys().read(v)
	for _, of := range []struct{ key, name string }{{"id_env", a.IDEnv}, {"key_env", a.KeyEnv}} {
		if _, given := got[of.key]; !given {
			v.refused(policy.Env, "the environment variable "+of.name, of.name)
		}
	}
	return &a, true
}

// oneSource records a second one of keys that exclude each other.
func oneSource(got map[string]value, names ...string) {
	given := slices.DeleteFunc(names, func(name string) bool { _, ok := got[name]; return !ok })
	if len(given) > 1 {
		got[given[1]].keyProblem(fmt.Sprintf("%s and %s are both set", given[0], given[1]), "remove one of them")
	}
}

// readKeyCommand returns the keys of a key_command; nil without one, or if a policy does
// not list it. It runs outside of the sandbox.
func readKeyCommand(got map[string]value, command program, ttl time.Duration, dir string) *KeySource {
	at, timed := got["ttl"]
	if _, given := got["key_command"]; timed && !given {
		at.keyProblem("ttl requires key_command", "add key_command, or remove ttl")
	}
	if len(command.args) == 0 || got["key_command"].refusedKeySource("a command for keys", command.args[0]) {
		return nil
	}
	got["key_command"].uses().keyCommand(got["key_command"], command.written[1:])
	return &KeySource{Command: command.args, Dir: dir, TTL: ttl}
}

// defineForges resolves the git hosts of all manifests.
func (b *builder) defineForges() {
	for _, d := range gather(b.manifests, func(m *manifest) []definition[Forge] { return m.forges }) {
		b.forges = append(b.forges, d.is)
	}
}

func (f *forge) keys() keys {
	return keys{
		{"kind", into((*string)(&f.Kind), forgeKindForm), "", "Kind of the server (required, except for github.com, gitlab.com, codeberg.org and gitea.com)"},
		{"token_env", into(&f.TokenEnv, keyEnvForm), "", "Environment variable with the token; it goes before all others"},
		{"key_command", into(&f.command, argvForm), "", "Command that prints the token; runs outside of the sandbox before the first use, and again after a 401"},
		{"ttl", into(&f.ttl, durationForm), "", "How long a token of key_command is used (until the server rejects it)"},
		{"app", into(&f.App, appForm), "", "GitHub App whose installations have the tokens; {} for the default variables"},
	}
}

func (a *GitHubApp) keys() keys {
	return keys{
		{"id_env", into(&a.IDEnv, keyEnvForm), "MILLHAND_GITHUB_APP_ID", "Environment variable with the application ID or client ID"},
		{"key_env", into(&a.KeyEnv, keyEnvForm), "MILLHAND_GITHUB_APP_KEY", "Environment variable with the private key as PEM, or the path of its file"},
	}
}
