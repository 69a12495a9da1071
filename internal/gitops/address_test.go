package gitops

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	for raw, want := range map[string]address{
		"https://example.com/a/b.git":      {scheme: "https", host: "example.com", path: "/a/b.git"},
		"HTTPS://jo:pw@example.com:8443/a": {scheme: "https", user: "jo", password: "pw", host: "example.com:8443", path: "/a"},
		"https://example.com/a%20b/":       {scheme: "https", host: "example.com", path: "/a%20b"},
		"http://[::1]:80/a":                {scheme: "http", host: "[::1]:80", path: "/a"},
		"ssh://git@example.com/a%20b":      {scheme: "ssh", user: "git", host: "example.com", path: "/a b"},
		"ssh://example.com:22/~jo/a":       {scheme: "ssh", host: "example.com:22", path: "~jo/a"},
		"ssh://example.com/a#1?b":          {scheme: "ssh", host: "example.com", path: "/a#1?b"},
		"git@example.com:a/b.git":          {scheme: "ssh", user: "git", host: "example.com", path: "a/b.git"},
		"example.com:/a":                   {scheme: "ssh", host: "example.com", path: "/a"},
		"git@[::1]:a":                      {scheme: "ssh", user: "git", host: "[::1]", path: "a"},
		"git@[example.com:22]:a":           {scheme: "ssh", user: "git", host: "example.com:22", path: "a"},
		"file:///a%20b%":                   {scheme: "file", path: "/a b%"},
		"file:///a/b%20c":                  {scheme: "file", path: "/a/b c"},
		"file://localhost/a":               {scheme: "file", path: "/a"},
		"/a/b":                             {scheme: "file", path: "/a/b"},
	} {
		got, err := parseAddress(raw)
		if raw == "file:///a%20b%" { // nothing is decoded where something can't be
			want.path = "/a%20b%"
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(address{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", raw, err, diff)
		}
	}
	for _, raw := range []string{
		"", "a/b", "./a", "../a:b", "git://example.com/a", "ftp://x/y", "https://", "https:///a", "https://x/a?b", "https://x/a#b",
		"ssh://x", "ssh://-oProxyCommand=x/a", "-oProxyCommand=x:a", "git@-x:a", "x:", ":x", "git@:x", "[]:x", "[:]:0", "[-x]:a", "file://host/a", "file://", "https://x\n/a", "/a\x00",
	} {
		if got, err := parseAddress(raw); err == nil {
			t.Errorf("%q is %+v", raw, got)
		}
	}
}

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"https://jo:SECRET@example.com/a", "jo@example.com:a", "ssh://jo:SECRET@[::1]:22/~/a?b#c", "file:///a%20b", "/a", "[a:1]:b", "https://jo:SECRET@%/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := parseAddress(raw)
		if err != nil {
			if len(raw) > 30 && strings.Contains(err.Error(), raw) {
				t.Errorf("the URL is in %q", err)
			}
			return
		}
		if a.path == "" && a.scheme != "http" && a.scheme != "https" {
			t.Errorf("%q has no path", raw)
		}
		if a.scheme != "file" && (a.hostname() == "" || a.hostname()[0] == '-') {
			t.Errorf("%q has the host %q", raw, a.hostname())
		}
		if len(a.password) > 8 && strings.Contains(a.String(), a.password) && !strings.Contains(a.host+a.path, a.password) {
			t.Errorf("the password is in %q", a)
		}
	})
}
