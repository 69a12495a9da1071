package repolist

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
	"github.com/millhand/millhand/tasks/problem"
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
func parseURL(s string) (string, *problem.Fault) {
	scheme, rest, hasScheme := strings.Cut(s, "://")
	switch {
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "", &problem.Fault{What: "the URL holds white space or a control character", Fix: "write it with %20 and its like"}
	case strings.HasPrefix(s, "-"):
		return "", &problem.Fault{What: `the URL starts with "-"`, Fix: "write https://HOST/PATH"}
	case helperForm.MatchString(s):
		return "", &problem.Fault{What: "the URL names a program of git's (HELPER::ADDRESS)", Fix: "write https://HOST/PATH"}
	case !hasScheme:
		return s, scpFault(s)
	case !schemeForm.MatchString(scheme):
		return "", &problem.Fault{What: "the URL has no valid scheme", Fix: "write https://HOST/PATH"}
	}
	scheme = strings.ToLower(scheme)
	if known := []string{"https", "http", "ssh", "file"}; !slices.Contains(known, scheme) {
		return "", &problem.Fault{What: fmt.Sprintf("the scheme %s is not supported", problem.Quote(scheme)), Fix: "use https, http, ssh or file"}
	}
	if strings.ContainsAny(rest, "?#") {
		return "", &problem.Fault{What: "the URL holds ? or #", Fix: "take out what begins there, or write %3F and %23"}
	}
	s = scheme + "://" + rest
	u, err := url.Parse(s)
	if err != nil {
		return "", &problem.Fault{What: "the URL is not valid", Fix: "write " + scheme + "://HOST/PATH"}
	}
	return s, urlFault(u)
}

// urlFault checks the parts of a URL with a known scheme.
func urlFault(u *url.URL) *problem.Fault {
	form := "write " + u.Scheme + "://HOST/PATH"
	_, password := u.User.Password()
	port, err := strconv.Atoi(u.Port())
	switch {
	case password || u.User != nil && u.Scheme != "ssh":
		return &problem.Fault{What: "the URL holds credentials, which reports would show", Fix: "take them out, and give a token by the environment"}
	case u.User != nil && !userForm.MatchString(u.User.Username()):
		return &problem.Fault{What: "the URL's user is not a plain name", Fix: "write ssh://git@HOST/PATH"}
	case u.Scheme == "file" && u.Host != "":
		return &problem.Fault{What: "a file URL names no host", Fix: "write file:///PATH"}
	case u.Scheme != "file" && !validHost(u.Hostname()):
		return &problem.Fault{What: "the URL names no valid host", Fix: form}
	case strings.HasSuffix(u.Host, ":") || u.Port() != "" && (err != nil || port < 1 || port > 65535):
		return &problem.Fault{What: "the URL's port is no number from 1 to 65535", Fix: form}
	}
	return pathFault(u.Path, form)
}

// scpFault checks an address without a scheme.
func scpFault(s string) *problem.Fault {
	const form = "write https://HOST/PATH, ssh://HOST/PATH or git@HOST:PATH"
	m := scpForm.FindStringSubmatch(s)
	switch {
	case m == nil && strings.Contains(s, "@"):
		return &problem.Fault{What: "this is not the URL of a repository, and may hold credentials", Fix: form}
	case m == nil:
		return &problem.Fault{What: problem.Quote(s) + " is not the URL of a repository", Fix: form}
	case !userForm.MatchString(m[1]):
		return &problem.Fault{What: "the URL's user is not a plain name", Fix: form}
	case !validHost(strings.Trim(m[2], "[]")):
		return &problem.Fault{What: "the URL names no valid host", Fix: form}
	case strings.HasPrefix(m[3], "-"):
		return &problem.Fault{What: `the URL's path starts with "-"`, Fix: form}
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
func pathFault(p, form string) *problem.Fault {
	elements := strings.Split(p, "/")
	switch {
	case strings.Trim(strings.TrimSuffix(strings.TrimRight(p, "/"), ".git"), "/") == "":
		return &problem.Fault{What: "the URL names no repository", Fix: form}
	case slices.Contains(elements, ".") || slices.Contains(elements, ".."):
		return &problem.Fault{What: `the URL's path holds "." or ".."`, Fix: "write where it leads"}
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return &problem.Fault{What: "the URL's path holds a control character", Fix: form}
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
