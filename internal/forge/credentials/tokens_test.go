package credentials

import (
	"slices"
	"strings"
	"testing"
)

// environment returns the credentials of an environment, without entries of a manifest.
func environment(env map[string]string, untrusted bool) *Forges {
	return NewForges(nil, Options{Getenv: func(name string) string { return env[name] }, Untrusted: untrusted})
}

func TestATokenIsSentOnlyToItsServers(t *testing.T) {
	const a, b = "https://git.example.com/x.git", "https://other.example.com/y.git"
	mine := func(kv ...string) map[string]string {
		env := map[string]string{TokenVariable: "mine"}
		for i := 0; i < len(kv); i += 2 {
			env[kv[i]] = kv[i+1]
		}
		return env
	}
	github := mine("GITHUB_ACTIONS", "true", "GITHUB_SERVER_URL", "https://github.com")
	for _, c := range []struct {
		name      string
		env       map[string]string
		untrusted bool
		urls      []string // of the run
		to        string   // the remote; the first of urls if empty
		want      string   // token
	}{
		{name: "one server", env: mine(), urls: []string{a, "HTTPS://Git.Example.Com:443/z.git", "git@ssh.example.com:x.git", "/srv/x.git"}, want: "mine"},
		{name: "one server, not trusted", env: mine(), untrusted: true, urls: []string{a}},
		{name: "a list", env: mine(gitHosts, " Git.Example.com , other.example.com:8443"), urls: []string{a, b}, want: "mine"},
		{name: "a list, not trusted", env: mine(gitHosts, "git.example.com"), untrusted: true, urls: []string{a, b}, want: "mine"},
		{name: "not in the list", env: mine(gitHosts, "git.example.com"), urls: []string{b}},
		{name: "below a host of the list", env: mine(gitHosts, "example.com"), urls: []string{a}},
		{name: "a host of the list is below it", env: mine(gitHosts, "git.example.com"), urls: []string{"https://git.example.com.evil.example/x"}},
		{name: "a user that looks like a host", env: mine(gitHosts, "git.example.com"), urls: []string{"https://git.example.com@evil.example/x"}},
		{name: "another port", env: mine(gitHosts, "git.example.com"), urls: []string{"https://git.example.com:8443/x"}},
		{name: "a port of the list", env: mine(gitHosts, "git.example.com:8443"), urls: []string{"https://git.example.com:8443/x"}, want: "mine"},
		{name: "without the port of the list", env: mine(gitHosts, "git.example.com:8443"), urls: []string{a}},
		{name: "the default port", env: mine(gitHosts, "git.example.com:443"), urls: []string{a}, want: "mine"},
		{name: "an address", env: mine(gitHosts, "[::1]:3000"), urls: []string{"http://[::1]:3000/x"}, want: "mine"},
		{name: "the CI's own server", env: github, urls: []string{"https://github.com/x/y"}, want: "mine"},
		{name: "the CI's own server, not trusted", env: github, untrusted: true, urls: []string{"https://github.com/x/y"}, want: "mine"},
		{name: "another than the CI's", env: github, urls: []string{a}},
		{name: "several, one of them the CI's", env: github, urls: []string{a, "https://github.com/x/y"}, to: "https://github.com/x/y", want: "mine"},
		{name: "a list goes before the CI's server", env: mine("GITHUB_ACTIONS", "true", "GITHUB_SERVER_URL", "https://github.com", gitHosts, "git.example.com"), urls: []string{"https://github.com/x/y"}},
		{name: "GitLab", env: mine("GITLAB_CI", "true", "CI_SERVER_URL", "https://gitlab.example.com:8443", "CI_SERVER_HOST", "gitlab.example.com"), urls: []string{"https://gitlab.example.com:8443/x"}, want: "mine"},
		{name: "GitLab by its host", env: mine("GITLAB_CI", "true", "CI_SERVER_HOST", "gitlab.example.com"), urls: []string{"https://gitlab.example.com/x"}, want: "mine"},
		{name: "variables of a CI that this is not", env: mine("GITHUB_SERVER_URL", "https://github.com"), urls: []string{a}, want: "mine"},
		{name: "a forge's token", env: map[string]string{"GITHUB_TOKEN": "gh"}, urls: []string{"https://github.com/x/y", b}, want: "gh"},
		{name: "a forge's token elsewhere", env: map[string]string{"GITHUB_TOKEN": "gh", "GITLAB_TOKEN": "gl", "GITEA_TOKEN": "gt"}, urls: []string{a}},
		{name: "a forge's token on this machine", env: map[string]string{"GITHUB_TOKEN": "gh", "GITLAB_TOKEN": "gl", "GITEA_TOKEN": "gt"}, urls: []string{"http://localhost:3000/x"}},
		{name: "the token of an own forge", env: map[string]string{"GITHUB_TOKEN": "gh", "GITHUB_SERVER_URL": "https://ghes.example.com"}, urls: []string{"https://ghes.example.com/x"}, want: "gh"},
		{name: "the token of an own forge, and the public one", env: map[string]string{"GITHUB_TOKEN": "gh", "GITHUB_SERVER_URL": "https://ghes.example.com"}, urls: []string{"https://github.com/x/y"}},
		{name: "a forge's token where ours is not for it", env: mine(gitHosts, "git.example.com", "GITHUB_TOKEN", "gh"), urls: []string{"https://github.com/x/y"}, want: "gh"},
	} {
		t.Run(c.name, func(t *testing.T) {
			auth, err := environment(c.env, c.untrusted).ForRemotes(c.urls)
			if err != nil {
				t.Fatal(err)
			}
			to := c.to
			if to == "" {
				to = c.urls[0]
			}
			got := auth(to)
			if got.Token != c.want {
				t.Errorf("the token is %q, want %q", got.Token, c.want)
			}
			if withheld := c.env[TokenVariable] != "" && c.want == ""; withheld != (got.Hint != "") {
				t.Errorf("why it is withheld: %q", got.Hint)
			}
			if slices.Contains([]string{"", "mine"}, got.Token) && got.User != "" {
				t.Errorf("the user is %q", got.User)
			}
		})
	}
}

func TestATokenWithUnknownServersIsAnError(t *testing.T) {
	for _, c := range []struct{ hosts, want string }{
		{"", "set MILLHAND_GIT_HOSTS=a.example.com,b.example.com:3000"},
		{"https://a.example.com", `invalid host "https://a.example.com"`},
		{"*.example.com", `invalid host "*.example.com"`},
		{"a.example.com,", `invalid host ""`},
		{"me@a.example.com", `invalid host "me@a.example.com"`},
		{"a.example.com/x", `invalid host "a.example.com/x"`},
	} {
		env := map[string]string{TokenVariable: "mine", gitHosts: c.hosts}
		_, err := environment(env, false).ForRemotes([]string{"https://B.example.com:3000/x", "https://a.example.com/x"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: the error is %v, want %q", c.hosts, err, c.want)
		}
		env[TokenVariable] = ""
		if _, err := environment(env, false).ForRemotes([]string{"https://a/x", "https://b/x"}); err != nil {
			t.Errorf("without a token: %v", err)
		}
	}
}
