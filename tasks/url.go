package tasks

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/permission/reach"
)

var (
	// scpForm is how ssh's programs write an address: USER@HOST:PATH.
	scpForm    = regexp.MustCompile(`^([^@:/]*)@([^:/\[\]]*|\[[^\]/]*\]):(.*)$`)
	helperForm = regexp.MustCompile(`^[A-Za-z0-9+.-]*::`)
	hostForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	ipv6Form   = regexp.MustCompile(`^[0-9A-Fa-f:.]+$`)
	userForm   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._~+-]*$`)
	schemeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
)

// parseURL checks the URL of a repository: https, http, ssh, file, or the form
// USER@HOST:PATH for ssh. It returns the URL with its scheme in lower case.
// Nothing that it accepts can be an option or a program to start. What is wrong never quotes more of
// the URL than its scheme or host: the rest may hold a secret.
func parseURL(s string) (string, *fault) {
	scheme, rest, hasScheme := strings.Cut(s, "://")
	switch {
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "", &fault{what: "the URL holds white space or a control character", fix: "write it with %20 and its like"}
	case strings.HasPrefix(s, "-"):
		return "", &fault{what: `the URL starts with "-"`, fix: "write https://HOST/PATH"}
	case helperForm.MatchString(s):
		return "", &fault{what: "the URL names a program of git's (HELPER::ADDRESS)", fix: "write https://HOST/PATH"}
	case !hasScheme:
		return s, scpFault(s)
	case !schemeForm.MatchString(scheme):
		return "", &fault{what: "the URL has no valid scheme", fix: "write https://HOST/PATH"}
	}
	scheme = strings.ToLower(scheme)
	if known := []string{"https", "http", "ssh", "file"}; !slices.Contains(known, scheme) {
		return "", &fault{what: fmt.Sprintf("the scheme %s is not supported", quote(scheme)), fix: "use https, http, ssh or file"}
	}
	if strings.ContainsAny(rest, "?#") {
		return "", &fault{what: "the URL holds ? or #", fix: "take out what begins there, or write %3F and %23"}
	}
	s = scheme + "://" + rest
	u, err := url.Parse(s)
	if err != nil {
		return "", &fault{what: "the URL is not valid", fix: "write " + scheme + "://HOST/PATH"}
	}
	return s, urlFault(u)
}

// urlFault checks the parts of a URL with a known scheme.
func urlFault(u *url.URL) *fault {
	form := "write " + u.Scheme + "://HOST/PATH"
	_, password := u.User.Password()
	port, err := strconv.Atoi(u.Port())
	switch {
	case password || u.User != nil && u.Scheme != "ssh":
		return &fault{what: "the URL holds credentials, which reports would show", fix: "take them out, and give a token by the environment"}
	case u.User != nil && !userForm.MatchString(u.User.Username()):
		return &fault{what: "the URL's user is not a plain name", fix: "write ssh://git@HOST/PATH"}
	case u.Scheme == "file" && u.Host != "":
		return &fault{what: "a file URL names no host", fix: "write file:///PATH"}
	case u.Scheme != "file" && !validHost(u.Hostname()):
		return &fault{what: "the URL names no valid host", fix: form}
	case strings.HasSuffix(u.Host, ":") || u.Port() != "" && (err != nil || port < 1 || port > 65535):
		return &fault{what: "the URL's port is no number from 1 to 65535", fix: form}
	}
	return pathFault(u.Path, form)
}

// scpFault checks an address without a scheme.
func scpFault(s string) *fault {
	const form = "write https://HOST/PATH, ssh://HOST/PATH or git@HOST:PATH"
	m := scpForm.FindStringSubmatch(s)
	switch {
	case m == nil && strings.Contains(s, "@"):
		return &fault{what: "this is not the URL of a repository, and may hold credentials", fix: form}
	case m == nil:
		return &fault{what: quote(s) + " is not the URL of a repository", fix: form}
	case !userForm.MatchString(m[1]):
		return &fault{what: "the URL's user is not a plain name", fix: form}
	case !validHost(strings.Trim(m[2], "[]")):
		return &fault{what: "the URL names no valid host", fix: form}
	case strings.HasPrefix(m[3], "-"):
		return &fault{what: `the URL's path starts with "-"`, fix: form}
	}
	return pathFault(m[3], form)
}

func validHost(host string) bool {
	if strings.Contains(host, ":") {
		return ipv6Form.MatchString(host)
	}
	return len(host) <= 253 && hostForm.MatchString(host)
}

// pathFault checks the decoded path of a URL.
func pathFault(p, form string) *fault {
	elements := strings.Split(p, "/")
	switch {
	case strings.Trim(strings.TrimSuffix(strings.TrimRight(p, "/"), ".git"), "/") == "":
		return &fault{what: "the URL names no repository", fix: form}
	case slices.Contains(elements, ".") || slices.Contains(elements, ".."):
		return &fault{what: `the URL's path holds "." or ".."`, fix: "write where it leads"}
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return &fault{what: "the URL's path holds a control character", fix: form}
	}
	return nil
}

// normalURL returns what is the same for the ways to write one valid URL:
// scheme and host in lower case, the usual port left out, no slash, .git or
// /.git at the end. USER@HOST:PATH is as ssh://USER@HOST/PATH, which leads to the same
// repository wherever people have to name both.
func normalURL(s string) string {
	if m := scpForm.FindStringSubmatch(s); m != nil {
		s = "ssh://" + m[1] + "@" + m[2] + "/" + strings.TrimLeft(m[3], "/")
	}
	scheme, rest, _ := strings.Cut(s, "://")
	authority, p, _ := strings.Cut(rest, "/")
	user, host, hasUser := strings.Cut(authority, "@")
	if !hasUser {
		user, host = "", authority
	} else {
		user += "@"
	}
	host = strings.TrimSuffix(strings.ToLower(host), ":"+reach.DefaultPort(scheme))
	return scheme + "://" + user + host + strings.TrimSuffix(strings.TrimSuffix(path.Clean("/"+p), ".git"), "/")
}
