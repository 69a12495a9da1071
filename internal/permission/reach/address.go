package reach

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// special lists the networks that are not public, or not only: from IANA's
// registries of addresses for special purposes (RFC 6890 and its successors),
// and from what clouds do. Of IPv6 nothing outside of 2000::/3 is public anyway.
func special() []netip.Prefix {
	texts := []string{
		"0.0.0.0/8",         // this network: reaches this machine
		"10.0.0.0/8",        // private
		"100.64.0.0/10",     // between a provider and its customers; metadata of one cloud
		"127.0.0.0/8",       // this machine
		"168.63.129.16/32",  // metadata of one cloud, a public address by its number
		"169.254.0.0/16",    // link-local; metadata of most clouds
		"172.16.0.0/12",     // private
		"192.0.0.0/24",      // protocol assignments; metadata of one cloud
		"192.0.2.0/24",      // documentation
		"192.31.196.0/24",   // a sink for reverse look-ups
		"192.52.193.0/24",   // multicast by tunnel
		"192.88.99.0/24",    // 6to4 relays
		"192.168.0.0/16",    // private
		"192.175.48.0/24",   // a sink for reverse look-ups
		"198.18.0.0/15",     // benchmarks
		"198.51.100.0/24",   // documentation
		"203.0.113.0/24",    // documentation
		"224.0.0.0/4",       // multicast
		"240.0.0.0/4",       // reserved, broadcast
		"2001::/23",         // protocol assignments, Teredo and ORCHID among them
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4: holds any IPv4 address
		"2620:4f:8000::/48", // a sink for reverse look-ups
		"3fff::/20",         // documentation
	}
	return prefixes(texts)
}

// metadata lists the addresses at which clouds tell a machine its own secrets.
// That a host was named doesn't make it one of these.
func metadata() []netip.Prefix {
	return prefixes([]string{"168.63.129.16/32", "169.254.0.0/16", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::254/128", "fe80::/10"})
}

// internal lists the networks, in addition to private ones, that organizations use
// internally although they are reserved for something else.
func internal() []netip.Prefix {
	return prefixes([]string{"100.64.0.0/10", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"})
}

func prefixes(texts []string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

func among(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Public reports whether an address is one of the open internet: not of this
// machine, a private network, a segment, a group or a cloud's metadata service, in
// whatever form of IPv6 it is written.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if nat64 := netip.MustParsePrefix("64:ff9b::/96"); nat64.Contains(a) { // how a network of IPv6 alone spells IPv4
		all := a.As16()
		return Public(netip.AddrFrom4([4]byte(all[12:])))
	}
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return false
	}
	return !among(special(), a)
}

// publicName reports whether a name can be that of a public host, as far as its
// letters tell.
func publicName(host string) bool {
	if !strings.Contains(host, ".") {
		return false // this network's, as localhost is this machine's
	}
	return !slices.ContainsFunc([]string{".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa", ".onion"}, func(suffix string) bool {
		return strings.HasSuffix(host, suffix)
	})
}

// Canonical writes a host as it will be looked up: in small ASCII letters,
// without the dot at its end. False: it is no host.
func Canonical(host string) (string, bool) {
	for i := range len(host) {
		if host[i] >= 0x80 {
			ascii, err := idna.Lookup.ToASCII(host)
			if err != nil {
				return "", false
			}
			host = ascii
			break
		}
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host, host != ""
}

// literal reads a host that is an address and no name, in any spelling that
// some resolver accepts: 127.1, 0x7f000001 and 017700000001 are all this machine.
// numeric is true for anything that is not a name; the address is invalid if it
// is not an address either.
func literal(host string) (a netip.Addr, numeric bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a, true
	}
	if strings.ContainsAny(host, ":%") {
		return netip.Addr{}, true
	}
	parts := strings.Split(host, ".")
	if _, ok := number(parts[len(parts)-1]); !ok {
		return netip.Addr{}, false
	}
	return shortIPv4(parts), true
}

// shortIPv4 reads an IPv4 address of one to four numbers, of which the last
// fills all the bytes that are left, as inet_aton does.
func shortIPv4(parts []string) netip.Addr {
	if len(parts) > 4 {
		return netip.Addr{}
	}
	var sum uint64
	for i, p := range parts {
		n, ok := number(p)
		last := i == len(parts)-1
		switch {
		case !ok, !last && n > 0xff, last && n >= 1<<(8*(5-len(parts))):
			return netip.Addr{}
		case last:
			sum |= n
		default:
			sum |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// number reads a decimal, octal (0...) or hexadecimal (0x...) number; one that
// is too large is one still.
func number(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		base, s = 16, s[2:]
		if s == "" {
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		base, s = 8, s[1:]
	}
	if s == "" {
		return 0, false
	}
	for _, c := range s {
		if (c < '0' || c > '9') && (base != 16 || c < 'a' || c > 'f') {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, base, 32)
	if err != nil { // too large, or a digit that octal lacks: no address, and no name either
		return 1 << 32, true
	}
	return n, true
}

// DefaultPort returns the port that a URL with this scheme has if it names none, "" if
// the scheme is not http, https or ssh.
func DefaultPort(scheme string) string {
	return map[string]string{"https": "443", "http": "80", "ssh": "22"}[scheme]
}

// WithPort adds the default port of a scheme to a host without one.
func WithPort(scheme, host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), DefaultPort(scheme))
}
