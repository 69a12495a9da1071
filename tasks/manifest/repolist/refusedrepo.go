package repolist

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Refused returns which rule refuses a repository, and what that is; "" if none
// does.
func (r Repo) Refused(policies policy.Set) (by policy.Rule, what string) {
	if r.Kind == tasks.RepoURL {
		return r.refusedURL(policies)
	}
	real, err := userfile.RealPath(r.Dir)
	if err != nil {
		real = r.Dir
	}
	for _, check := range []func() (policy.Rule, bool){
		func() (policy.Rule, bool) { return form.RefusesPath(policies, r.Dir) },
		func() (policy.Rule, bool) { return shifted(policies, real) },
	} {
		if by, refused := check(); refused {
			return by, "the path " + problem.Quote(r.Written)
		}
	}
	if by, refused := policies.Refuses(policy.Repos, filepath.ToSlash(real)); refused {
		return by, "the repository " + problem.Quote(r.Written)
	}
	if hidden := strings.Contains(r.Ref, "stash") || strings.Contains(r.Ref, "@{"); hidden && policies.IsUntrusted() {
		return policy.Rule{Key: policy.Paths, Source: policy.Untrusted}, "the ref " + problem.Quote(r.Ref)
	}
	return policy.Rule{}, ""
}

// shifted reports whether a directory of a repository would be read under other paths
// than those that the maximum profile of the built-in policy denies.
func shifted(policies policy.Set, dir string) (policy.Rule, bool) {
	for _, p := range policies {
		for _, r := range p.Rules {
			if p.Name != policy.Untrusted || r.Key != policy.Paths || slices.Contains(r.Allow, dir) {
				continue
			}
			for _, rule := range p.MaxProfile.Rules {
				if rule.Effect == permission.Deny && strings.Contains(rule.Pattern, "/") {
					return r, true
				}
			}
		}
	}
	return policy.Rule{}, false
}

// refusedURL is refused for a repository on a server, or on this machine by a URL:
// there, git would follow the repository's own configuration, so that the built-in
// policy allows none.
func (r Repo) refusedURL(policies policy.Set) (by policy.Rule, what string) {
	scheme, rest, _ := strings.Cut(strings.TrimPrefix(r.ID, "url:"), "://")
	authority, path, _ := strings.Cut(rest, "/")
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	written := "the repository " + problem.Quote(r.Written)
	if scheme == "file" {
		u, err := url.Parse(r.URL)
		if err != nil || policies.IsUntrusted() {
			return policy.Rule{Key: policy.Hosts, Source: policy.Untrusted}, written
		}
		if by, refused := form.RefusesPath(policies, filepath.FromSlash(u.Path)); refused {
			return by, "the path " + problem.Quote(u.Path)
		}
	} else if by, refused := policies.Refuses(policy.Hosts, reach.WithPort(scheme, host)); refused {
		return by, "the host " + problem.Quote(host)
	}
	by, refused := policies.Refuses(policy.Repos, host+"/"+path, scheme+"://"+host+"/"+path)
	if !refused && strings.Contains(path, "%") { // what the server makes of it is its own affair
		by, refused = policies.Refuses(policy.Repos)
	}
	if refused {
		return by, written
	}
	return policy.Rule{}, ""
}

// refusedRepo reports whether a policy refuses a repository, and records it.
func refusedRepo(v form.Value, r Repo) bool {
	by, what := r.Refused(v.Src.Policies)
	if what != "" {
		v.Refuse(what, by)
	}
	return what != ""
}
