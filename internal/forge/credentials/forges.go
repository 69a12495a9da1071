package credentials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/forge/githubapp"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/proc/keys"
	"github.com/millhand/millhand/tasks"
)

// Forges provides the credentials of git hosts: those of a manifest's entries, else those
// of the environment. It is safe for concurrent use.
type Forges struct {
	Options
	entries []tasks.Forge

	mu      sync.Mutex
	hosts   []string                  // that MILLHAND_GIT_TOKEN is for
	sources map[string]*keys.Source   // of entries whose tokens change, by host, and by owner for apps
	apps    map[string]*githubapp.App // by host
	// permissions are those of the newest tokens of apps, by host and owner.
	permissions map[string]map[string]string
}

// Options has the surroundings of Forges.
type Options struct {
	Getenv    func(string) string
	Environ   []string // environment of key commands
	Untrusted bool     // the manifest does not decide which host gets a token
	Now       func() time.Time
	Sleep     clock.Sleep                           // between attempts to create a token
	Hold      func(token string)                    // called with each new token before it is used, to redact it
	Proxy     func(*http.Request) (*url.URL, error) // of requests to create tokens; nil: no proxy
}

// NewForges returns the credentials of a plan's git hosts.
func NewForges(entries []tasks.Forge, o Options) *Forges {
	hosts, _ := tokenHosts(o.Getenv, true, nil) // ForRemotes returns its error
	return &Forges{Options: o, hosts: hosts, entries: entries, sources: map[string]*keys.Source{}, apps: map[string]*githubapp.App{}, permissions: map[string]map[string]string{}}
}

// ForRemotes returns the credentials of each remote of a run, given the URLs of
// all of them. It fails if the servers of a token are unknown, because a token
// sent to the wrong server is leaked, or if the variables of an entry are not set.
func (f *Forges) ForRemotes(urls []string) (func(url string) remote.Auth, error) {
	if f.environmentToken() != "" {
		hosts, err := tokenHosts(f.Getenv, f.Untrusted, slices.DeleteFunc(slices.Clone(urls), f.hasToken))
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		f.hosts = hosts
		f.mu.Unlock()
	}
	for _, u := range urls {
		if server, ok := httpServer(u); ok {
			if _, err := f.auth(server, ownerOf(u)); err != nil {
				return nil, err
			}
		}
	}
	return func(url string) remote.Auth {
		a := sshAuth(f.Getenv)
		if server, ok := httpServer(url); ok {
			token, _ := f.auth(server, ownerOf(url)) // checked above
			a.Token, a.User, a.Keys, a.Hint = token.Token, token.User, token.Keys, token.Hint
		}
		return a
	}, nil
}

// Token returns the token for the API of a git host, HOST or HOST:PORT as in the URLs of
// its repositories, and for an owner of repositories there; "" without one. It is the
// one that remotes of that owner get. Before ForRemotes was called, MILLHAND_GIT_TOKEN is
// only for the servers that the environment names.
func (f *Forges) Token(ctx context.Context, host, owner string) (string, error) {
	a, err := f.auth(&url.URL{Scheme: "https", Host: host}, owner)
	if err != nil || a.Keys == nil {
		return a.Token, err
	}
	token, err := a.Keys.Key(ctx)
	if err != nil {
		return "", fmt.Errorf("%w; %s", err, a.Hint)
	}
	return token, nil
}

// Unavailable reports whether an error of a token is one that a later attempt may not have.
func Unavailable(err error) bool {
	var later *keys.Unavailable
	return errors.As(err, &later)
}

// Reject reports that a host did not accept a token: the next one is a new one, if it can
// be replaced.
func (f *Forges) Reject(ctx context.Context, host, owner, token string) {
	if a, err := f.auth(&url.URL{Scheme: "https", Host: host}, owner); err == nil && a.Keys != nil {
		a.Keys.Reject(ctx, token)
	}
}

// Kind returns what API a git host has: that of its entry, of a well-known host, or of the
// CI's own server; "" if it is unknown.
func (f *Forges) Kind(host string) tasks.ForgeKind {
	server := &url.URL{Scheme: "https", Host: strings.ToLower(host)}
	if e, ok := f.entry(server); ok {
		return e.Kind
	}
	if kind := tasks.KindOfHost(hostOf(server)); kind != "" {
		return kind
	}
	own := tasks.GitHub
	if f.Getenv("GITEA_ACTIONS") == "true" || f.Getenv("FORGEJO_ACTIONS") == "true" {
		own = tasks.Gitea // which also sets GitHub's variables
	}
	for _, ci := range []struct {
		variable string
		kind     tasks.ForgeKind
	}{{"GITEA_SERVER_URL", tasks.Gitea}, {"CI_SERVER_URL", tasks.GitLab}, {"GITHUB_SERVER_URL", own}} {
		if of, ok := httpServer(f.Getenv(ci.variable)); ok && serves(hostOf(of), server) {
			return ci.kind
		}
	}
	return ""
}

// auth returns the credentials of a server for an owner's repositories.
func (f *Forges) auth(server *url.URL, owner string) (remote.Auth, error) {
	e, ok := f.entry(server)
	switch {
	case ok && e.App != nil:
		app, err := f.app(e)
		if err == nil && owner == "" {
			err = errors.New("its tokens are for the repositories of one owner, and no owner is given")
		}
		if err != nil {
			return remote.Auth{}, fmt.Errorf("GitHub App of %s: %w (%s)", e.Host, err, e.Source)
		}
		return remote.Auth{Keys: f.source(e, app, strings.ToLower(owner)), Hint: hint(e)}, nil
	case ok && e.Key != nil:
		return remote.Auth{User: userOf(e), Keys: f.source(e, nil, ""), Hint: hint(e)}, nil
	case ok && e.TokenEnv != "":
		token := strings.TrimSpace(f.Getenv(e.TokenEnv))
		if token == "" {
			return remote.Auth{}, fmt.Errorf("token of %s not found: set the environment variable %s (%s)", e.Host, e.TokenEnv, e.Source)
		}
		return remote.Auth{User: userOf(e), Token: token, Hint: hint(e)}, nil
	}
	return f.environmentAuth(server), nil
}

// entry returns the manifest's entry for a server.
func (f *Forges) entry(server *url.URL) (tasks.Forge, bool) {
	at := slices.IndexFunc(f.entries, func(e tasks.Forge) bool { return serves(e.Host, server) })
	if at < 0 {
		return tasks.Forge{}, false
	}
	return f.entries[at], true
}

// hasToken reports whether an entry provides the token of a remote.
func (f *Forges) hasToken(url string) bool {
	server, ok := httpServer(url)
	if !ok {
		return false
	}
	e, ok := f.entry(server)
	return ok && (e.Key != nil || e.App != nil || e.TokenEnv != "")
}

// source returns the tokens of an entry's command or app, which all its users share.
func (f *Forges) source(e tasks.Forge, app *githubapp.App, owner string) *keys.Source {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := e.Host + "/" + owner
	s := f.sources[name]
	switch {
	case s != nil:
		return s
	case app != nil:
		s = f.installationTokens(app, e.Host, owner)
	default:
		s = keys.FromCommand(keys.Command{Args: e.Key.Command, Dir: e.Key.Dir, Env: f.Environ, TTL: e.Key.TTL}, f.Now, f.Hold)
	}
	f.sources[name] = s
	return s
}

// environmentToken returns the token of TokenVariable.
func (f *Forges) environmentToken() string { return strings.TrimSpace(f.Getenv(TokenVariable)) }

// environmentAuth returns the credentials that the environment has for a server.
func (f *Forges) environmentAuth(server *url.URL) remote.Auth {
	f.mu.Lock()
	hosts := f.hosts
	f.mu.Unlock()
	var a remote.Auth
	token := f.environmentToken()
	if slices.ContainsFunc(hosts, func(host string) bool { return serves(host, server) }) {
		a.Token = token
	}
	for _, t := range forgeTokens(f.Getenv, server) {
		if value := strings.TrimSpace(f.Getenv(t.variable)); value != "" && a.Token == "" {
			a.Token, a.User = value, t.user
		}
	}
	if a.Token == "" && token != "" {
		a.Hint = fmt.Sprintf("%s is not sent to %s; if it is for that server, set %s=%s",
			TokenVariable, server.Host, gitHosts, strings.Join(append(slices.Clone(hosts), hostOf(server)), ","))
	}
	return a
}

// userOf returns the user name that an entry's tokens are sent with.
func userOf(e tasks.Forge) string {
	switch {
	case e.Kind != tasks.GitLab:
		return ""
	case e.TokenEnv == "CI_JOB_TOKEN":
		return "gitlab-ci-token"
	}
	return "oauth2"
}

// hint returns where an entry's tokens come from.
func hint(e tasks.Forge) string {
	from := cmp.Or(e.TokenEnv, "its key_command")
	if e.App != nil {
		from = "its app"
	}
	return fmt.Sprintf("check the token of %s in forges: %s (%s)", e.Host, from, e.Source)
}
