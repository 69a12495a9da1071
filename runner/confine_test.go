package runner

import (
	"net/netip"
	"testing"

	"github.com/millhand/millhand/internal/permission"
)

func TestNetworkFilterAppliesProfileAndMaxProfiles(t *testing.T) {
	network := func(allow bool, hosts ...string) permission.Profile {
		return permission.Profile{Network: permission.Network{Allow: allow, Hosts: hosts}}
	}
	public, private := netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("10.0.0.1")
	tests := []struct {
		name      string
		own, most permission.Profile
		host      string
		at        netip.Addr
		allowed   bool
	}{
		{"no network at all", network(false), network(true), "go.dev", public, false},
		{"none above", network(true, "go"), network(false), "go.dev", public, false},
		{"all and all", network(true), network(true), "example.com", public, true},
		{"a name below all", network(false, "example.com"), network(true), "example.com", public, true},
		{"another name below all", network(false, "example.com"), network(true), "example.org", public, false},
		{"all below a name", network(true), network(false, "example.com"), "example.com", public, true},
		{"all below another name", network(true), network(false, "example.com"), "example.org", public, false},
		{"a name below its group", network(false, "proxy.golang.org"), network(false, "go"), "proxy.golang.org", public, true},
		{"a name below its domain", network(false, "api.example.com"), network(false, "*.example.com"), "api.example.com", public, true},
		{"a private name below all", network(false, "db.example.com"), network(true), "db.example.com", private, false},
		{"all below a private name", network(true), network(false, "db.example.com"), "db.example.com", private, false},
		{"a private name in both", network(false, "db.example.com"), network(true, "db.example.com"), "db.example.com", private, true},
	}
	for _, tt := range tests {
		allowed, err := networkFilter(tt.own.Under(tt.most), false)
		if err != nil {
			t.Fatal(err)
		}
		if (allowed(tt.host, 443, tt.at) == nil) != tt.allowed {
			t.Errorf("%s: %v, want %v", tt.name, !tt.allowed, tt.allowed)
		}
	}
}
