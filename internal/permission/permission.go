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
	ExternalDirectory = "external_directory" // using a directory outside the workspace; subject the path there
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
	// For says what in the call needs it, where that isn't plain.
	For string
	// Open is the subject with a NUL in place of each part that is only known when
	// it happens; "" if all is known. A rule that denies decides if it may match,
	// one that allows only if it matches whatever stands there.
	Open string
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
	Rule    string  // the rule that decided
	Words   bool    // none did, and Rule says what decided in words
	Source  string  // where that rule stands
	Why     string  // how it came to decide, where that isn't plain
	Nearest string  // of a denial: what is allowed instead, in words
}

// Allowed reports whether the effect is Allow.
func (d Decision) Allowed() bool { return d.Effect == Allow }

// By says what decided, where that stands, and why it did if that isn't plain.
func (d Decision) By() string {
	text := fmt.Sprintf("%s (%s)", d.Rule, d.Source)
	if d.Why != "" {
		text += ": " + d.Why
	}
	return text
}

// About says what was decided on.
func (d Decision) About() string {
	text := fmt.Sprintf("%s %q", d.Request.Permission, d.Request.Subject())
	if d.Request.For != "" {
		text += " (" + d.Request.For + ")"
	}
	return text
}

// Because says of what was decided on a verdict, and what decided.
func (d Decision) Because(verdict string) string {
	link := ", by "
	if d.Words {
		link = ": "
	}
	return strings.TrimSpace(d.About()+" "+verdict) + link + d.By()
}

// Denial says for the model and the report why a request was denied, and what
// would not be.
func (d Decision) Denial() string {
	text := "denied: " + d.Because("is not permitted")
	if d.Nearest != "" {
		text += "; allowed instead: " + d.Nearest
	}
	return text
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
	if p.Ceiling != nil && d.Allowed() {
		if most := p.Ceiling.Decide(req); !most.Allowed() {
			d = most
			d.Source += ", which goes before profile " + p.Name
		}
	}
	if !d.Allowed() {
		d.Nearest = p.nearest(req)
	}
	return d
}

func (p Profile) decide(req Request) Decision {
	switch {
	case req.Forbidden != "":
		return Decision{Request: req, Rule: req.Forbidden, Words: true, Source: "built in"}
	case req.Unknown != "":
		return p.decideUnknown(req)
	}
	r := p.lastOf(req)
	if req.Inner && r == nil {
		return Decision{Effect: Allow, Request: req, Rule: "no rule denies it by name, and what runs it is decided for itself", Words: true, Source: "built in"}
	}
	if r != nil {
		d := Decision{Effect: r.Effect, Request: req, Rule: r.String(), Source: r.Source}
		if req.Open != "" && r.Effect == Deny && !r.matches(req.Subjects) {
			d.Why = "a part of it is only known when it runs, with which the rule may match"
		}
		return d
	}
	return Decision{Request: req, Rule: unallowed(req.Permission), Words: true, Source: "profile " + p.Name}
}

// unallowed says that no rule allows something.
func unallowed(permission string) string {
	switch permission {
	case ExternalDirectory:
		return "outside of the workspace, where no rule for external_directory allows it"
	case ExternalRead:
		return "outside of the workspace, where no rule for external_directory or external_read allows it"
	case Git:
		return "git's own files are written only if the profile says \"git: write\""
	}
	return "no rule allows it"
}

// Allows reports whether Decide would allow a request, without saying why: for
// asking about every file of a tree.
func (p Profile) Allows(permission string, subjects ...string) bool {
	r := p.lastOf(Request{Permission: permission, Subjects: subjects})
	return r != nil && r.Effect == Allow && (p.Ceiling == nil || p.Ceiling.Allows(permission, subjects...))
}

// lastOf returns the last rule that speaks of a request, nil if none does. Of an
// inner one those that deny everything don't.
func (p Profile) lastOf(req Request) *Rule {
	for i := range slices.Backward(p.Rules) {
		r := &p.Rules[i]
		if r.covers(req.Permission) && r.speaksOf(req) && !(req.Inner && r.Effect == Deny && r.everything()) {
			return r
		}
	}
	return nil
}

// speaksOf reports whether the rule's pattern matches a request.
func (r *Rule) speaksOf(req Request) bool {
	switch {
	case req.Open == "":
		return r.matches(req.Subjects)
	case r.Effect == Deny:
		return r.matches(req.Subjects) || mayMatch(r.Pattern, req.Open)
	}
	// A pattern may name a variable as the line has it.
	return mustMatch(r.Pattern, req.Open) || strings.ContainsAny(r.Pattern, "$`") && r.matches(req.Subjects)
}

func (r *Rule) matches(subjects []string) bool {
	for _, s := range subjects {
		if Match(r.Pattern, s) {
			return true
		}
	}
	return false
}

// decideUnknown judges what can't be known: the most suspicious reading of it
// is what the first rule denies.
func (p Profile) decideUnknown(req Request) Decision {
	all := Decision{Request: req, Rule: "no rule allows everything", Words: true, Source: "profile " + p.Name, Why: req.Unknown}
	for _, r := range p.Rules {
		switch {
		case !r.covers(req.Permission):
		case r.Effect == Deny:
			return Decision{Request: req, Rule: r.String(), Source: r.Source, Why: req.Unknown + ", and where a rule denies anything all has to be known"}
		case r.Pattern == "*":
			all = Decision{Effect: Allow, Request: req, Rule: r.String(), Source: r.Source}
		}
	}
	return all
}

// DecideAll returns the first denial, or else the last decision. No request at
// all is allowed: the call needs nothing.
func (p Profile) DecideAll(reqs []Request) Decision {
	d := Decision{Effect: Allow, Rule: "nothing to decide", Words: true, Source: "built in"}
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
