package reach

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	named, err := Parse([]string{"npm", "git.example.com", "*.wild.example", "db.example:5432", "10.0.0.7", "[fd00::1]:99", "localhost", "169.254.169.254", "bücher.example", "*.local", "intranet"}, false)
	if err != nil {
		t.Fatal(err)
	}
	public, err := Parse(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	both, err := Parse([]string{"npm", "git.example.com", "*.wild.example", "127.0.0.2", "240.0.0.9:80", "169.254.169.254"}, false)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		hosts Hosts
		host  string
		port  int
		ip    string // "" is before the name is looked up
		want  bool
	}{
		{named, "registry.npmjs.org", 443, "", true},
		{named, "registry.npmjs.org", 443, "104.16.1.34", true},
		{named, "registry.npmjs.org", 443, "10.0.0.1", false}, // a group's host is public
		{named, "git.example.com", 22, "", true},
		{named, "git.example.com", 22, "192.168.1.1", true}, // the host itself was written down
		{named, "git.example.com", 22, "127.0.0.1", false},
		{named, "git.example.com", 22, "169.254.169.254", false},
		{named, "evil.git.example.com", 22, "", false},
		{named, "xgit.example.com", 22, "", false},
		{named, "a.wild.example", 1, "93.184.216.34", true},
		{named, "a.b.wild.example", 1, "", true},
		{named, "a.wild.example", 1, "10.0.0.1", false},
		{named, "wild.example", 1, "", false},
		{named, "notwild.example", 1, "", false},
		{named, "db.example", 5432, "10.9.9.9", true},
		{named, "db.example", 443, "", false},
		{named, "10.0.0.7", 80, "10.0.0.7", true},
		{named, "::ffff:10.0.0.7", 80, "::ffff:10.0.0.7", false}, // another spelling
		{named, "10.0.0.7", 80, "::ffff:10.0.0.7", true},
		{named, "10.0.0.8", 80, "", false},
		{named, "fd00::1", 99, "fd00::1", true},
		{named, "fd00::1", 98, "", false},
		{named, "localhost", 80, "127.0.0.1", true},
		{named, "localhost", 80, "::1", true},
		{named, "169.254.169.254", 80, "169.254.169.254", true},
		{named, "xn--bcher-kva.example", 80, "93.184.216.34", true},
		{named, "intranet", 80, "10.0.0.1", true}, // written down
		// Networks that are reserved for something else, and used internally.
		{named, "git.example.com", 22, "100.64.1.2", true},
		{named, "git.example.com", 22, "203.0.113.80", true},
		{named, "git.example.com", 22, "198.18.0.1", true},
		{named, "registry.npmjs.org", 443, "203.0.113.80", false},
		// The host and the address are both listed.
		{both, "registry.npmjs.org", 443, "127.0.0.2", true},
		{both, "registry.npmjs.org", 443, "::ffff:127.0.0.2", true},
		{both, "registry.npmjs.org", 443, "127.0.0.3", false},
		{both, "git.example.com", 22, "127.0.0.2", true},
		{both, "a.wild.example", 80, "240.0.0.9", true},
		{both, "a.wild.example", 81, "240.0.0.9", false},
		{both, "git.example.com", 22, "169.254.169.254", false}, // only by its address
		{both, "169.254.169.254", 80, "169.254.169.254", true},
		{both, "other.example", 443, "127.0.0.2", false},
		{both, "router", 443, "127.0.0.2", false},
		{named, "printer.local", 80, "", false}, // a wildcard's hosts are public
		// A name that was written down, and that somebody leads elsewhere.
		{named, "git.example.com", 22, "fd00:ec2::254", false},
		{named, "git.example.com", 22, "100.100.100.200", false},
		{named, "git.example.com", 22, "168.63.129.16", false},
		{named, "git.example.com", 22, "192.0.0.192", false},
		{named, "git.example.com", 22, "::1", false},
		{named, "git.example.com", 22, "::ffff:127.0.0.1", false},
		{named, "git.example.com", 22, "64:ff9b::a00:1", false},
		{named, "git.example.com", 22, "fe80::1", false},
		{named, "git.example.com", 22, "0.0.0.0", false},
		{named, "git.example.com", 22, "fd12::1", true},
		// Spellings of addresses that resolvers take.
		{named, "127.1", 80, "", false},
		{named, "0x7f000001", 80, "", false},
		{public, "127.1", 80, "", false},
		{public, "2130706433", 80, "", false},
		{public, "0177.0.0.1", 80, "", false},
		{public, "999.1.1.1", 80, "", false},
		{public, "127.0.0.1", 80, "", false},
		{public, "8.8.8.8", 80, "", true},
		{public, "localhost", 80, "", false},
		{public, "router", 80, "", false},
		{public, "metadata.google.internal", 80, "", false},
		{public, "any.example", 80, "", true},
		{public, "any.example", 80, "93.184.216.34", true},
		{public, "any.example", 80, "10.1.2.3", false},
		{public, "any.example", 80, "127.0.0.1", false},
		{public, "any.example", 80, "::ffff:127.0.0.1", false},
		{public, "any.example", 80, "64:ff9b::7f00:1", false},
		{public, "any.example", 80, "2002:7f00:1::", false},
		{Hosts{}, "any.example", 80, "", false},
	}
	for _, tt := range tests {
		var ip netip.Addr
		if tt.ip != "" {
			ip = netip.MustParseAddr(tt.ip)
		}
		if err := tt.hosts.Allowed(tt.host, tt.port, ip); (err == nil) != tt.want {
			t.Errorf("%s:%d at %q: %v; want allowed: %t", tt.host, tt.port, tt.ip, err, tt.want)
		}
	}
}

func TestInvalidHosts(t *testing.T) {
	for _, entry := range []string{"", "a b", "http://x", "x/y", "*", "*.", "a.*.b", "x:", "x:0", "x:99999", "a..b", "user@x", "127.1", "0x7f.0.0.1", "fe80::1%eth0", "[fe80::1%eth0]:80", "1.2.3.4:0", "999.1.1.1"} {
		if _, err := Parse([]string{entry}, false); err == nil {
			t.Errorf("%q is accepted", entry)
		}
	}
}

func TestOnlyAddressesOfTheInternetArePublic(t *testing.T) {
	for ip, want := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "2606:4700::1111": true, "172.15.0.1": true, "172.32.0.1": true, "100.63.0.1": true, "100.128.0.1": true,
		"0.0.0.0": false, "10.0.0.1": false, "127.0.0.1": false, "127.255.0.1": false, "169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false,
		"192.168.0.1": false, "100.64.0.1": false, "100.100.100.200": false, "198.18.0.1": false, "192.0.0.192": false, "168.63.129.16": false, "224.0.0.1": false,
		"255.255.255.255": false, "240.0.0.1": false, "::": false, "::1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false, "fe80::1": false, "fc00::1": false,
		"fd00:ec2::254": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::8.8.8.8": true, "64:ff9b:1::7f00:1": false, "2620:4f:8000::1": false, "192.31.196.1": false, "5f00::1": false, "100::1": false, "3fff::1": false, "2002:a9fe:a9fe::1": false, "2001::1": false, "ff02::1": false, "fe80::1%eth0": false,
	} {
		if got := Public(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: got %t", ip, got)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// A denial has the reason and which entry allows the host: with it the same is allowed.
func TestADenialNamesTheEntryThatAllowsTheHost(t *testing.T) {
	tests := []struct {
		public     bool
		entries    []string
		host, ip   string
		want, more string
	}{
		{false, []string{"go"}, "example.com", "", "the profile's network does not allow example.com, port 443", "example.com"},
		{false, []string{"go"}, "intranet", "", "intranet is not a public host name and not listed in the profile's network", "intranet"},
		{false, []string{"go"}, "10.0.0.1", "10.0.0.1", "10.0.0.1 is not a public address and not listed in the profile's network", "10.0.0.1"},
		{false, []string{"go"}, "proxy.golang.org", "10.0.0.1", `proxy.golang.org resolves to 10.0.0.1, which is not a public address; "go" in the profile's network allows only public addresses: list the host itself`, "proxy.golang.org"},
		{false, []string{"*.corp.example"}, "a.corp.example", "203.0.113.80", `a.corp.example resolves to 203.0.113.80, which is not a public address; "*.corp.example" in the profile's network allows only public addresses: list the host itself`, "a.corp.example"},
		{true, nil, "any.example", "10.0.0.1", "any.example resolves to 10.0.0.1, which is not a public address; the profile's network allows only public addresses: list the host itself", "any.example"},
		{true, nil, "any.example", "127.0.0.1", "any.example resolves to 127.0.0.1, which is not a public address but this machine's own or reserved: list both the host and the address", "any.example 127.0.0.1"},
		{false, []string{"vm.example"}, "vm.example", "127.0.0.1", "vm.example resolves to 127.0.0.1, which is not a public address but this machine's own or reserved: list the address, too", "127.0.0.1"},
		{false, []string{"go"}, "proxy.golang.org", "127.0.0.1", "proxy.golang.org resolves to 127.0.0.1, which is not a public address but this machine's own or reserved: list the address, too", "127.0.0.1"},
		{false, []string{"vm.example", "169.254.169.254"}, "vm.example", "169.254.169.254", "vm.example resolves to 169.254.169.254, which is not a public address but link-local or a cloud's metadata service: no host name may resolve to it", ""},
	}
	for _, tt := range tests {
		allowed := func(more []string) error {
			hosts, err := Parse(slices.Concat(tt.entries, more), tt.public)
			if err != nil {
				t.Fatal(err)
			}
			ip, _ := netip.ParseAddr(tt.ip)
			return hosts.Allowed(tt.host, 443, ip)
		}
		err := allowed(nil)
		denied := (*Denied)(nil)
		if !errors.As(err, &denied) || denied.Reason != tt.want || strings.Join(denied.Lacks, " ") != tt.more {
			t.Errorf("%s at %q under %q:\n%v, %+v\nwant %s", tt.host, tt.ip, tt.entries, err, denied, tt.want)
			continue
		}
		if err := allowed(denied.Lacks); err != nil && tt.more != "" {
			t.Errorf("with %q: %v", denied.Lacks, err)
		}
	}
}
