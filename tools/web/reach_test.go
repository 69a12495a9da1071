package web

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// Every way to write an address that is not public.
func TestNoFormOfAPrivateAddressIsFetched(t *testing.T) {
	hosts := []string{
		"127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.1", "0x7f.0.0.1", "0177.0.0.1", "0177.1",
		"017700000001", "127.0.0.1.", "0", "0.0.0.0", "0x0", "00", "0.0.0.1", "10.0.0.1", "10.1", "0xa.1", "012.1.2.3", "167772161",
		"172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.1", "3232235521", "0xc0a80001", "169.254.169.254", "169.254.43518",
		"2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16", "198.18.0.1",
		"192.0.2.1", "203.0.113.7", "224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "192.88.99.1",
		"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:10.0.0.1]",
		"[0:0:0:0:0:ffff:a9fe:a9fe]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]",
		"[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2002:808:808::1]", "[2001::1]", "[2001:0:53aa:64c:0:0:80ff:fffe]", "[2001:db8::1]",
		"[fe80::1]", "[fe80::1%25eth0]", "[2606:4700::1%25lo]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[100::1]", "[3fff::1]", "[5f00::1]",
		"localhost", "LOCALHOST", "localhost.", "a.localhost", "db.local", "metadata.google.internal", "printer.lan", "box.home.arpa", "router", "intranet",
		"１２７.０.０.１", "①②⑦.⓪.⓪.①", "127。0。0。1", "ｌｏｃａｌｈｏｓｔ", "0x7f.0x0.0x0.0x1", "1.2.3.4.5", "999.1.1.1", "4294967296", "0x", "08.1.1.1", "1.2.3.0x100000",
	}
	everything := Reach{Public: true, Hosts: []string{"go", "github", "*.local", "*.internal", "example.com"}}
	for _, h := range hosts {
		for _, suffix := range []string{"/", ":8080/latest", ""} {
			if reason := everything.Refusal("http://" + h + suffix); reason == "" {
				t.Errorf("http://%s%s may be fetched", h, suffix)
			}
		}
	}
	if len(hosts) < 80 {
		t.Errorf("only %d spellings", len(hosts))
	}
}

func TestInvalidURLsAreNotFetched(t *testing.T) {
	for _, address := range []string{
		"", "example.com", "//example.com/x", "/etc/passwd", "file:///etc/passwd", "FILE:///etc/passwd", "ftp://example.com/", "gopher://example.com/",
		"data:text/plain,x", "javascript:alert(1)", "ws://example.com", "http:example.com", "http:///x", "http://", "http://:80/", "http://.", "http://user@example.com/", "http://a:b@example.com/",
		"http://example.com\x00/", "http://exa mple.com/", "http://example.com:port/", "http://[::1/", "http://127.0.0.%31/", "https://example.com/" + strings.Repeat("x", 2048), "http://ex\u00admple\x7f.com",
	} {
		if reason := (Reach{Public: true}).Refusal(address); reason == "" {
			t.Errorf("%q may be fetched", address)
		}
	}
}

func TestReach(t *testing.T) {
	tests := []struct {
		reach Reach
		url   string
		want  bool
	}{
		{Reach{}, "https://example.com/", false},
		{Reach{Public: true}, "https://example.com/", true},
		{Reach{Public: true}, "http://93.184.216.34/", true},
		{Reach{Public: true}, "http://[2606:4700:4700::1111]/", true},
		{Reach{Public: true}, "http://[64:ff9b::8.8.8.8]/", true},
		{Reach{Public: true}, "https://bücher.example.com/", true},
		{Reach{Public: true}, "https://0xdead.example.com/", true},
		{Reach{Hosts: []string{"example.com"}}, "https://EXAMPLE.com./x", true},
		{Reach{Hosts: []string{"example.com"}}, "https://www.example.com/", false},
		{Reach{Hosts: []string{"example.com"}}, "https://example.com.evil.org/", false},
		{Reach{Hosts: []string{"bücher.example"}}, "https://xn--bcher-kva.example/", true},
		{Reach{Hosts: []string{"*.example.com"}}, "https://www.example.com/", true},
		{Reach{Hosts: []string{"*.example.com"}}, "https://example.com/", false},
		{Reach{Hosts: []string{"*."}}, "https://example.com/", false},
		{Reach{Hosts: []string{"go"}}, "https://proxy.golang.org/x", true},
		{Reach{Hosts: []string{"go"}}, "https://pypi.org/", false},
		{Reach{Hosts: []string{"npm", "pypi", "crates", "maven", "debian", "github"}}, "https://raw.githubusercontent.com/x", true},
		{Reach{Hosts: []string{"go"}}, "http://go/", false},
		{Reach{Hosts: []string{"localhost"}}, "http://localhost:8080/", true},
		{Reach{Hosts: []string{"localhost:8080"}}, "http://localhost:8080/", true},
		{Reach{Hosts: []string{"localhost:8080"}}, "http://localhost:9090/", false},
		{Reach{Hosts: []string{"localhost:80"}}, "http://localhost/", true},
		{Reach{Hosts: []string{"localhost:443"}}, "https://localhost/", true},
		{Reach{Hosts: []string{"127.0.0.1"}}, "http://127.0.0.1:8080/", true},
		{Reach{Hosts: []string{"127.0.0.1"}}, "http://localhost/", false},
		{Reach{Hosts: []string{"127.0.0.1"}}, "http://127.1/", false},
		{Reach{Hosts: []string{"::1"}}, "http://[::1]:8080/", true},
		{Reach{Hosts: []string{"[::1]:8080"}}, "http://[::1]:8080/", true},
		{Reach{Hosts: []string{"[::1]:8080"}}, "http://[::1]/", false},
		{Reach{Hosts: []string{"10.0.0.1"}, Public: true}, "http://10.0.0.2/", false},
	}
	for _, tt := range tests {
		if got := tt.reach.Refusal(tt.url); (got == "") != tt.want {
			t.Errorf("%+v %s: %q", tt.reach, tt.url, got)
		}
	}
}

func FuzzRefusal(f *testing.F) {
	for _, s := range []string{"http://127.1/", "https://[::ffff:7f00:1]:80/x", "http://0x7f.1", "http://example.com", "http://1.2.3.4.5", "http://①.2.3.4/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if (Reach{}).Refusal(address) == "" {
			t.Errorf("nothing reaches %q", address)
		}
		if (Reach{Public: true}).Refusal(address) != "" {
			return
		}
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && (a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || !a.IsGlobalUnicast()) {
			t.Errorf("%q may be fetched", address)
		}
	})
}
