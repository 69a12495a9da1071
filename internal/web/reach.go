package web

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// maxURL is the longest URL that is fetched, in bytes: what is longer carries
// something away rather than naming a page.
const maxURL = 2 << 10

// Reach says what may be reached. The zero value reaches nothing.
type Reach struct {
	Public bool // every public address
	// Hosts may be reached whatever Public says. An entry is a host's name or
	// address, if need be with a port (localhost:8080), which opens it even
	// where it is not public; a name with "*." before it, for all below; or a
	// group of [Groups]. Of the latter two the public addresses are meant.
	Hosts []string
}

// Groups returns the names of groups of hosts, each with its hosts: what
// package managers of one kind talk to.
func Groups() map[string][]string {
	return map[string][]string{
		"go":     {"proxy.golang.org", "sum.golang.org", "go.dev", "pkg.go.dev", "golang.org", "dl.google.com"},
		"npm":    {"registry.npmjs.org", "www.npmjs.com", "registry.yarnpkg.com"},
		"pypi":   {"pypi.org", "files.pythonhosted.org"},
		"crates": {"crates.io", "static.crates.io", "index.crates.io"},
		"maven":  {"repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org"},
		"debian": {"deb.debian.org", "security.debian.org"},
		"github": {
			"github.com", "api.github.com", "codeload.github.com", "raw.githubusercontent.com", "gist.githubusercontent.com",
			"objects.githubusercontent.com", "release-assets.githubusercontent.com",
		},
	}
}

// Refusal says why a URL may not be fetched, as far as its letters tell, and
// "" if it may. Where its name leads is looked at when it is dialled.
func (r Reach) Refusal(address string) string {
	u, err := parse(address)
	if err != nil {
		return err.Error()
	}
	return r.refusal(u)
}

// parse reads a URL that could be fetched.
func parse(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("a URL of %d bytes is never fetched: at most %d are taken", len(text), maxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("what is no URL is never fetched (%w)", err)
	}
	return u, nil
}

func (r Reach) refusal(u *url.URL) string {
	host, ok := canonical(u.Hostname())
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "only http and https URLs are fetched"
	case u.User != nil:
		return "a URL with a user or password in it is never fetched"
	case !ok:
		return "the URL names no host"
	case r.names(host, portOf(u)):
		return ""
	case !public(host):
		return host + " is not a public address, and the profile's network does not name it"
	case r.Public, r.covers(host):
		return ""
	}
	return "the profile's network does not allow " + host
}

// public reports whether a host can be public, as far as its name tells.
func public(host string) bool {
	if a, numeric := address(host); numeric {
		return Public(a)
	}
	if !strings.Contains(host, ".") {
		return false // this network's, as localhost is this machine's
	}
	return !slices.ContainsFunc([]string{".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa", ".onion"}, func(suffix string) bool {
		return strings.HasSuffix(host, suffix)
	})
}

// names reports whether the host stands in the list, alone or with this port.
func (r Reach) names(host, port string) bool {
	a, err := netip.ParseAddr(host) // no other spelling: it would be looked up as a name
	numeric := err == nil
	groups := Groups()
	return slices.ContainsFunc(r.Hosts, func(entry string) bool {
		name, at, found := splitPort(entry)
		if groups[entry] != nil || found && at != port {
			return false
		}
		if numeric {
			b, err := netip.ParseAddr(strings.Trim(name, "[]"))
			return err == nil && a == b
		}
		name, ok := canonical(name)
		return ok && name == host
	})
}

// splitPort splits a port off an entry, if it has one.
func splitPort(entry string) (host, port string, found bool) {
	i := strings.LastIndexByte(entry, ':')
	if i < 0 || strings.HasSuffix(entry, "]") || strings.Count(entry, ":") > 1 && !strings.HasPrefix(entry, "[") {
		return entry, "", false
	}
	return entry[:i], entry[i+1:], true
}

// covers reports whether an entry means the host among others.
func (r Reach) covers(host string) bool {
	groups := Groups()
	return slices.ContainsFunc(r.Hosts, func(entry string) bool {
		if below, ok := strings.CutPrefix(strings.ToLower(entry), "*."); ok {
			return below != "" && strings.HasSuffix(host, "."+below)
		}
		return slices.Contains(groups[entry], host)
	})
}

// portOf is the port that a URL leads to.
func portOf(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
