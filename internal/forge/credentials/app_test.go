package credentials

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/testing/githubapptest"
	"github.com/millhand/millhand/tasks"
)

// appServer is a server with an app, its entry and variables, and a clock.
type appServer struct {
	*githubapptest.Server
	entry tasks.Forge
	env   map[string]string
	mu    sync.Mutex
	past  time.Duration
	held  []string
}

func newAppServer(t *testing.T) *appServer {
	t.Helper()
	s := &appServer{}
	server, err := githubapptest.New(s.now, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s.Server = server
	s.env = map[string]string{"APP": githubapptest.ID, "PEM": s.Key()}
	s.entry = tasks.Forge{Host: s.Host(), Kind: tasks.GitHub, App: &tasks.GitHubApp{IDEnv: "APP", KeyEnv: "PEM"}, Source: "m.yaml:7"}
	return s
}

func (s *appServer) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Unix(1_800_000_000, 0).Add(s.past)
}

func (s *appServer) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past += d
}

func (s *appServer) forges() *Forges {
	return NewForges([]tasks.Forge{s.entry}, Options{
		Getenv: func(name string) string { return s.env[name] }, Now: s.now,
		Hold:  func(token string) { s.held = append(s.held, token) },
		Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New("a proxy for loopback") },
	})
}

// An owner's token is used for 55 minutes, by remotes and by the API, or until it is
// rejected.
func TestTokensOfAnApp(t *testing.T) {
	s := newAppServer(t)
	f := s.forges()
	auth, err := f.ForRemotes([]string{s.URL + "/org-acme/api.git", s.URL + "/tess/x"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Mints("org-acme") != 0 {
		t.Error("a token was created before it was needed")
	}
	next := func(owner string, mints int) {
		t.Helper()
		token, err := f.Token(t.Context(), s.Host(), owner)
		if err != nil || !s.Accepts(strings.ToLower(owner), token) || s.Mints(strings.ToLower(owner)) != mints {
			t.Errorf("%s: token %q (%v), %d created, want %d", owner, token, err, s.Mints(owner), mints)
		}
	}
	a := auth(s.URL + "/Org-Acme/api.git")
	if token, err := a.Keys.Key(t.Context()); err != nil || !s.Accepts("org-acme", token) || a.User != "" {
		t.Errorf("the remote gets %q as %q (%v)", token, a.User, err)
	}
	if got := f.Permissions(s.Host(), "tess"); got != nil {
		t.Errorf("permissions before a token was created: %v", got)
	}
	next("org-acme", 1)
	next("Org-Acme", 1)
	if got := f.Permissions(s.Host(), "Org-Acme"); got["contents"] != "write" || len(got) != 2 {
		t.Errorf("permissions %v", got)
	}
	next("tess", 1)
	s.pass(54 * time.Minute)
	next("org-acme", 1)
	s.pass(2 * time.Minute)
	next("org-acme", 2)
	next("org-acme", 2)
	s.Expire("org-acme")
	f.Reject(t.Context(), s.Host(), "tess", "another")
	f.Reject(t.Context(), s.Host(), "org-acme", "minted-for-org-acme-0002")
	next("org-acme", 3)
	next("tess", 2) // by time
	if len(s.held) != 6 || s.held[0] != strings.TrimSpace(s.Key()) {
		t.Errorf("held %d secrets, want the key and five tokens", len(s.held))
	}
	if _, err := f.Token(t.Context(), s.Host(), "none"); err == nil || !strings.Contains(err.Error(), "for none: not installed there; check the token of "+s.Host()+" in forges: its app (m.yaml:7)") {
		t.Errorf("error %v", err)
	}
	if _, err := f.Token(t.Context(), s.Host(), ""); err == nil {
		t.Error("there is a token for all owners")
	}
}

func TestConcurrentUsersOfAnAppShareAToken(t *testing.T) {
	s := newAppServer(t)
	f := s.forges()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := f.Token(t.Context(), s.Host(), "tess"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s.Mints("tess") != 1 {
		t.Errorf("%d tokens were created", s.Mints("tess"))
	}
}

func TestVariablesOfAnApp(t *testing.T) {
	s := newAppServer(t)
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, []byte(s.Key()), 0o600); err != nil {
		t.Fatal(err)
	}
	env := s.env
	for name, c := range map[string]struct{ variable, value, want string }{
		"a file":         {"PEM", file, ""},
		"on one line":    {"PEM", strings.ReplaceAll(s.Key(), "\n", `\n`), ""},
		"no id":          {"APP", "", "GitHub App of " + s.Host() + ": set the environment variable APP (m.yaml:7)"},
		"no key":         {"PEM", " ", "set the environment variable PEM"},
		"a missing file": {"PEM", "hunter2", "read the private key that PEM names: no such file"},
		"no PEM":         {"PEM", "-----BEGIN hunter2", "private key in PEM: it is not a PEM private key"},
	} {
		s.env = maps.Clone(env)
		s.env[c.variable] = c.value
		_, err := s.forges().ForRemotes([]string{s.URL + "/tess/x"})
		if (err != nil) != (c.want != "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}

func TestGitHubAPI(t *testing.T) {
	for _, c := range []struct{ host, variable, want string }{
		{"github.com", "", "https://api.github.com"},
		{"github.com", "https://api.github.com", "https://api.github.com"},
		{"github.com", "https://evil.example", "https://api.github.com"},
		{"github.com", "http://api.github.com", "https://api.github.com"},
		{"github.com", "https://ghe.example.com/api/v3", "https://api.github.com"},
		{"ghe.example.com", "", "https://ghe.example.com/api/v3"},
		{"ghe.example.com:8443", "https://api.github.com", "https://ghe.example.com:8443/api/v3"},
		{"ghe.example.com", "https://ghe.example.com/other/", "https://ghe.example.com/other"},
		{"ghe.example.com", "https://me@ghe.example.com/other", "https://ghe.example.com/api/v3"},
		{"acme.ghe.com", "", "https://api.acme.ghe.com"},
		{"127.0.0.1:3000", "", "http://127.0.0.1:3000/api/v3"},
	} {
		if got := githubAPI(c.host, func(string) string { return c.variable }); got != c.want {
			t.Errorf("%s with %q: %s, want %s", c.host, c.variable, got, c.want)
		}
	}
}
