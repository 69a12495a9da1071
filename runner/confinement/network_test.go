package confinement

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/sandbox/proxy"
)

// The fix of a denial is what makes the profile allow the host.
func TestNetworkDenialsHaveAFix(t *testing.T) {
	profile := func(name string, n permission.Network) permission.Profile {
		return permission.Profile{Name: name, Network: n}
	}
	listed := permission.Network{Hosts: []string{"go", "*.example.com"}}
	limited := profile("care", permission.Network{Allow: true}).Under(profile("policy p.yaml:3", listed))
	tests := []struct {
		profile     permission.Profile
		host, ip    string
		reason, fix string
	}{
		{profile("build", permission.Network{}), "a.test.example", "", `profile "build" has no network`, "add a profile with {extends: build, network: [a.test.example]}"},
		{profile("care", permission.Network{}), "a.test.example", "", `profile "care" has no network`, "write in profile care: network: [a.test.example]"},
		{profile("care", listed), "a.test", "", "the profile's network does not allow a.test, port 443", `write in profile care: network: [go, "*.example.com", a.test]`},
		{profile("care", listed), "proxy.golang.org", "10.0.0.1", `proxy.golang.org resolves to 10.0.0.1, which is not a public address; "go" in the profile's network allows only public addresses: list the host itself`, `write in profile care: network: [go, "*.example.com", proxy.golang.org]`},
		{profile("care", listed), "proxy.golang.org", "::1", `proxy.golang.org resolves to ::1, which is not a public address but this machine's own or reserved: list the address, too`, `write in profile care: network: [go, "*.example.com", "::1"]`},
		{profile("full", permission.Network{Allow: true}), "intranet", "", "intranet is not a public host name and not listed in the profile's network", "write a list with intranet and the other hosts instead of network: allow"},
		{profile("care", permission.Network{Hosts: []string{"a.test"}}), "a.test", "169.254.169.254", "a.test resolves to 169.254.169.254, which is not a public address but link-local or a cloud's metadata service: no host name may resolve to it", ""},
		{limited, "a.test.example", "", "policy p.yaml:3, which limits the profile care: the profile's network does not allow a.test.example, port 443", ""},
	}
	for _, tt := range tests {
		filter, err := NetworkFilter(tt.profile, false)
		if err != nil {
			t.Fatal(err)
		}
		ip, _ := netip.ParseAddr(tt.ip)
		got := attempt(proxy.Attempt{Host: tt.host, Port: 443, Denied: true, Err: "x", Cause: filter(tt.host, 443, ip)})
		if diff := cmp.Diff(event.Network{Host: tt.host, Port: 443, Denied: true, Error: tt.reason, Fix: tt.fix}, got); diff != "" {
			t.Errorf("%s at %q (-want +got):\n%s", tt.host, tt.ip, diff)
		}
	}
	if _, err := reach.Parse([]string{"a.test.example"}, false); err != nil {
		t.Error(err)
	}
}

// Whatever error a maximum profile returns denies the host.
func TestEveryErrorOfAMaximumDenies(t *testing.T) {
	p := permission.Profile{Name: "care"}.Under(permission.Profile{Name: "policy"})
	for _, err := range []error{errors.New("x"), &networkDenied{reason: "x"}} {
		if got := limitedBy(p, err); got == nil || got.Error() != "policy, which limits the profile care: x" {
			t.Errorf("%T: %v", err, got)
		}
	}
	if err := limitedBy(p, nil); err != nil {
		t.Error(err)
	}
}

// Commands choose the hosts: they can't fill the report or the output with them.
func TestDeniedHostsAreBounded(t *testing.T) {
	var told DeniedOnce
	var list []event.Network
	tell := told.Once(func(n event.Network) { list = append(list, n) })
	var d deniedHosts
	note := d.watch()
	other := d.watch()
	other()
	for i := range 3 * maxDenials {
		n := event.Network{Host: fmt.Sprintf("h%d.test", i/2), Port: 443, Denied: true, Error: "no"}
		tell(n)
		d.record(n)
	}
	tell(event.Network{Host: "h0.test", Port: 443})
	if len(list) != maxDenials+1 || list[1].Host != "h1.test" {
		t.Errorf("%d events: %v", len(list), list[:3])
	}
	text := note()
	if strings.Count(text, "\n") != maxNoted || !strings.HasSuffix(text, "(network access denied to more hosts)") || len(d.watched) != 0 {
		t.Errorf("note:\n%s", text)
	}
	invalid := attempt(proxy.Attempt{Method: "CONNECT", Host: strings.Repeat("\x1b", 9999), Denied: true, Err: strings.Repeat("x", 9999)})
	if len(invalid.Host) > 300 || len(invalid.Error) > 1100 {
		t.Errorf("%d, %d", len(invalid.Host), len(invalid.Error))
	}
}
