package remote

import (
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Address is a parsed remote URL.
type Address struct {
	Scheme   string // https, http, ssh or file
	user     string
	Password string
	Host     string // with the port, if one is given
	Path     string // decoded, except for http and https; for ssh relative or absolute
}

// String returns the address without user and password.
func (a Address) String() string {
	switch {
	case a.Scheme == "file":
		return a.Path
	case strings.HasPrefix(a.Path, "/"):
		return a.Scheme + "://" + a.Host + a.Path
	}
	return a.Host + ":" + a.Path
}

// errNotURL does not quote the URL, which may contain a password.
var errNotURL = errors.New("must be a URL (https, http, ssh, file), host:path or an absolute path")

// ParseAddress parses what git accepts as the address of a repository.
func ParseAddress(raw string) (Address, error) {
	switch scheme, rest, ok := strings.Cut(raw, "://"); {
	case strings.ContainsAny(raw, "\x00\r\n"):
		return Address{}, errNotURL
	case !ok && filepath.IsAbs(raw):
		return Address{Scheme: "file", Path: filepath.Clean(raw)}, nil
	case !ok:
		return parseShort(raw)
	case strings.EqualFold(scheme, "file"):
		return parseFile(rest)
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.Hostname()[0] == '-' {
		return Address{}, errNotURL
	}
	a := Address{user: u.User.Username(), Host: u.Host, Path: u.Path}
	a.Password, _ = u.User.Password()
	switch a.Scheme = u.Scheme; a.Scheme {
	case "https", "http":
		if u.RawQuery != "" || u.Fragment != "" {
			return Address{}, errors.New("URL has a query or fragment")
		}
		a.Path = strings.TrimRight(u.EscapedPath(), "/")
		return a, nil
	case "ssh", "git+ssh", "ssh+git":
		a.Scheme = "ssh"
		if _, rest, _ := strings.Cut(raw, "://"); strings.ContainsAny(rest, "?#") {
			a.Path = decoded(rest[max(0, strings.IndexByte(rest, '/')):]) // only a path
		}
		if strings.HasPrefix(a.Path, "/~") {
			a.Path = a.Path[1:] // relative to a home directory
		}
		if a.Path == "" {
			return Address{}, errNotURL
		}
		return a, nil
	}
	return Address{}, &gitdir.UnsupportedError{Reason: "URL scheme not supported; use https, http, ssh or file"}
}

// parseShort reads the form [user@]host:path. The host may be in brackets, which
// is how addresses with colons are written.
func parseShort(raw string) (Address, error) {
	a := Address{Scheme: "ssh"}
	rest := raw
	if user, after, ok := strings.Cut(raw, "@"); ok && !strings.ContainsAny(user, ":/[") {
		a.user, rest = user, after
	}
	end := strings.Index(rest, ":")
	if strings.HasPrefix(rest, "[") {
		end = strings.Index(rest, "]:") + 1
	}
	if end <= 0 || strings.Contains(rest[:end], "/") || rest[0] == '-' {
		return Address{}, errNotURL
	}
	a.Host, a.Path = rest[:end], rest[end+1:]
	if host, port, err := net.SplitHostPort(strings.Trim(a.Host, "[]")); err == nil && strings.HasPrefix(a.Host, "[") && !strings.Contains(host, ":") {
		a.Host = net.JoinHostPort(host, port) // [host:port]:path
	}
	if name := a.hostname(); a.Path == "" || name == "" || name[0] == '-' {
		return Address{}, errNotURL
	}
	return a, nil
}

// parseFile reads what follows file://. As in git, a percent sign that begins no
// escape stands for itself.
func parseFile(rest string) (Address, error) {
	rest = decoded(strings.TrimPrefix(rest, "localhost"))
	if !filepath.IsAbs(rest) || strings.Contains(rest, "\x00") {
		return Address{}, errNotURL
	}
	return Address{Scheme: "file", Path: filepath.Clean(rest)}, nil
}

// decoded decodes a path's escapes.
func decoded(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}

// loopback reports whether the host is this machine.
func (a Address) loopback() bool {
	host := a.hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// hostname returns the host without port and brackets.
func (a Address) hostname() string { return (&url.URL{Host: a.Host}).Hostname() }

// hostPort returns the host with its port.
func (a Address) hostPort(usual string) string {
	port := (&url.URL{Host: a.Host}).Port()
	if port == "" {
		port = usual
	}
	return net.JoinHostPort(a.hostname(), port)
}
