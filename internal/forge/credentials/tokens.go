package credentials

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/permission/reach"
)

const (
	// TokenVariable holds the token for git remotes over https.
	TokenVariable = "MILLHAND_GIT_TOKEN"
	// gitHosts lists the servers that the token is for: comma-separated hosts,
	// each with its port unless it is the default.
	gitHosts = "MILLHAND_GIT_HOSTS"
)

// sshAuth returns the credentials for all remotes over ssh.
func sshAuth(getenv func(string) string) remote.Auth {
	a := remote.Auth{
		SSHAgent: getenv("SSH_AUTH_SOCK"), SSHKey: getenv("MILLHAND_SSH_KEY"), SSHPassphrase: getenv("MILLHAND_SSH_PASSPHRASE"),
		KnownHosts: getenv("MILLHAND_KNOWN_HOSTS"),
	}
	if home := getenv("HOME"); a.KnownHosts == "" && home != "" {
		a.KnownHosts = filepath.Join(home, ".ssh", "known_hosts")
	}
	return a
}

// tokenHosts returns the servers that MILLHAND_GIT_TOKEN is for: those of
// MILLHAND_GIT_HOSTS, else the CI's own server, else, outside CI, the single
// server of all URLs, unless the manifest is untrusted.
func tokenHosts(getenv func(string) string, untrusted bool, urls []string) ([]string, error) {
	if list := strings.TrimSpace(getenv(gitHosts)); list != "" {
		return parseHosts(list)
	}
	if own := ciServer(getenv); own != "" {
		return []string{own}, nil
	}
	if untrusted {
		return nil, nil
	}
	var hosts []string
	for _, u := range urls {
		if server, ok := httpServer(u); ok && !slices.Contains(hosts, hostOf(server)) {
			hosts = append(hosts, hostOf(server))
		}
	}
	if len(hosts) > 1 {
		slices.Sort(hosts)
		return nil, fmt.Errorf("%s is set and the repositories are on %d servers: set %s=%s (without those that it is not for)",
			TokenVariable, len(hosts), gitHosts, strings.Join(hosts, ","))
	}
	return hosts, nil
}

// TokenServers describes which servers MILLHAND_GIT_TOKEN is for, as far as
// known before a run.
func TokenServers(getenv func(string) string) string {
	hosts, err := tokenHosts(getenv, false, nil)
	switch {
	case err != nil:
		return err.Error()
	case len(hosts) == 0:
		return "for runs on one git server; set " + gitHosts + " for others"
	}
	return "for " + strings.Join(hosts, ", ")
}

func parseHosts(list string) ([]string, error) {
	var hosts []string
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		u, err := url.Parse("//" + entry)
		if err != nil || u.Host != entry || u.Hostname() == "" || strings.Contains(entry, "*") {
			return nil, fmt.Errorf("%s: invalid host %q: must be comma-separated hosts, with non-default ports, for example %s=git.example.com,localhost:3000",
				gitHosts, entry, gitHosts)
		}
		hosts = append(hosts, strings.ToLower(entry))
	}
	return hosts, nil
}

// ciServer returns the host of the forge whose CI runs this process, "" outside
// CI or for an unknown forge.
func ciServer(getenv func(string) string) string {
	for _, ci := range []struct{ variable, server, host string }{
		{"GITHUB_ACTIONS", "GITHUB_SERVER_URL", ""},
		{"GITLAB_CI", "CI_SERVER_URL", "CI_SERVER_HOST"},
	} {
		if getenv(ci.variable) != "true" {
			continue
		}
		if server, ok := httpServer(getenv(ci.server)); ok {
			return hostOf(server)
		}
		if host := getenv(ci.host); host != "" {
			return strings.ToLower(host)
		}
	}
	return ""
}

// httpServer returns the scheme and host of a URL of https or http.
func httpServer(raw string) (*url.URL, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return nil, false
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, true
}

// hostOf returns the host of a server in lower case, with its port unless it is
// the default of its scheme.
func hostOf(server *url.URL) string {
	host := strings.ToLower(server.Host)
	return strings.TrimSuffix(host, ":"+reach.DefaultPort(server.Scheme))
}

// serves reports whether a host, in the format of MILLHAND_GIT_HOSTS, is that
// of a server. Without a port it means the default port of the server's scheme.
func serves(host string, server *url.URL) bool {
	named := &url.URL{Host: host}
	usual := reach.DefaultPort(server.Scheme)
	return strings.EqualFold(named.Hostname(), server.Hostname()) &&
		cmp.Or(named.Port(), usual) == cmp.Or(server.Port(), usual)
}

// forgeToken is an environment variable for a token, and its user name; "" for
// the default.
type forgeToken struct{ variable, user string }

// forgeTokens lists the variables for tokens of specific forges; the first one
// set wins. A CI names its forge; otherwise it is the public one.
func forgeTokens(getenv func(string) string, server *url.URL) []forgeToken {
	var list []forgeToken
	for _, f := range []struct {
		host, server string
		tokens       []forgeToken
	}{
		{"github.com", "GITHUB_SERVER_URL", []forgeToken{{"GITHUB_TOKEN", ""}, {"GH_TOKEN", ""}}},
		{"gitlab.com", "CI_SERVER_URL", []forgeToken{{"GITLAB_TOKEN", "oauth2"}, {"CI_JOB_TOKEN", "gitlab-ci-token"}}},
		{"codeberg.org", "GITEA_SERVER_URL", []forgeToken{{"GITEA_TOKEN", ""}}},
	} {
		host := f.host
		if own, ok := httpServer(getenv(f.server)); ok {
			host = hostOf(own)
		}
		if serves(host, server) {
			list = append(list, f.tokens...)
		}
	}
	return list
}
