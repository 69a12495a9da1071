package remote

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/millhand/millhand/internal/proc/keys"
)

// Repo is a remote repository and how to access it.
type Repo struct {
	// URL is of the scheme https, http, ssh or file, or is host:path with or without
	// a user before it (ssh), or an absolute path. Without a user, ssh logs in as git.
	URL  string
	Auth Auth
	// Proxy returns the proxy of a request over http or https, nil for none, as in
	// http.Transport. It is not asked for loopback. nil: no proxy.
	Proxy func(*http.Request) (*url.URL, error)
}

// String returns the address without the password and without a user name that
// may be a token.
func (r Repo) String() string {
	a, err := ParseAddress(r.URL)
	switch {
	case err != nil:
		return "invalid address"
	case a.Password == "" && (a.user == "" || a.Scheme == "ssh"):
		return r.URL
	}
	return a.String()
}

// Auth contains the credentials for a remote. The zero value has none. They are
// never included in errors, passed to other processes or written to disk,
// except Hint.
type Auth struct {
	// Token is for https, and for http on loopback: it is refused for http elsewhere.
	// It is sent after the server has answered 401, and never follows a redirect to
	// another server.
	// It is sent by basic authentication and goes before a password of the URL.
	Token string
	User  string // goes with the token; "" for one that GitHub, GitLab and Gitea take
	// Keys provides the token if it changes during a run; nil for Token. A token that the
	// server rejects is replaced once for each connection.
	Keys *keys.Source
	// Header is sent as the header Authorization where there is neither a token
	// nor a password, under the same conditions.
	Header string
	// Hint is added to authentication errors: why no credentials are sent, or where they
	// come from, and what to do. May be "".
	Hint string

	SSHKey        string // path of a private key; it is used before the agent
	SSHPassphrase string // of the private key
	SSHAgent      string // path of the agent's socket

	// KnownHosts is the path of a file in ssh's format. The host's key is always
	// checked against it; a host that is not in it is refused.
	KnownHosts string
}

// Errors of remote operations. An UnsupportedError is possible, too.
var (
	ErrAuth        = errors.New("authentication failed")
	ErrNotFound    = errors.New("repository or branch not found, or no permission to read it")
	ErrUnreachable = errors.New("remote unreachable or connection lost")
	ErrLease       = errors.New("remote branch has moved (stale lease)")
	ErrRejected    = errors.New("push rejected by the remote")
	ErrNoRemote    = errors.New("remote not found")
)
