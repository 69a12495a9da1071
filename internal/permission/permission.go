package permission

import (
	"fmt"
	"slices"
	"strings"
)

// Effect is what a rule or a decision says.
type Effect int

// The effects. Deny is the zero value on purpose.
const (
	Deny Effect = iota
	Allow
)

// String returns "allow" or "deny".
func (e Effect) String() string {
	if e == Allow {
		return "allow"
	}
	return "deny"
}

// The permissions that are about places rather than tools. A rule for "*" does
// not match them: each has to be named.
const (
	ExternalDirectory = "external_directory" // using a folder outside the workspace; subject the path there
	ExternalRead      = "external_read"      // the same for a command that only reads there
	Git               = "git"                // writing git's own files; subject the path
)

// Rule allows or denies what both its permission and its pattern match.
type Rule struct {
	Permission string
	Pattern    string
	Effect     Effect
	Source     string // where it stands: file:line, or "preset NAME"
}

// String returns the rule as a manifest has it.
func (r Rule) String() string {
	return fmt.Sprintf("%s: {%q: %s}", r.Permission, r.Pattern, r.Effect)
}

// Request is one thing that a tool call needs. Subjects are names of the same
// thing (a file's path relative to the workspace and its absolute path; a
// command as written and with its quotes resolved): a rule matches the request
// if it matches any of them. The first is the one shown to people.
type Request struct {
	Permission string
	Subjects   []string
	// Unknown says why the request can't be told apart from others of its
	// permission before it happens (a command in a variable), "" if it can.
	// Such a request is allowed only where no rule of the permission denies
	// anything.
	Unknown string
	// Forbidden says why no rule can allow the request, "" if one can.
	Forbidden string
	// Inner says that another request of the call speaks for this one: a command
	// that a package manager runs. It is denied by a rule that means it, and not
	// by one that denies everything, nor for want of a rule.
	Inner bool
}

// Need makes a request.
func Need(permission string, subjects ...string) Request {
	return Request{Permission: permission, Subjects: subjects}
}

// Subject returns the name that people are shown.
func (r Request) Subject() string {
	if len(r.Subjects) == 0 {
		return ""
	}
	return r.Subjects[0]
}

// Decision is the answer to a request, or to several.
type Decision struct {
	Effect  Effect
	Request Request // what was decided; of several, the one that decided
	Rule    string  // the rule that decided, in words if none did
	Source  string  // where that rule stands
}

// Allowed reports whether the effect is Allow.
func (d Decision) Allowed() bool { return d.Effect == Allow }

// Denial says for the model and the report why a request was denied.
func (d Decision) Denial() string {
	return fmt.Sprintf("denied: %s %q is not permitted; decided by %s (%s)",
		d.Request.Permission, d.Request.Subject(), d.Rule, d.Source)
}

// Error is the error of what met something on its way that is not permitted, as
// the target of a redirect, and stopped there.
type Error struct{ Decision Decision }

// Error tells the model.
func (e *Error) Error() string { return e.Decision.Denial() }

// Network says which addresses a profile's children and web tools may reach.
// The zero value denies all.
type Network struct {
	Allow bool     // every public address
	Hosts []string // these hosts and groups, whatever Allow says
}

// Example is a decision that a profile's author expects, checked by validate.
type Example struct {
	Effect  Effect
	Tool    string
	Subject string
	Source  string
}

// Profile is a named, ordered list of rules and what its sandbox allows. The
// zero value denies everything.
type Profile struct {
	Name     string
	Rules    []Rule
	Network  Network  // which its Ceiling's may narrow
	Cache    []string // build caches, by name, that the sandbox may use
	Env      []string // variables passed to children
	Examples []Example

	// Ceiling is a profile that must allow a request, too; nil for none. See
	// [Profile.Under].
	Ceiling *Profile
}

// Under returns the profile below a ceiling: what both allow, and what both name
// of caches and variables. Network stays what the profile itself says: a host may
// be reached if the Network of the profile and that of each Ceiling allow it.
func (p Profile) Under(ceiling Profile) Profile {
	both := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
	}
	p = p.Clone()
	if p.Ceiling != nil { // what held before holds still
		ceiling = ceiling.Under(*p.Ceiling)
	}
	p.Ceiling = &ceiling
	p.Cache, p.Env = both(p.Cache, ceiling.Cache), both(p.Env, ceiling.Env)
	return p
}

// Clone returns a copy that shares nothing with p.
func (p Profile) Clone() Profile {
	p.Rules = slices.Clone(p.Rules)
	p.Network.Hosts = slices.Clone(p.Network.Hosts)
	p.Cache = slices.Clone(p.Cache)
	p.Env = slices.Clone(p.Env)
	p.Examples = slices.Clone(p.Examples)
	return p
}

// Decide returns what the last rule that matches says, and deny if none does.
// What the ceiling denies is denied by its rule.
func (p Profile) Decide(req Request) Decision {
	d := p.decide(req)
	if p.Ceiling == nil || !d.Allowed() {
		return d
	}
	if most := p.Ceiling.Decide(req); !most.Allowed() {
		most.Source += ", the profile that no other may exceed"
		return most
	}
	return d
}

func (p Profile) decide(req Request) Decision {
	switch {
	case req.Forbidden != "":
		return Decision{Request: req, Rule: req.Forbidden, Source: "built in"}
	case req.Unknown != "":
		return p.decideUnknown(req)
	}
	r := p.last(req.Permission, req.Subjects, req.Inner)
	if req.Inner && r == nil {
		return Decision{Effect: Allow, Request: req, Rule: "what runs it is decided by itself", Source: "built in"}
	}
	if r != nil {
		return Decision{Effect: r.Effect, Request: req, Rule: r.String(), Source: r.Source}
	}
	return Decision{Request: req, Rule: "no rule, and what no rule allows is denied", Source: "profile " + p.Name}
}

// Allows reports whether Decide would allow a request, without saying why: for
// asking about every file of a tree.
func (p Profile) Allows(permission string, subjects ...string) bool {
	r := p.last(permission, subjects, false)
	return r != nil && r.Effect == Allow && (p.Ceiling == nil || p.Ceiling.Allows(permission, subjects...))
}

// last returns the last rule that matches any of the subjects, nil if none does;
// of inner requests without those that deny everything.
func (p Profile) last(permission string, subjects []string, inner bool) *Rule {
	for i, r := range slices.Backward(p.Rules) {
		if !r.covers(permission) || inner && r.Effect == Deny && r.everything() {
			continue
		}
		for _, s := range subjects {
			if Match(r.Pattern, s) {
				return &p.Rules[i]
			}
		}
	}
	return nil
}

// decideUnknown judges what can't be known: the most suspicious reading of it
// is what the first rule denies.
func (p Profile) decideUnknown(req Request) Decision {
	all := Decision{Request: req, Rule: "no rule that allows everything, and " + req.Unknown, Source: "profile " + p.Name}
	for _, r := range p.Rules {
		switch {
		case !r.covers(req.Permission):
		case r.Effect == Deny:
			return Decision{Request: req, Rule: fmt.Sprintf("%s, and %s", r, req.Unknown), Source: r.Source}
		case r.Pattern == "*":
			all = Decision{Effect: Allow, Request: req, Rule: r.String(), Source: r.Source}
		}
	}
	return all
}

// DecideAll returns the first denial, or else the last decision. No request at
// all is allowed: the call needs nothing.
func (p Profile) DecideAll(reqs []Request) Decision {
	d := Decision{Effect: Allow, Rule: "nothing to decide", Source: "built in"}
	for _, req := range reqs {
		if d = p.Decide(req); !d.Allowed() {
			return d
		}
	}
	return d
}

// Hides reports whether a tool with this permission can never be called, so
// that it need not be offered: its last rule is a plain deny of "*", or it has
// no rule at all.
func (p Profile) Hides(permission string) bool {
	if p.Ceiling != nil && p.Ceiling.Hides(permission) {
		return true
	}
	for _, r := range slices.Backward(p.Rules) {
		if r.covers(permission) {
			return r.Effect == Deny && r.Pattern == "*"
		}
	}
	return true
}

// everything reports whether the rule's pattern matches any subject.
func (r Rule) everything() bool { return r.Pattern != "" && strings.Trim(r.Pattern, "*") == "" }

// covers reports whether the rule speaks about a permission.
func (r Rule) covers(permission string) bool {
	switch permission {
	case ExternalRead:
		return r.Permission == ExternalRead || r.Permission == ExternalDirectory
	case ExternalDirectory, Git:
		return r.Permission == permission
	}
	return Match(r.Permission, permission)
}
