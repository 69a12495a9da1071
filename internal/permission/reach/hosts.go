package reach

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// groups returns the hosts of package managers, by the group name used in
// profiles.
func groups() map[string][]string {
	return map[string][]string{
		"go":        {"proxy.golang.org", "sum.golang.org", "index.golang.org", "storage.googleapis.com", "go.dev", "pkg.go.dev", "golang.org", "dl.google.com"},
		"npm":       {"registry.npmjs.org", "www.npmjs.com", "registry.yarnpkg.com", "nodejs.org"},
		"pypi":      {"pypi.org", "files.pythonhosted.org"},
		"crates":    {"crates.io", "index.crates.io", "static.crates.io", "static.rust-lang.org"},
		"maven":     {"repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "services.gradle.org", "downloads.gradle.org"},
		"rubygems":  {"rubygems.org", "index.rubygems.org"},
		"packagist": {"packagist.org", "repo.packagist.org", "api.github.com", "codeload.github.com"}, // GitHub has the packages
		"debian":    {"deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"},
		"github": {
			"github.com", "api.github.com", "codeload.github.com", "raw.githubusercontent.com", "gist.githubusercontent.com",
			"objects.githubusercontent.com", "release-assets.githubusercontent.com", "uploads.github.com",
		},
	}
}

// Groups returns the sorted names of the host groups.
func Groups() []string { return slices.Sorted(maps.Keys(groups())) }

// Hosts are the hosts that may be reached. The zero value allows none.
type Hosts struct {
	public bool
	rules  []rule
}

// rule is one host, or all hosts below a domain.
type rule struct {
	entry string     // as it was written
	name  string     // a full name, or a suffix with its leading dot
	ip    netip.Addr // valid if the rule is an address
	port  int        // 0: any
	// named is true if the host itself was written down: only then may it be
	// somewhere that is not public.
	named bool
}

// Parse parses a list of names, addresses and wildcards such as
// "*.example.com", each with an optional port, and of groups. With public, all
// public hosts are allowed, too. Invalid entries are reported in the error and
// omitted from the hosts.
func Parse(entries []string, public bool) (Hosts, error) {
	h := Hosts{public: public}
	var problems []error
	for _, e := range entries {
		if names, ok := groups()[e]; ok {
			for _, n := range names {
				h.rules = append(h.rules, rule{entry: e, name: n})
			}
			continue
		}
		r, err := parse(e)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		h.rules = append(h.rules, r)
	}
	return h, errors.Join(problems...)
}

func parse(entry string) (rule, error) {
	if ip, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil && ip.Zone() == "" {
		return rule{entry: entry, ip: ip.Unmap(), named: true}, nil
	}
	if ap, err := netip.ParseAddrPort(entry); err == nil && ap.Addr().Zone() == "" && ap.Port() > 0 {
		return rule{entry: entry, ip: ap.Addr().Unmap(), port: int(ap.Port()), named: true}, nil
	}
	r := rule{entry: entry, named: true}
	name, port, ok := strings.Cut(entry, ":")
	if ok {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return r, fmt.Errorf("invalid host %q: invalid port %q", entry, port)
		}
		r.port = int(n)
	}
	below, wild := strings.CutPrefix(name, "*.")
	name, valid := Canonical(below)
	if _, numeric := literal(name); !valid || numeric || !isName(name) {
		return r, fmt.Errorf("invalid host %q: must be a name, an address in canonical form, or a group; groups are %v", entry, Groups())
	}
	r.name = name
	if wild {
		r.name, r.named = "."+name, false
	}
	return r, nil
}

func isName(host string) bool {
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// Denied is the error of a host that may not be reached.
type Denied struct {
	Reason string
	// Lacks has the entries that the list of hosts lacks; none if no entry allows the host.
	Lacks []string
}

func (d *Denied) Error() string { return d.Reason }

// Allowed returns an error, [Denied], if a host may not be reached. It is called twice:
// without an address before the name is resolved, because a DNS query could
// leak data, too; and for the address to dial. The host must be in the form of
// [Canonical].
func (h Hosts) Allowed(host string, port int, ip netip.Addr) error {
	written, numeric := literal(host)
	if numeric && !ip.IsValid() {
		if ip = written; !ip.IsValid() {
			return &Denied{Reason: host + " is not a host name or address"}
		}
	}
	public := !ip.IsValid() || Public(ip)
	anybodys := public && (numeric || publicName(host))
	covered := h.covering(host, port)
	named := slices.ContainsFunc(covered, func(r rule) bool { return r.named })
	switch {
	case anybodys && (h.public || len(covered) > 0), named && public:
		return nil
	case numeric && !public && len(covered) > 0:
		return nil
	case !numeric && !public && named && mayBe(host, ip):
		return nil
	case !numeric && !public && (named || len(covered) > 0 && publicName(host)) && h.lists(ip, port):
		return nil
	case !public && numeric:
		return &Denied{fmt.Sprintf("%s is not a public address and not listed in the profile's network", host), []string{host}}
	case !public:
		return h.deniedAddress(host, ip, covered)
	case !numeric && !publicName(host):
		return &Denied{fmt.Sprintf("%s is not a public host name and not listed in the profile's network", host), []string{host}}
	}
	return &Denied{fmt.Sprintf("the profile's network does not allow %s, port %d", host, port), []string{host}}
}

// deniedAddress returns the error of a name that resolves to an address that is not public.
func (h Hosts) deniedAddress(host string, ip netip.Addr, covered []rule) error {
	ip = ip.Unmap()
	d := &Denied{Reason: fmt.Sprintf("%s resolves to %s, which is not a public address", host, ip), Lacks: []string{host}}
	rule := ""
	if len(covered) > 0 {
		rule = strconv.Quote(covered[0].entry) + " in "
	}
	switch {
	case among(metadata(), ip):
		d.Reason, d.Lacks = d.Reason+" but link-local or a cloud's metadata service: no host name may resolve to it", nil
	case !mayBe(host, ip) && len(covered) > 0:
		d.Reason, d.Lacks = d.Reason+" but this machine's own or reserved: list the address, too", []string{ip.String()}
	case !mayBe(host, ip):
		d.Reason, d.Lacks = d.Reason+" but this machine's own or reserved: list both the host and the address", []string{host, ip.String()}
	default:
		d.Reason += "; " + rule + "the profile's network allows only public addresses: list the host itself"
	}
	return d
}

// lists reports whether an address itself is listed. A listed host may resolve to it, too,
// unless it is a metadata service, which trusts everybody who reaches it.
func (h Hosts) lists(ip netip.Addr, port int) bool {
	return len(h.covering(ip.Unmap().String(), port)) > 0 && !among(metadata(), ip.Unmap())
}

// covering returns the rules that match a host and a port.
func (h Hosts) covering(host string, port int) []rule {
	var list []rule
	for _, r := range h.rules {
		if (r.port == 0 || r.port == port) && r.covers(host) {
			list = append(list, r)
		}
	}
	return list
}

// covers reports whether a rule matches a host. An address matches only in
// canonical form.
func (r rule) covers(host string) bool {
	if r.ip.IsValid() {
		a, err := netip.ParseAddr(host)
		return err == nil && a == r.ip
	}
	return host == r.name || strings.HasPrefix(r.name, ".") && strings.HasSuffix(host, r.name)
}

// mayBe reports whether a listed name may resolve to an address that is not public:
// private and reserved addresses, which only routes of the user's own reach. Loopback,
// link-local and cloud metadata addresses must be listed as addresses: whoever controls
// the name could direct it there.
func mayBe(host string, ip netip.Addr) bool {
	ip = ip.Unmap()
	if ip.IsLoopback() {
		return host == "localhost" || strings.HasSuffix(host, ".localhost")
	}
	return ip.Zone() == "" && (ip.IsPrivate() || among(internal(), ip)) && !among(metadata(), ip)
}

// Expand replaces the groups in a list of entries by their hosts.
func Expand(entries []string) []string {
	var hosts []string
	for _, e := range entries {
		if names, ok := groups()[e]; ok {
			hosts = append(hosts, names...)
			continue
		}
		hosts = append(hosts, e)
	}
	return hosts
}
