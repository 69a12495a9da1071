package repolist

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

func TestURLs(t *testing.T) {
	for _, tt := range []struct{ url, id, want string }{
		{"https://h.example/a/b.git", "https://h.example/a/b", ""},
		{"HTTPS://H.Example:443//a//b.git//", "https://h.example/a/b", ""},
		{"http://h:8080/a", "http://h:8080/a", ""},
		{"ssh://Git@H:22/a/b/", "ssh://Git@h/a/b", ""},
		{"ssh://h/~ann/b", "ssh://h/~ann/b", ""},
		{"Git@H:a/b.git", "ssh://Git@h/a/b", ""},
		{"git@[::1]:a", "ssh://git@[::1]/a", ""},
		{"https://[2001:db8::1]:8443/a", "https://[2001:db8::1]:8443/a", ""},
		{"file:///srv/shop/.git", "file:///srv/shop", ""},
		{"file:///srv/git/x@v1.0.git", "file:///srv/git/x@v1.0", ""},
		{"https://ann:secret@h/a", "", "the URL holds credentials, which reports would show"},
		{"https://secret@h/a", "", "the URL holds credentials, which reports would show"},
		{"https://:secret@h/a", "", "the URL holds credentials, which reports would show"},
		{"https://@h/a", "", "the URL holds credentials, which reports would show"},
		{"ssh://git:secret@h/a", "", "the URL holds credentials, which reports would show"},
		{"file://secret@h/a", "", "the URL holds credentials, which reports would show"},
		{"https://h/a?token=secret", "", "the URL holds ? or #"},
		{"https://h/a#secret", "", "the URL holds ? or #"},
		{"https://h/a#", "", "the URL holds ? or #"},
		{"ftp://ann:secret@h/a", "", `the scheme "ftp" is not supported`},
		{"git://h/a", "", `the scheme "git" is not supported`},
		{"httsp://h/a", "", `the scheme "httsp" is not supported`},
		{"ext::sh -c touch% /tmp/x", "", "the URL holds white space or a control character"},
		{"ext::sh", "", "the URL names a program of git's (HELPER::ADDRESS)"},
		{"http::https://h/a", "", "the URL names a program of git's (HELPER::ADDRESS)"},
		{"--upload-pack=x", "", `the URL starts with "-"`},
		{"ssh://-oProxyCommand=x/a", "", "the URL names no valid host"},
		{"ssh://-x@h/a", "", "the URL's user is not a plain name"},
		{"-x@h:a", "", `the URL starts with "-"`},
		{"git@-h:a", "", "the URL names no valid host"},
		{"git@h:-a", "", `the URL's path starts with "-"`},
		{"git@h:", "", "the URL names no repository"},
		{"git@h:.git", "", "the URL names no repository"},
		{"git@h:a/../b", "", `the URL's path holds "." or ".."`},
		{"https://h/%2e%2e/b", "", `the URL's path holds "." or ".."`},
		{"https://h/a%00b", "", "the URL's path holds a control character"},
		{"https://h/a%ffb", "", "the URL's path holds a control character"},
		{"https://h/a%zz", "", "the URL is not valid"},
		{"https:///a", "", "the URL names no valid host"},
		{"https://h", "", "the URL names no repository"},
		{"https://h/", "", "the URL names no repository"},
		{"https://h/.git", "", "the URL names no repository"},
		{"https://h:/a", "", "the URL's port is no number from 1 to 65535"},
		{"https://h:0/a", "", "the URL's port is no number from 1 to 65535"},
		{"https://h:99999/a", "", "the URL's port is no number from 1 to 65535"},
		{"file://h/a", "", "a file URL names no host"},
		{"file:///", "", "the URL names no repository"},
		{"https://h/a\nb", "", "the URL holds white space or a control character"},
		{"https://h/a b", "", "the URL holds white space or a control character"},
		{"ann:secret@h:a", "", "this is not the URL of a repository, and may hold credentials"},
		{"../shop", "", `"../shop" is not the URL of a repository`},
		{"h:a", "", `"h:a" is not the URL of a repository`},
		{"git@h:a://b", "", "the URL has no valid scheme"},
		{"://h/a", "", "the URL has no valid scheme"},
	} {
		got, fault := parseURL(tt.url)
		switch {
		case fault != nil && (fault.What != tt.want || fault.Fix == "" || strings.Contains(fault.Error(), "secret")):
			t.Errorf("%s: %v, want %s", tt.url, fault, tt.want)
		case fault == nil && (tt.want != "" || normalURL(got) != tt.id):
			t.Errorf("%s is %s, want %s %s", tt.url, normalURL(got), tt.id, tt.want)
		}
	}
}

// FuzzRepoLine looks for lines that break what ParseRepoLine promises: what it
// reads is written and read back as it was, and a URL is never an option, a
// program to start or a secret.
func FuzzRepoLine(f *testing.F) {
	for _, s := range []string{"", "# x", "one", "copy: one # x", `"a b" ref=c`, "https://h/a.git ref=main", "git@h:a", "ssh://git@[::1]:22/a", "ext::x", "C:\\x", "a:b", "\ufeffone", `copy:"\xff"`, "ref=x", "https://u:p@h/a", "a@h:b/:/", "http@h:a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		r, named, err := ParseRepoLine(line)
		if err != nil || !named {
			if r != (tasks.Repo{}) {
				t.Fatalf("%+v beside %v", r, err)
			}
			return
		}
		again, named, err := ParseRepoLine(r.Location())
		if err != nil || !named || again != r {
			t.Fatalf("%q became %+v, was written as %q and became %+v, %v", line, r, r.Location(), again, err)
		}
		if r.Kind != tasks.RepoURL {
			return
		}
		scheme, rest, _ := strings.Cut(r.URL, "://")
		authority, _, _ := strings.Cut(rest, "/")
		if strings.HasPrefix(r.URL, "-") || strings.HasPrefix(authority, "-") || strings.HasPrefix(scheme, "http") && strings.Contains(authority, "@") {
			t.Fatalf("URL %q", r.URL)
		}
		id := normalURL(r.URL)
		if slash, fault := parseURL(r.URL + "/"); fault == nil && normalURL(slash) != id || strings.HasSuffix(id, "/") {
			t.Fatalf("%q is %q", r.URL, id)
		}
	})
}
