package gitops

// Remote is a repository elsewhere and how to get at it.
type Remote struct {
	// URL is of the scheme https, http, ssh or file, or is host:path with or without
	// a user before it (ssh), or an absolute path. Without a user, ssh logs in as git.
	URL  string
	Auth Auth
}

// String returns the address as people may see it: without a password, or a
// user that may be a token.
func (r Remote) String() string {
	a, err := parseAddress(r.URL)
	switch {
	case err != nil:
		return "an address that can't be read"
	case a.password == "" && (a.user == "" || a.scheme == "ssh"):
		return r.URL
	}
	return a.String()
}

// Auth holds what a remote may ask for. The zero value has nothing to offer.
// None of it is shown in errors, handed to another process or written down.
type Auth struct {
	// Token is for https, and for http on loopback: it is refused for http elsewhere.
	// It is sent by basic authentication and goes before a password of the URL.
	Token string
	User  string // goes with the token; "" for one that GitHub, GitLab and Gitea take
	// Header is sent as the header Authorization where there is neither a token
	// nor a password, under the same conditions.
	Header string

	SSHKey        string // path of a private key; it goes before the agent
	SSHPassphrase string // of the private key
	SSHAgent      string // path of the agent's socket

	// KnownHosts is the path of a file in ssh's format. The host's key is always
	// checked against it; a host that is not in it is refused.
	KnownHosts string
}
