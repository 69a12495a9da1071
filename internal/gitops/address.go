package gitops

import (
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"strings"
)

// address is a remote's URL, taken apart.
type address struct {
	scheme   string // https, http, ssh or file
	user     string
	password string
	host     string // with the port, if one is given
	path     string // decoded, but for http and https; of ssh relative or absolute
}

// String returns the address without user and password.
func (a address) String() string {
	switch {
	case a.scheme == "file":
		return a.path
	case strings.HasPrefix(a.path, "/"):
		return a.scheme + "://" + a.host + a.path
	}
	return a.host + ":" + a.path
}

// errNotURL says nothing of the URL itself, which may hold a password.
var errNotURL = errors.New("it is neither a URL (https, http, ssh, file), nor host:path, nor an absolute path")

// parseAddress reads what git accepts as the place of a repository.
func parseAddress(raw string) (address, error) {
	switch scheme, rest, ok := strings.Cut(raw, "://"); {
	case strings.ContainsAny(raw, "\x00\r\n"):
		return address{}, errNotURL
	case !ok && filepath.IsAbs(raw):
		return address{scheme: "file", path: filepath.Clean(raw)}, nil
	case !ok:
		return parseShort(raw)
	case strings.EqualFold(scheme, "file"):
		return parseFile(rest)
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.Hostname()[0] == '-' {
		return address{}, errNotURL
	}
	a := address{user: u.User.Username(), host: u.Host, path: u.Path}
	a.password, _ = u.User.Password()
	switch a.scheme = u.Scheme; a.scheme {
	case "https", "http":
		if u.RawQuery != "" || u.Fragment != "" {
			return address{}, errors.New("the URL has a query or a fragment")
		}
		a.path = strings.TrimRight(u.EscapedPath(), "/")
		return a, nil
	case "ssh", "git+ssh", "ssh+git":
		a.scheme = "ssh"
		if _, rest, _ := strings.Cut(raw, "://"); strings.ContainsAny(rest, "?#") {
			a.path = decoded(rest[max(0, strings.IndexByte(rest, '/')):]) // nothing but a path is meant
		}
		if strings.HasPrefix(a.path, "/~") {
			a.path = a.path[1:] // the login's own directory, or that of another user
		}
		if a.path == "" {
			return address{}, errNotURL
		}
		return a, nil
	}
	return address{}, &UnsupportedError{Reason: "the scheme of the URL is not supported, only https, http, ssh and file are"}
}

// parseShort reads the form [user@]host:path. The host may be in brackets, which
// is how addresses with colons are written.
func parseShort(raw string) (address, error) {
	a := address{scheme: "ssh"}
	rest := raw
	if user, after, ok := strings.Cut(raw, "@"); ok && !strings.ContainsAny(user, ":/[") {
		a.user, rest = user, after
	}
	end := strings.Index(rest, ":")
	if strings.HasPrefix(rest, "[") {
		end = strings.Index(rest, "]:") + 1
	}
	if end <= 0 || strings.Contains(rest[:end], "/") || rest[0] == '-' {
		return address{}, errNotURL
	}
	a.host, a.path = rest[:end], rest[end+1:]
	if host, port, err := net.SplitHostPort(strings.Trim(a.host, "[]")); err == nil && strings.HasPrefix(a.host, "[") && !strings.Contains(host, ":") {
		a.host = net.JoinHostPort(host, port) // [host:port]:path
	}
	if name := a.hostname(); a.path == "" || name == "" || name[0] == '-' {
		return address{}, errNotURL
	}
	return a, nil
}

// parseFile reads what follows file://. As in git, a percent sign that begins no
// escape stands for itself.
func parseFile(rest string) (address, error) {
	rest = decoded(strings.TrimPrefix(rest, "localhost"))
	if !filepath.IsAbs(rest) || strings.Contains(rest, "\x00") {
		return address{}, errNotURL
	}
	return address{scheme: "file", path: filepath.Clean(rest)}, nil
}

// decoded resolves a path's escapes.
func decoded(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}

// loopback reports whether the host is this machine.
func (a address) loopback() bool {
	host := a.hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// hostname returns the host without port and brackets.
func (a address) hostname() string { return (&url.URL{Host: a.host}).Hostname() }

// hostPort returns the host with its port.
func (a address) hostPort(usual string) string {
	port := (&url.URL{Host: a.host}).Port()
	if port == "" {
		port = usual
	}
	return net.JoinHostPort(a.hostname(), port)
}
