package forge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/proc/clock"
)

// Kind is the software of a forge.
type Kind string

// The kinds. Forgejo is a Gitea.
const (
	GitHub Kind = "github"
	GitLab Kind = "gitlab"
	Gitea  Kind = "gitea"
)

// Options describe a forge and how to access it.
type Options struct {
	Kind   Kind
	Server string // URL without the API's path, for example https://github.com; http is for loopback only

	API string // URL of the API, without a slash at its end; "" for the usual one of the server

	// Token returns the token for the repositories of an owner; "" sends requests
	// without one. nil: no tokens.
	Token func(ctx context.Context, owner string) (string, error)
	// Reject is called with a token that the server refused as invalid. The request is
	// repeated once if Token then returns another one. nil: it is not repeated.
	Reject func(ctx context.Context, owner, token string)

	// Permissions returns the permissions of the token for an owner as its issuer told
	// them: of a GitHub App's, such as "contents": "write"; nil if they are unknown.
	// nil: they are unknown for all.
	Permissions func(owner string) map[string]string

	Proxy     func(*http.Request) (*url.URL, error) // as in http.Transport; not called for loopback; may be nil
	UserAgent string
	Now       func() time.Time
	Sleep     clock.Sleep   // between requests
	Patience  time.Duration // total wait of one request; 0 is 15 minutes
	// Notify is called before a retry with its reason, concurrently. May be nil.
	Notify func(text string)
}

// baseURL returns the URL of a forge's API.
func baseURL(kind Kind, server string) (*url.URL, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("invalid URL of a forge; it must be of the form https://HOST")
	}
	if u.Scheme == "http" && !loopback(u) {
		return nil, fmt.Errorf("forge %s: http is for loopback only, because tokens are sent; use https", u.Host)
	}
	switch kind {
	case GitHub:
		if strings.EqualFold(u.Host, "github.com") {
			return &url.URL{Scheme: "https", Host: "api.github.com"}, nil
		}
		return u.JoinPath("api", "v3"), nil
	case GitLab:
		return u.JoinPath("api", "v4"), nil
	case Gitea:
		return u.JoinPath("api", "v1"), nil
	}
	return nil, fmt.Errorf("forge %s: unknown kind %q; use github, gitlab or gitea", u.Host, kind)
}

// loopback reports whether a URL's host is this machine.
func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
