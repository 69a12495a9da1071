// Package policy holds what an operator allows manifests, flags and the
// environment to ask for, whoever wrote them: the rules of policy files, and
// those of the built-in policy for manifests from people that one doesn't trust.
//
// It decides and nothing else. Package tasks reads policy files and asks about
// everything that a manifest names, so that a refusal has a file and a line.
package policy

import (
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/reach"
)

// Key is the key of a policy file that bounds one kind of thing.
type Key string

// The keys that list what is allowed. Endpoints, Verify and InPlace are
// those of the built-in policy alone.
const (
	Models       Key = "models"        // names of models, by wildcards
	Providers    Key = "providers"     // names of providers
	Hosts        Key = "hosts"         // as a profile's network has them
	Env          Key = "env"           // names of environment variables
	Paths        Key = "paths"         // directories, absolute and without symlinks
	Repos        Key = "repos"         // HOST/PATH or absolute paths of repositories, by wildcards
	Publish      Key = "publish"       // modes; none is always allowed
	Actors       Key = "actors"        // who may start runs
	Extensions   Key = "extensions"    // names of custom tools
	Setup        Key = "setup"         // setup commands
	Cache        Key = "cache"         // names of build caches
	SetupNetwork Key = "setup_network" // hosts that setup commands may reach, as in Hosts

	Budget Key = "budget" // running without a known price, or below it

	Endpoints Key = "endpoints" // definitions of providers and of the search
	Verify    Key = "verify"    // verify commands
	InPlace   Key = "in_place"  // work in the operator's own tree
)

// Rule is what one key allows.
type Rule struct {
	Key    Key
	Allow  []string
	Source string // FILE:LINE, or [Untrusted]
	Fix    string // what to do about a refusal, where that is special
}

// By names the rule for a refusal: its key and where it is.
func (r Rule) By() string { return string(r.Key) + " (" + r.Source + ")" }

// Cap is a bound on money. The zero value bounds nothing.
type Cap struct {
	USD    money.USD
	Source string
}

// Untrusted is what the built-in policy is called.
const Untrusted = "--untrusted"

// Policy is one policy file, or the built-in policy.
type Policy struct {
	Name       string // the file as it was given, or [Untrusted]
	Path       string // absolute; "" for the built-in policy
	SHA256     string // of the file, in hexadecimal; "" for the built-in policy
	Rules      []Rule
	MaxProfile *permission.Profile    // a ceiling of every profile; nil for none
	Protect    []permission.Rule      // denials of edits that no profile lifts
	Globs      []string               // the paths of Protect, for commits
	Sandbox    string                 // where it requires level A; "" if it doesn't
	Run, Day   Cap                    // what one run, and all runs of a day, may cost
	Prices     map[string]money.Price // of models, before any other
}

// Set is all policies that hold together: of several, the strictest does.
type Set []Policy

// Own returns the policies that bind what the operator says (the command line,
// the environment): all but the built-in one.
func (s Set) Own() Set {
	return slices.DeleteFunc(slices.Clone(s), func(p Policy) bool { return p.Name == Untrusted })
}

// IsUntrusted reports whether the built-in policy is in the set.
func (s Set) IsUntrusted() bool { return len(s.Own()) < len(s) }

// InRepository lets the built-in policy allow the paths below the top directory of
// the repository that holds a manifest; none if there is no repository.
func (s Set) InRepository(top string) Set {
	s = slices.Clone(s)
	for i, p := range s {
		if p.Name == Untrusted {
			r := Rule{Key: Paths, Source: Untrusted}
			if top != "" {
				r.Allow = []string{top}
			} else {
				r.Fix = "the manifest is in no git repository, so that no path is its own: put it into one, or run it without --untrusted if you trust its author"
			}
			s[i].Rules = append(slices.Clip(p.Rules), r)
		}
	}
	return s
}

// Refuses returns the first rule for a key that allows a thing by none of its
// names; ok is false if every policy allows it.
func (s Set) Refuses(key Key, names ...string) (by Rule, ok bool) {
	for _, p := range s {
		for _, r := range p.Rules {
			if r.Key == key && !r.allows(names) {
				return r, true
			}
		}
	}
	return Rule{}, false
}

// States reports whether any policy has a rule for a key.
func (s Set) States(key Key) bool {
	return slices.ContainsFunc(s, func(p Policy) bool {
		return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Key == key })
	})
}

func (r Rule) allows(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(r.Allow, func(allowed string) bool { return r.matches(allowed, name) })
	})
}

func (r Rule) matches(allowed, name string) bool {
	switch r.Key {
	case Models, Repos:
		return permission.Match(allowed, name)
	case Paths:
		below, err := filepath.Rel(allowed, name)
		return err == nil && filepath.IsLocal(below)
	case Hosts, SetupNetwork:
		return allowed == name || hostAllowed(allowed, name)
	case Actors: // logins of forges have no case
		return strings.EqualFold(allowed, name)
	default:
		return allowed == name || allowed == "*"
	}
}

// hostAllowed reports whether an entry of a list of hosts covers a host: on its
// port, or on every port if it has none. A wildcard is covered by the same or a
// wider one.
func hostAllowed(allowed, name string) bool {
	if allowed == "*" {
		return true
	}
	if end, wild := strings.CutPrefix(allowed, "*."); wild && strings.HasPrefix(name, "*.") {
		return strings.HasSuffix(name, "."+end)
	}
	hosts, err := reach.Parse([]string{allowed}, false)
	if err != nil {
		return false
	}
	host, port := splitPort(name)
	host, ok := reach.Canonical(host)
	return ok && hosts.Allowed(host, port, netip.Addr{}) == nil
}

// splitPort takes the port off a host; 0 stands for every port.
func splitPort(name string) (host string, port int) {
	host, text, err := net.SplitHostPort(name)
	if err != nil {
		return strings.Trim(name, "[]"), 0
	}
	port, err = strconv.Atoi(text)
	if err != nil {
		return name, 0
	}
	return host, port
}

// Under puts a profile below every ceiling of the set: the profiles that it
// names as the most, its hosts, and its denials of edits.
func (s Set) Under(p permission.Profile) permission.Profile {
	for _, policy := range s {
		if policy.MaxProfile != nil {
			p = p.Under(*policy.MaxProfile)
		}
		for _, r := range policy.Rules {
			if r.Key == Hosts && policy.Name != Untrusted && p.Reaches() {
				p = p.Within("policy "+r.Source, network(r.Allow))
			}
		}
		if len(policy.Protect) > 0 {
			p = p.Narrowed("policy "+policy.Name, policy.Protect)
		}
	}
	return p
}

// network is what a list of hosts allows; "*" stands for all public ones.
func network(hosts []string) permission.Network {
	return permission.Network{
		Allow: slices.Contains(hosts, "*"),
		Hosts: slices.DeleteFunc(slices.Clone(hosts), func(s string) bool { return s == "*" }),
	}
}

// ForSetup puts the profile of setup commands below what the set lets them
// reach; ok is false if that changes nothing.
func (s Set) ForSetup(p permission.Profile) (setup permission.Profile, ok bool) {
	for _, policy := range s {
		for _, r := range policy.Rules {
			if r.Key == SetupNetwork && p.Reaches() {
				p, ok = p.Within("policy "+r.Source, network(r.Allow)), true
			}
		}
	}
	return p, ok
}

// Protected returns the globs of paths that nothing may change.
func (s Set) Protected() []string {
	var globs []string
	for _, p := range s {
		globs = append(globs, p.Globs...)
	}
	return globs
}

// RunCap returns the smallest amount that the set lets one run cost: that of a
// day is one, too.
func (s Set) RunCap() Cap {
	var least Cap
	for _, p := range s {
		for _, c := range []Cap{p.Run, p.Day} {
			if c.USD > 0 && (least.USD == 0 || c.USD < least.USD) {
				least = c
			}
		}
	}
	return least
}

// Price returns what the first policy that knows a model says that it costs.
func (s Set) Price(model string) (money.Price, bool) {
	for _, p := range s {
		if price, ok := p.Prices[model]; ok {
			return price, true
		}
	}
	return money.Price{}, false
}

// RequiresSandbox returns where the set requires level A; "" if it doesn't.
func (s Set) RequiresSandbox() string {
	for _, p := range s {
		if p.Sandbox != "" {
			return p.Sandbox
		}
	}
	return ""
}
