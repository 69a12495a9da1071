package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// groups are the hosts that an ecosystem's package manager talks to, under the
// names that a profile uses.
func groups() map[string][]string {
	return map[string][]string{
		"go":     {"proxy.golang.org", "sum.golang.org", "index.golang.org", "storage.googleapis.com", "go.dev", "golang.org"},
		"npm":    {"registry.npmjs.org", "registry.yarnpkg.com", "nodejs.org"},
		"pypi":   {"pypi.org", "files.pythonhosted.org"},
		"crates": {"crates.io", "index.crates.io", "static.crates.io", "static.rust-lang.org"},
		"maven":  {"repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "services.gradle.org", "downloads.gradle.org"},
		"debian": {"deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"},
		"github": {"github.com", "api.github.com", "codeload.github.com", "raw.githubusercontent.com", "objects.githubusercontent.com", "release-assets.githubusercontent.com", "uploads.github.com"},
	}
}

// HostGroups returns the names of the groups of hosts that there are, sorted.
func HostGroups() []string { return slices.Sorted(maps.Keys(groups())) }

// Hosts says which hosts may be reached. The zero value allows none.
type Hosts struct {
	public bool
	rules  []hostRule
}

type hostRule struct {
	name string     // a whole name, or the end of one with its dot
	ip   netip.Addr // valid if the rule is an address
	port int        // 0: any
	// named is true if the host itself was written down: only then may it be
	// somewhere that is not public.
	named bool
}

// PublicHosts allows every public address.
func PublicHosts() Hosts { return Hosts{public: true} }

// ParseHosts reads a list of names, addresses, names that begin with "*." and
// stand for everything below, each with or without a port, and of groups.
func ParseHosts(entries []string) (Hosts, error) {
	var h Hosts
	var problems []error
	for _, e := range entries {
		if names, ok := groups()[e]; ok {
			for _, n := range names {
				h.rules = append(h.rules, hostRule{name: n})
			}
			continue
		}
		r, err := parseHost(e)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		h.rules = append(h.rules, r)
	}
	return h, errors.Join(problems...)
}

func parseHost(entry string) (hostRule, error) {
	if ip, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		return hostRule{ip: ip.Unmap(), named: true}, nil
	}
	if ap, err := netip.ParseAddrPort(entry); err == nil {
		return hostRule{ip: ap.Addr().Unmap(), port: int(ap.Port()), named: true}, nil
	}
	r := hostRule{named: true}
	name, port, ok := strings.Cut(entry, ":")
	if ok {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return r, fmt.Errorf("read host %q: %q is not a port", entry, port)
		}
		r.port = int(n)
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if below, ok := strings.CutPrefix(name, "*."); ok {
		name, r.named = below, false
		r.name = "." + below
	} else {
		r.name = name
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return r, fmt.Errorf("read host %q: not a name, an address, or a group; the groups are %v", entry, HostGroups())
		}
	}
	return r, nil
}

// Allowed says why a host may not be reached, nil if it may. It is asked twice:
// without an address before the name is looked up, since a question to a name
// server is a message, too; and for the address that is about to be dialled, so
// that a name can't lead to somewhere else than its rule is for. The host is in
// lower case and without a dot at its end.
func (h Hosts) Allowed(host string, port int, ip netip.Addr) error {
	literal, err := netip.ParseAddr(host)
	isLiteral := err == nil
	for _, r := range h.rules {
		if r.port != 0 && r.port != port || !r.covers(host, literal, isLiteral) {
			continue
		}
		if !ip.IsValid() || Public(ip) || r.named && r.mayBe(host, ip, isLiteral) {
			return nil
		}
	}
	switch {
	case h.public && (!ip.IsValid() || Public(ip)):
		return nil
	case ip.IsValid() && !Public(ip):
		return fmt.Errorf("%s is at %s, which is not a public address", host, ip)
	}
	return fmt.Errorf("%s, port %d, is not among the hosts that the profile allows", host, port)
}

func (r hostRule) covers(host string, literal netip.Addr, isLiteral bool) bool {
	if r.ip.IsValid() {
		return isLiteral && literal.Unmap() == r.ip
	}
	return host == r.name || strings.HasPrefix(r.name, ".") && strings.HasSuffix(host, r.name)
}

// mayBe reports whether a host that was written down may be at an address that
// isn't public. Loopback and link-local addresses, where machines keep what is
// theirs alone, must be written down as such.
func (r hostRule) mayBe(host string, ip netip.Addr, isLiteral bool) bool {
	ip = ip.Unmap()
	if isLiteral {
		return ip == r.ip
	}
	if ip.IsLoopback() {
		return host == "localhost" || strings.HasSuffix(host, ".localhost")
	}
	return ip.IsPrivate()
}

// special are the blocks of addresses that are no public host's: those of
// IANA's registries for special purposes, and those that hold another address.
func special() []netip.Prefix {
	var out []netip.Prefix
	for s := range strings.FieldsSeq(`0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
		192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
		168.63.129.16/32 ::/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8`) {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// Public reports whether an address is one that anybody's host can have: not
// this machine's or network's own, not a cloud's service for its machines, and
// none that stands for another address.
func Public(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsValid() || ip.Zone() != "" {
		return false
	}
	return !slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(ip) })
}
