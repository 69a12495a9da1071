package tools

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
)

// Needs lists what a call of a tool would need, told by its subject alone: a
// command line for bash, a path for the file tools, the pattern, URL or name
// for others. It is how rules are explained and tested without a call. A tool
// that is not known, as those of servers, needs its own name's permission.
func Needs(env *Env, tool, subject string) ([]permission.Request, error) {
	perm := permission.ForTool(tool)
	switch perm {
	case "bash":
		dir, err := env.Workspace.Resolve(".")
		if err != nil {
			return nil, err
		}
		return bashNeeds(env, dir, subject), nil
	case "edit":
		_, needs, err := needFile(env, perm, subject, toWrite)
		return needs, err
	case "read", "list", "lsp":
		_, needs, err := needFile(env, perm, subject, toRead)
		return needs, err
	case "webfetch":
		return urlNeeds(env.Profile, perm, subject), nil
	case permission.ExternalDirectory, permission.ExternalRead:
		p, err := env.Workspace.Resolve(strings.TrimSuffix(subject, "/*"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", perm, err)
		}
		return []permission.Request{external(perm, p)}, nil
	}
	return []permission.Request{permission.Need(perm, subject)}, nil
}

// urlNeeds lists what fetching a URL needs. An address that is not public is
// never covered by rules on URLs: the profile must name its host.
func urlNeeds(p permission.Profile, perm, address string) []permission.Request {
	need := permission.Need(perm, address)
	u, err := url.Parse(address)
	switch {
	case err != nil:
		need.Forbidden = fmt.Sprintf("what is no URL is never fetched (%v)", err)
	case !public(u.Hostname()) && !slices.Contains(p.Network.Hosts, u.Hostname()):
		need.Forbidden = fmt.Sprintf("%s is not a public address, and the profile's network does not name it", u.Hostname())
	}
	return []permission.Request{need}
}

// public reports whether a host can be public, as far as its name tells. Names
// are resolved, and their addresses looked at, when they are dialled.
func public(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") {
		return false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return true
	}
	ip = ip.Unmap()
	return ip.IsGlobalUnicast() && !ip.IsPrivate()
}

// Decide decides every need of a call, for explaining: one decision for each,
// the overall one being the first denial.
func Decide(env *Env, tool, subject string) ([]permission.Decision, error) {
	needs, err := Needs(env, tool, subject)
	if err != nil {
		return nil, err
	}
	decisions := make([]permission.Decision, 0, len(needs))
	for _, n := range needs {
		decisions = append(decisions, env.Profile.Decide(n))
	}
	return decisions, nil
}
