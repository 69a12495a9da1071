package reach

import (
	"net/netip"
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
		{named, "printer.local", 80, "", false},   // a wildcard's hosts are public
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

func TestPublic(t *testing.T) {
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
