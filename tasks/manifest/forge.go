package manifest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/manifest/repolist"
	"github.com/millhand/millhand/tasks/problem"
)

// forge is the access to one git host as a manifest has it.
type forge struct {
	tasks.Forge
	command programs.Command
	ttl     time.Duration
}

var (
	forgesForm    = form.MapOf("HOST", form.TypeOf((*forge).keys), readForges)
	forgeKindForm = form.Enum(string(tasks.GitHub), string(tasks.GitLab), string(tasks.Gitea))
)

// readForges reads how git hosts are accessed.
func readForges(v form.Value) ([]form.Definition[tasks.Forge], bool) {
	var all []form.Definition[tasks.Forge]
	first := map[string]form.Value{}
	entries, ok := v.Definitions()
	for _, e := range entries {
		host, valid := repolist.ForgeHost(e.Key.Value)
		if !valid {
			e.KeyProblem("invalid host "+problem.Quote(e.Key.Value), "write HOST or HOST:PORT, such as git.example.com")
			continue
		}
		if before, twice := first[host]; twice {
			e.KeyProblem(fmt.Sprintf("duplicate host %s, first at %s", problem.Quote(host), before.RuleSource()), "remove one of them")
			continue
		}
		first[host] = e
		f := readForge(e, host)
		all = append(all, form.Definition[tasks.Forge]{Value: e, Title: "forge " + problem.Quote(host), Digest: tasks.Digest(f.written()), Paths: keyPaths(f.Key), Is: f.Forge})
	}
	return all, ok
}

// readForge reads the access to one host. A policy bounds the host as it does those of
// providers, because the token is sent there.
func readForge(v form.Value, host string) forge {
	f := forge{Forge: tasks.Forge{Host: host, Kind: tasks.KindOfHost(host), Source: v.RuleSource()}}
	v.Refused(policy.Hosts, "the host "+problem.Quote(host), reach.WithPort("https", host))
	got := f.keys().Read(v)
	if f.Kind == "" && v.IsMapping() {
		if _, given := got["kind"]; !given {
			v.Lacks("kind", "write kind: github, gitlab or gitea")
		}
	}
	oneSource(got, "token_env", "key_command", "app")
	if app, given := got["app"]; given && f.Kind != "" && f.Kind != tasks.GitHub {
		app.KeyProblem("app requires kind: github", "remove it, or use key_command")
	}
	f.Key = readKeyCommand(got, f.command, f.ttl, v.Src.Dir)
	return f
}

// written returns the access without paths of this machine.
func (f forge) written() tasks.Forge {
	f.Key = writtenKey(f.Key, f.command, "")
	return f.Forge
}

// LoadForges reads only the git hosts of manifests, whatever their tasks are now. The error
// is as that of [LoadProfile].
func LoadForges(ctx context.Context, paths []string, o tasks.Options) ([]tasks.Forge, error) {
	return Under(ctx, strings.Join(paths, ", "), func() ([]tasks.Forge, error) { return loadForges(ctx, paths, o) })
}

func loadForges(ctx context.Context, paths []string, o tasks.Options) ([]tasks.Forge, error) {
	l := NewLoader(ctx, o)
	var manifests []*Manifest
	for _, path := range paths {
		root, ok, err := l.document(ctx, path)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		m := &Manifest{}
		entries, _ := root.Entries()
		for _, e := range entries {
			if e.Key.Value == "forges" && !e.Null() {
				m.forges, _ = readForges(e)
			}
		}
		manifests = append(manifests, m)
	}
	return ForgesOf(manifests), l.Found.Err()
}

var appForm = form.Of[*tasks.GitHubApp]{Type: form.TypeOf(appKeys), Read: readApp}

// readApp reads the variables of a GitHub App. Policies bound the default ones, too.
func readApp(v form.Value) (*tasks.GitHubApp, bool) {
	a := form.WithDefaults(appKeys)
	got := appKeys(&a).Read(v)
	for _, of := range []struct{ key, name string }{{"id_env", a.IDEnv}, {"key_env", a.KeyEnv}} {
		if _, given := got[of.key]; !given {
			v.Refused(policy.Env, "the environment variable "+of.name, of.name)
		}
	}
	return &a, true
}

// ForgesOf resolves the git hosts of all manifests.
func ForgesOf(manifests []*Manifest) []tasks.Forge {
	var all []tasks.Forge
	for _, d := range Gather(manifests, func(m *Manifest) []form.Definition[tasks.Forge] { return m.forges }) {
		all = append(all, d.Is)
	}
	return all
}

func (f *forge) keys() form.Table {
	return form.Table{
		{Name: "kind", Field: form.Into((*string)(&f.Kind), forgeKindForm), Doc: "Kind of the server (required, except for github.com, gitlab.com, codeberg.org and gitea.com)"},
		{Name: "token_env", Field: form.Into(&f.TokenEnv, programs.Variable), Doc: "Environment variable with the token; it goes before all others"},
		{Name: "key_command", Field: form.Into(&f.command, programs.Argv), Doc: "Command that prints the token; runs outside of the sandbox before the first use, and again after a 401"},
		{Name: "ttl", Field: form.Into(&f.ttl, form.Duration), Doc: "How long a token of key_command is used (until the server rejects it)"},
		{Name: "app", Field: form.Into(&f.App, appForm), Doc: "GitHub App whose installations have the tokens; {} for the default variables"},
	}
}

func appKeys(a *tasks.GitHubApp) form.Table {
	return form.Table{
		{Name: "id_env", Field: form.Into(&a.IDEnv, programs.Variable), Def: "MILLHAND_GITHUB_APP_ID", Doc: "Environment variable with the application ID or client ID"},
		{Name: "key_env", Field: form.Into(&a.KeyEnv, programs.Variable), Def: "MILLHAND_GITHUB_APP_KEY", Doc: "Environment variable with the private key as PEM, or the path of its file"},
	}
}
