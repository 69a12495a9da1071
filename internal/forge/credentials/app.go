package credentials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/githubapp"
	"github.com/millhand/millhand/internal/proc/keys"
	"github.com/millhand/millhand/tasks"
)

const (
	earlier   = 5 * time.Minute // by which a token is replaced before it expires: a push may take that long
	maxAppKey = 64 << 10        // bytes
)

// app returns the GitHub App of an entry. It fails if its variables don't have an id and
// a private key.
func (f *Forges) app(e tasks.Forge) (*githubapp.App, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if app := f.apps[e.Host]; app != nil {
		return app, nil
	}
	id, text := strings.TrimSpace(f.Getenv(e.App.IDEnv)), strings.TrimSpace(f.Getenv(e.App.KeyEnv))
	switch {
	case id == "":
		return nil, fmt.Errorf("set the environment variable %s", e.App.IDEnv)
	case text == "":
		return nil, fmt.Errorf("set the environment variable %s", e.App.KeyEnv)
	}
	if !strings.Contains(text, "-----BEGIN") {
		var err error
		if text, err = readKey(text); err != nil {
			return nil, fmt.Errorf("read the private key that %s names: %w", e.App.KeyEnv, err)
		}
	}
	f.Hold(text)
	key, err := githubapp.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("private key in %s: %w", e.App.KeyEnv, err)
	}
	api := githubAPI(e.Host, f.Getenv)
	app, err := githubapp.New(id, key, forge.Options{Server: api, API: api, Proxy: f.Proxy, Now: f.Now, Sleep: f.Sleep})
	if err != nil {
		return nil, err
	}
	f.apps[e.Host] = app
	return app, nil
}

// readKey reads a file. The error does not quote the path, which could be a key that was
// written without its first line.
func readKey(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		if pathErr := (*os.PathError)(nil); errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxAppKey))
	return string(text), err
}

// installationTokens returns the tokens of an app for an owner's repositories, and notes
// their permissions.
func (f *Forges) installationTokens(app *githubapp.App, host, owner string) *keys.Source {
	return keys.New(func(ctx context.Context) (string, time.Time, error) {
		token, err := app.Token(ctx, owner)
		if errors.Is(err, githubapp.ErrUnavailable) {
			err = &keys.Unavailable{Err: err}
		}
		if err != nil {
			return "", time.Time{}, err
		}
		f.mu.Lock()
		f.permissions[host+"/"+owner] = token.Permissions
		f.mu.Unlock()
		if token.Expires.IsZero() {
			return token.Value, time.Time{}, nil
		}
		return token.Value, token.Expires.Add(-earlier), nil
	}, f.Now, f.Hold)
}

// Permissions returns those of the last token that a GitHub App has created for the
// repositories of an owner; nil if it has created no token, or GitHub did not report them.
func (f *Forges) Permissions(host, owner string) map[string]string {
	e, ok := f.entry(&url.URL{Scheme: "https", Host: host})
	if !ok || e.App == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.permissions[e.Host+"/"+strings.ToLower(owner)]
}

// ownerOf returns the owner of a repository, the first element of its URL's path.
func ownerOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	owner, _, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	return owner
}

// githubAPI returns the base URL of the API of a GitHub server: that of GITHUB_API_URL if
// it belongs to the server. It is http only on loopback, for tests.
func githubAPI(host string, getenv func(string) string) string {
	scheme := "https"
	if loopback(host) {
		scheme = "http"
	}
	own, err := url.Parse(strings.TrimRight(getenv("GITHUB_API_URL"), "/"))
	switch {
	case err == nil && own.Scheme == scheme && own.User == nil && (own.Host == host || own.Host == "api."+host):
		return own.String()
	case host == "github.com" || strings.HasSuffix(host, ".ghe.com"):
		return scheme + "://api." + host
	}
	return scheme + "://" + host + "/api/v3"
}

// loopback reports whether a host with or without a port is this machine.
func loopback(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.IsLoopback()
}
