package proxy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/millhand/millhand/internal/permission/reach"
)

// With the rules of a profile's network, nothing leads to where
// machines keep what is theirs, by whatever name or spelling.
func TestNothingPrivateIsReachedThroughTheProxy(t *testing.T) {
	var hits atomic.Int64
	origin := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer origin.Close()
	port := portOf(t, origin.URL)
	hosts, err := reach.Parse([]string{"github", "*.wild.example", "named.example"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var at netip.Addr
	r := serve(t, &Server{Allowed: hosts.Allowed, Lookup: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{at}, nil }})
	c := client(t, r)
	asked := 0
	refused := func(target string) {
		t.Helper()
		asked++
		if code, body := get(t, c, "http://"+target+"/"); code != 403 {
			t.Errorf("http://%s at %s: %d %s", target, at, code, body)
		}
	}
	for _, address := range []string{
		"127.0.0.1", "127.8.8.8", "0.0.0.0", "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "::1", "::", "::ffff:127.0.0.1",
		"::127.0.0.1", "fe80::1", "fd00:ec2::254", "2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "ff02::1",
	} {
		at = netip.MustParseAddr(address)
		for _, host := range []string{"any.example", "github.com", "a.wild.example", "named.example"} {
			refused(host + ":" + port)
		}
	}
	for _, target := range []string{
		"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"localhost", "LOCALHOST.", "a.localhost", "metadata.google.internal", "router", "db.local", "10.0.0.1", "192.168.1.1", "169.254.169.254", "[fd00:ec2::254]", "999.1.1.1",
	} {
		at = netip.MustParseAddr("127.0.0.1")
		refused(target + ":" + port)
	}
	if hits.Load() != 0 || len(r.seen()) != asked {
		t.Errorf("%d hits; %d attempts recorded of %d", hits.Load(), len(r.seen()), asked)
	}
	for _, a := range r.seen() {
		if !a.Denied || a.Addr.IsValid() {
			t.Errorf("%+v", a)
		}
	}
}

// The answers for one name change from public to private: each connection
// dials what it has judged, and the next is judged again.
func TestChangedAddressIsCheckedAgain(t *testing.T) {
	hosts, err := reach.Parse([]string{"rebind.example"}, true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing is dialled in earnest: a public address would be
	var lookups atomic.Int64
	s := &serving{ctx: ctx, Server: &Server{Allowed: hosts.Allowed, Record: func(Attempt) {}, Lookup: func(context.Context, string) ([]netip.Addr, error) {
		if lookups.Add(1)%2 == 1 {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}}
	for i := range 4 {
		a := Attempt{Host: "rebind.example", Port: 80}
		_, err := s.reach(ctx, &a)
		if public := i%2 == 0; err == nil || a.Addr.IsValid() != public || a.Addr.IsLoopback() {
			t.Errorf("connection %d: dialled %s, %v", i, a.Addr, err)
		}
	}
	if lookups.Load() != 4 {
		t.Errorf("%d look-ups", lookups.Load())
	}
}
