// Package policy implements the limits that an operator sets for manifests,
// flags and the environment: the rules of policy files, and of the built-in
// policy for untrusted manifests.
//
// It only decides, and reads no files. Package manifest reads policies and checks everything that a manifest
// names, so that a refusal has a file and a line.
package policy

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/reach"
)

// System is the policy of a machine: it is always read if it exists.
const System = "/etc/millhand/policy.yaml"

// Key is a key of a policy file, which limits one kind of setting.
type Key string

// The keys that list what is allowed. Endpoints, Verify, InPlace and
// OutputFile exist only in the built-in policy.
const (
	Models       Key = "models"        // names of models, with wildcards
	Providers    Key = "providers"     // names of providers
	Hosts        Key = "hosts"         // in the format of a profile's network
	Env          Key = "env"           // names of environment variables
	Paths        Key = "paths"         // directories, absolute and without symlinks
	Repos        Key = "repos"         // HOST/PATH or absolute paths of repositories, with wildcards
	Publish      Key = "publish"       // modes; "none" is always allowed
	Context      Key = "context"       // what prompts have of the issue or pull request of an event
	Actors       Key = "actors"        // who may start runs
	Extensions   Key = "extensions"    // names of custom tools
	Setup        Key = "setup"         // setup commands
	Cache        Key = "cache"         // names of build caches
	SetupNetwork Key = "setup_network" // hosts that setup commands may reach, in the format of Hosts

	Sign Key = "sign" // formats of signatures of commits; see RefusesSign

	KeySources Key = "key_sources" // programs and files with keys of providers; see RefusesUnlisted

	Budget Key = "budget" // running without a known price, or with a lower one

	Endpoints Key = "endpoints" // definitions of providers and of the search
	Verify    Key = "verify"    // verify commands
	InPlace   Key = "in_place"  // work in the operator's own working tree

	OutputFile Key = "output_file" // a model's message is written to a file of the operator's
)

// Comment is what Publish allows beside modes: comments of agents on a forge.
const Comment = "comment"

// Rule is what one key allows.
type Rule struct {
	Key    Key
	Allow  []string
	Source string // FILE:LINE, or [Untrusted]
	Fix    string // how to fix a refusal, if specific
}

// By returns the rule's key and position, for a refusal.
func (r Rule) By() string { return string(r.Key) + " (" + r.Source + ")" }

// Cap is a maximum cost. The zero value means no limit.
type Cap struct {
	USD    money.USD
	Source string
}

// Untrusted is the name of the built-in policy.
const Untrusted = "--untrusted"

// Policy is one policy file, or the built-in policy.
type Policy struct {
	Name       string // the file as specified, or [Untrusted]
	Path       string // absolute; "" for the built-in policy
	SHA256     string // hash of the file, in hexadecimal; "" for the built-in policy
	Rules      []Rule
	MaxProfile *permission.Profile    // maximum profile; nil for none
	Protect    []permission.Rule      // denials of edits that no profile overrides
	Sandbox    string                 // position of the rule that requires level A; "" for none
	Run, Day   Cap                    // maximum cost of one run, and of all runs of a day
	Prices     map[string]money.Price // of models, overriding all others
	Requests   *Requests              // nil for no limit

	AfterUntrusted *AfterUntrusted // nil for no right that is lost
}

// Set is the list of all policies in effect; the strictest decides.
type Set []Policy

// Own returns the policies that apply to the operator's own settings (command
// line, environment): all except the built-in one.
func (s Set) Own() Set {
	return slices.DeleteFunc(slices.Clone(s), func(p Policy) bool { return p.Name == Untrusted })
}

// IsUntrusted reports whether the built-in policy is in the set.
func (s Set) IsUntrusted() bool { return len(s.Own()) < len(s) }

// InRepository makes the built-in policy allow the paths in the repository that
// contains a manifest; without a repository, none.
func (s Set) InRepository(top string) Set {
	s = slices.Clone(s)
	for i, p := range s {
		if p.Name == Untrusted {
			r := Rule{Key: Paths, Source: Untrusted}
			if top != "" {
				r.Allow = []string{top}
			} else {
				r.Fix = "the manifest is not in a git repository, so it may not use any path: put it in one, or run without --untrusted if you trust its author"
			}
			s[i].Rules = append(slices.Clip(p.Rules), r)
		}
	}
	return s
}

// Refuses returns the first rule for a key that allows none of an object's
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

// RefusesUnlisted is like Refuses, but a policy without a rule for the key allows nothing.
func (s Set) RefusesUnlisted(key Key, names ...string) (by Rule, ok bool) {
	for _, p := range s {
		if _, stated := p.rule(key); !stated {
			r := Rule{Key: key, Source: p.Name}
			if p.Name != Untrusted {
				r.Fix = "list it under " + string(key) + " in the policy, or remove it"
			}
			return r, true
		}
	}
	return s.Refuses(key, names...)
}

// RefusesSign is like Refuses for the format of a commit's signature, but what policy files
// list, untrusted manifests may use too.
func (s Set) RefusesSign(format string) (by Rule, ok bool) {
	if own := s.Own(); own.States(Sign) {
		return own.Refuses(Sign, format)
	}
	return s.Refuses(Sign, format)
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
		return pathtree.Within(name, allowed)
	case Hosts, SetupNetwork:
		return allowed == name || hostAllowed(allowed, name)
	case Actors: // forge logins are case-insensitive
		return strings.EqualFold(allowed, name)
	default:
		return allowed == name || allowed == "*"
	}
}

// hostAllowed reports whether an entry of a host list covers a host: on its
// port, or on all ports if it has none. A wildcard is covered by the same or a
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

// splitPort splits a host and its port; 0 means all ports.
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

// Under limits a profile by the set: its maximum profiles, its hosts, those of setup
// commands, its caches, and its denials of edits.
func (s Set) Under(p permission.Profile) permission.Profile {
	for _, policy := range s {
		if policy.MaxProfile != nil {
			p = p.Under(*policy.MaxProfile)
		}
		for _, r := range policy.Rules {
			switch {
			case r.Key == Hosts && policy.Name != Untrusted:
				p = p.Within("policy "+r.Source, network(r.Allow))
				if setup, ok := policy.rule(SetupNetwork); ok { // which the operator permits setup commands explicitly
					p.Max.Setup = new(network(setup.Allow))
				}
			case r.Key == Cache:
				p.Cache = slices.DeleteFunc(slices.Clone(p.Cache), func(name string) bool { return !r.allows([]string{name}) })
			case r.Key == SetupNetwork:
				p = p.WithinSetup("policy "+r.Source, network(r.Allow))
			}
		}
		if len(policy.Protect) > 0 {
			p = p.Narrowed("policy "+policy.Name, policy.Protect)
		}
	}
	return p
}

// rule returns the policy's rule for a key.
func (p Policy) rule(key Key) (Rule, bool) {
	at := slices.IndexFunc(p.Rules, func(r Rule) bool { return r.Key == key })
	if at < 0 {
		return Rule{}, false
	}
	return p.Rules[at], true
}

// network returns what a list of hosts allows; "*" means all public hosts.
func network(hosts []string) permission.Network {
	return permission.Network{
		Allow: slices.Contains(hosts, "*"),
		Hosts: slices.DeleteFunc(slices.Clone(hosts), func(s string) bool { return s == "*" }),
	}
}

// Protected returns the denials of edits of all policies.
func (s Set) Protected() []permission.Rule {
	var rules []permission.Rule
	for _, p := range s {
		rules = append(rules, p.Protect...)
	}
	return rules
}

// RunCap returns the lowest maximum cost of one run, including the caps per
// day.
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

// Price returns the price of a model from the first policy that lists it.
func (s Set) Price(model string) (money.Price, bool) {
	for _, p := range s {
		if price, ok := p.Prices[model]; ok {
			return price, true
		}
	}
	return money.Price{}, false
}

// RequiresSandbox returns the position of the rule that requires level A; ""
// for none.
func (s Set) RequiresSandbox() string {
	for _, p := range s {
		if p.Sandbox != "" {
			return p.Sandbox
		}
	}
	return ""
}
