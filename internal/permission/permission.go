package permission

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
)

// Effect is the effect of a rule or a decision: allow or deny.
type Effect int

// The effects. Deny is the zero value so that a missing decision denies.
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

// The permissions for locations and repetitions rather than tools. A rule for "*" does not
// match them; they must be named.
const (
	ExternalDirectory = "external_directory" // access to a path outside the workspace, which is the subject
	ExternalRead      = "external_read"      // read-only access of a command to such a path
	Git               = "git"                // writing git's own files; the subject is the path
	DoomLoop          = "doom_loop"          // repeating a call of a tool, the subject, with the same result
)

// Rule allows or denies requests that both its permission and its pattern
// match.
type Rule struct {
	Permission string
	Pattern    string
	Effect     Effect
	Source     string // where it is defined: FILE:LINE, or "preset NAME"
	Preset     bool   // of a built-in profile: it decides like any other, but grants nothing, see [Profile.Written]

	// Protects marks a deny rule of paths that may not change. Its pattern is a
	// glob with "**", which also matches what is in a directory that it matches.
	// It does not deny what is known only at run time, because all that a job
	// changes is decided again before it is committed: see [Profile.Bars].
	Protects bool
}

// String returns the rule as written in a manifest.
func (r Rule) String() string {
	return fmt.Sprintf("%s: {%q: %s}", r.Permission, r.Pattern, r.Effect)
}

// Request is one permission that a tool call needs. Subjects are alternative
// names of the same object: a file's path relative to the workspace and its
// absolute path, or a command as written and with quotes resolved. A rule
// matches the request if it matches any of them. The first is shown to people.
type Request struct {
	Permission string
	Subjects   []string
	// For describes what in the call needs the permission, if that is not obvious.
	For string
	// Instead describes what the caller may use instead if the request is denied.
	Instead string
	// Open is the subject with a NUL for each section known only at run time; ""
	// if all of it is known. A deny rule applies if it may match, an allow rule
	// only if it matches for any value of these sections.
	Open string
	// Unknown explains why the subject is known only at run time (a command in a
	// variable); "" if it is known. Such a request is allowed only if no rule
	// of the permission denies anything.
	Unknown string
	// Forbidden explains why no rule can allow the request; "" if one can.
	Forbidden string
	// Inner marks a request that another request of the call covers, such as a
	// command that a package manager runs. A specific deny rule denies it, but
	// neither a rule that denies everything nor the lack of a rule.
	Inner bool
}

// Need returns a Request.
func Need(permission string, subjects ...string) Request {
	return Request{Permission: permission, Subjects: subjects}
}

// Subject returns the name shown to people.
func (r Request) Subject() string {
	if len(r.Subjects) == 0 {
		return ""
	}
	return r.Subjects[0]
}

// Decision is the decision on one or several requests.
type Decision struct {
	Effect  Effect
	Request Request // the request; of several, the deciding one
	Rule    string  // the deciding rule
	NoRule  bool    // no rule decided, and Rule is an explanation
	Source  string  // where the rule is defined
	Why     string  // why the rule applies, if that is not obvious
	Nearest string  // of a denial: what is allowed instead
}

// Allowed reports whether the effect is Allow.
func (d Decision) Allowed() bool { return d.Effect == Allow }

// By returns the deciding rule, where it is defined, and why it applies if that
// is not obvious.
func (d Decision) By() string {
	text := fmt.Sprintf("%s (%s)", d.Rule, d.Source)
	if d.Why != "" {
		text += ": " + d.Why
	}
	return text
}

// About describes the request.
func (d Decision) About() string {
	text := fmt.Sprintf("%s %q", d.Request.Permission, d.Request.Subject())
	if d.Request.For != "" {
		text += " (" + d.Request.For + ")"
	}
	return text
}

// Because returns the request and what decided it.
func (d Decision) Because() string {
	if d.NoRule {
		return d.About() + ": " + d.By()
	}
	return d.About() + ", by rule " + d.By()
}

// Denial returns the message of a denial, for the model and the report: the
// reason, and what is allowed instead.
func (d Decision) Denial() string {
	text := "permission denied: " + d.Because()
	if d.Nearest != "" {
		text += "; allowed instead: " + d.Nearest
	}
	return text
}

// Error is the error of an operation that needed a denied permission while it
// ran, such as a redirect to a denied URL.
type Error struct{ Decision Decision }

// Error is written for the model.
func (e *Error) Error() string { return e.Decision.Denial() }

// Network lists the hosts that a profile's commands and web tools may reach. The
// zero value denies all.
type Network struct {
	Allow bool     // all public addresses
	Hosts []string // hosts and groups allowed in addition
}

// Limits is in the source of a denial by a maximum profile, before the name of the profile that it limits.
const Limits = ", which limits profile "

// Example is a decision that a profile's author expects; validate checks it.
type Example struct {
	Effect  Effect
	Tool    string
	Subject string
	Source  string
}

// AutoCache as the name of a cache means those of all package managers that the workspace
// uses.
const AutoCache = "auto"

// Profile is a named, ordered list of rules with the settings of its sandbox.
// The zero value denies everything.
type Profile struct {
	Name     string
	Rules    []Rule
	Network  Network  // limited by that of Max
	Cache    []string // names of build caches that the sandbox may use, or AutoCache alone
	Env      []string // environment variables passed to commands
	Examples []Example

	// Setup is the network of setup commands before there is output of a model; nil for
	// Network and the registries of the package managers that the workspace uses. See
	// [Profile.ForSetup].
	Setup *Network

	// Narrows is set for a maximum profile that has only rules: it does not limit the
	// network. See [Profile.Narrowed].
	Narrows bool

	// Max is the maximum profile, which must also allow a request; nil for
	// none. See [Profile.Under].
	Max *Profile
}

// Under returns the profile limited by a maximum profile: it allows what both
// allow, with the caches and variables that both name. Network is unchanged; a
// host may be reached if the Network of the profile and of each Max allow
// it.
func (p Profile) Under(limit Profile) Profile {
	both := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
	}
	p = p.Clone()
	if p.Max != nil { // earlier limits still apply
		limit = limit.Under(*p.Max)
	}
	p.Max = &limit
	p.Env = both(p.Env, limit.Env)
	switch {
	case slices.Contains(limit.Cache, AutoCache):
	case slices.Contains(p.Cache, AutoCache):
		p.Cache = slices.Clone(limit.Cache)
	default:
		p.Cache = both(p.Cache, limit.Cache)
	}
	return p
}

// Clone returns a deep copy.
func (p Profile) Clone() Profile {
	p.Rules = slices.Clone(p.Rules)
	p.Network.Hosts = slices.Clone(p.Network.Hosts)
	if p.Setup != nil {
		p.Setup = &Network{Allow: p.Setup.Allow, Hosts: slices.Clone(p.Setup.Hosts)}
	}
	p.Cache = slices.Clone(p.Cache)
	p.Env = slices.Clone(p.Env)
	p.Examples = slices.Clone(p.Examples)
	return p
}

// Decide returns the effect of the last matching rule, and deny if none
// matches. A denial by the maximum profile names its rule.
func (p Profile) Decide(req Request) Decision {
	d := p.decide(req)
	if p.Max != nil && d.Allowed() {
		if most := p.Max.Decide(req); !most.Allowed() {
			d = most
			d.Source += Limits + p.Name
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
		return Decision{Request: req, Rule: req.Forbidden, NoRule: true, Source: "built in"}
	case req.Unknown != "":
		return p.decideUnknown(req)
	}
	r := p.lastMatch(req)
	if req.Inner && r == nil {
		return Decision{Effect: Allow, Request: req, Rule: "no rule denies it, and the command that runs it is decided separately", NoRule: true, Source: "built in"}
	}
	if r != nil {
		d := Decision{Effect: r.Effect, Request: req, Rule: r.String(), Source: r.Source}
		if req.Open != "" && r.Effect == Deny && !r.Protects && !r.matches(req.Subjects) {
			d.Why = "a part of it is known only at run time and may match this rule"
		}
		return d
	}
	return Decision{Request: req, Rule: unallowed(req.Permission), NoRule: true, Source: "profile " + p.Name}
}

// unallowed returns the reason of a denial without a matching rule.
func unallowed(permission string) string {
	switch permission {
	case ExternalDirectory:
		return "path is outside the workspace and no external_directory rule allows it"
	case ExternalRead:
		return "path is outside the workspace and no external_directory or external_read rule allows it"
	case Git:
		return "writing git's own files requires \"git: write\" in the profile"
	}
	return "no rule allows it"
}

// Allows reports whether Decide would allow a request. It is cheap enough to
// call for every file of a tree.
func (p Profile) Allows(permission string, subjects ...string) bool {
	r := p.lastMatch(Request{Permission: permission, Subjects: subjects})
	return r != nil && r.Effect == Allow && (p.Max == nil || p.Max.Allows(permission, subjects...))
}

// Written reports whether rules that somebody wrote, and no preset's, allow a request: the profile's
// and those of its maximum profiles. A preset's rule for a directory is about what
// commands may name; only a written one can give more than every user of the machine has.
func (p Profile) Written(req Request) bool {
	for limit := range p.limits() {
		if r := limit.lastMatch(req); r == nil || r.Effect != Allow || r.Preset {
			return false
		}
	}
	return true
}

// lastMatch returns the last rule that matches a request, nil if none does. For
// an inner one, rules that deny everything don't count.
func (p Profile) lastMatch(req Request) *Rule {
	other := spellings(req)
	for i := range slices.Backward(p.Rules) {
		r := &p.Rules[i]
		if r.covers(req.Permission) && (r.applies(req) || r.bars(other)) && !(req.Inner && r.Effect == Deny && r.matchesAll()) {
			return r
		}
	}
	return nil
}

// spellings returns the folded names of a file to edit; none for another request.
func spellings(req Request) []string {
	if req.Permission != "edit" {
		return nil
	}
	folded := make([]string, len(req.Subjects))
	for i, s := range req.Subjects {
		folded[i] = fold(s)
	}
	return folded
}

// bars reports whether a deny rule matches one of the folded names of a file.
func (r *Rule) bars(folded []string) bool {
	if r.Effect != Deny || len(folded) == 0 {
		return false
	}
	f := foldRule(r)
	return f.matches(folded)
}

// Bars returns the rule that denies changing a file, given by its names, which
// holds for whatever changed it: a tool, a command, a setup command. Unlike for
// a tool, no rule at all allows it, and "*": deny is not an edit rule.
func (p Profile) Bars(names ...string) (d Decision, barred bool) {
	req := Need("edit", names...)
	other := spellings(req)
	for limit := range p.limits() {
		for _, r := range slices.Backward(limit.Rules) {
			if !r.covers("edit") || r.deniesAll() || !r.applies(req) && !r.bars(other) {
				continue
			}
			if r.Effect == Allow {
				break
			}
			d = Decision{Request: req, Rule: r.String(), Source: r.Source}
			if limit.Name != p.Name {
				d.Source += ", which limits profile " + p.Name
			}
			return d, true
		}
	}
	return Decision{}, false
}

// limits returns the profile and all that limit it.
func (p Profile) limits() iter.Seq[*Profile] {
	return func(yield func(*Profile) bool) {
		for next := &p; next != nil && yield(next); next = next.Max {
		}
	}
}

// BarsAny reports whether Bars is true for any file.
func (p Profile) BarsAny() bool {
	for limit := range p.limits() {
		if slices.ContainsFunc(limit.Rules, func(r Rule) bool { return r.Effect == Deny && r.covers("edit") && !r.deniesAll() }) {
			return true
		}
	}
	return false
}

// MayEdit reports whether a tool may be allowed to change one of the files that have a name
// of the same form: a NUL stands for any text. A file is given by its names.
func (p Profile) MayEdit(names ...string) bool {
	for limit := range p.limits() {
		if !limit.mayEdit(names) {
			return false
		}
	}
	return true
}

func (p Profile) mayEdit(names []string) bool {
	examples := make([]string, len(names))
	for i, name := range names {
		examples[i] = fold(strings.ReplaceAll(name, "\x00", "x"))
	}
	for _, r := range slices.Backward(p.Rules) {
		matches := func(match func(pattern, open string) bool) bool {
			return slices.ContainsFunc(names, func(name string) bool { return match(r.Pattern, name) })
		}
		switch {
		case !r.covers("edit"):
		case r.Effect == Allow && matches(mayMatch):
			return true
		case r.Effect == Deny && (matches(mustMatch) || r.Protects && r.bars(examples)):
			return false
		}
	}
	return false
}

// MayCall reports whether a call of one of the tools that have a name of the same form may be
// allowed: a NUL stands for any text.
func (p Profile) MayCall(tool string) bool {
	for limit := range p.limits() {
		if !limit.mayCall(tool) {
			return false
		}
	}
	return true
}

func (p Profile) mayCall(tool string) bool {
	for _, r := range slices.Backward(p.Rules) {
		switch {
		case r.Effect == Allow && mayMatch(r.Permission, tool):
			return true
		case r.Effect == Deny && r.matchesAll() && mustMatch(r.Permission, tool):
			return false
		}
	}
	return false
}

// Named returns the paths, or the starts of paths, that deny rules for "edit"
// name without a wildcard.
func (p Profile) Named() []string {
	var names []string
	for limit := range p.limits() {
		for _, r := range limit.Rules {
			if r.Effect != Deny || !r.covers("edit") {
				continue
			}
			name := r.Pattern
			if i := strings.IndexAny(name, `*?[{\`); i >= 0 {
				name = name[:strings.LastIndexByte(name[:i], '/')+1]
			}
			if name = strings.Trim(name, "/"); name != "" && r.Pattern[0] != '/' {
				names = append(names, name)
			}
		}
	}
	return names
}

// Returned returns the profile that also allows changing some files, and the
// directories that they are in, so that an agent can undo what Bars denies; and removing the git
// directories of nested repositories.
func (p Profile) Returned(files, nested []string) Profile {
	var rules []Rule
	for _, dir := range nested {
		if !strings.ContainsAny(dir, "*?") {
			rules = append(rules, Rule{Permission: Git, Pattern: dir + "/.git", Effect: Allow, Source: "to be undone"})
		}
	}
	for _, f := range files {
		for ; f != "." && f != "/" && !strings.ContainsAny(f, "*?"); f = path.Dir(f) {
			for _, pattern := range []string{f, f + "/"} {
				rules = append(rules, Rule{Permission: "edit", Pattern: pattern, Effect: Allow, Source: "to be undone"})
			}
		}
	}
	p = p.Clone()
	for limit := &p; limit != nil; limit = limit.Max {
		limit.Rules = slices.Concat(limit.Rules, rules)
		if limit.Max != nil {
			limit.Max = new(*limit.Max)
		}
	}
	return p
}

// deniesAll reports whether the rule denies everything to every tool.
func (r *Rule) deniesAll() bool { return r.Effect == Deny && r.Permission == "*" && r.matchesAll() }

// applies reports whether the rule's pattern matches a request.
func (r *Rule) applies(req Request) bool {
	switch {
	case r.Protects:
		return false // see bars
	case req.Open == "":
		return r.matches(req.Subjects)
	case r.Effect == Deny:
		return r.matches(req.Subjects) || mayMatch(r.Pattern, req.Open)
	}
	// A pattern may contain a variable as written in the command line.
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

// decideUnknown decides a request with an unknown subject, which is assumed to
// be what the first deny rule denies.
func (p Profile) decideUnknown(req Request) Decision {
	all := Decision{Request: req, Rule: "no rule allows everything", NoRule: true, Source: "profile " + p.Name, Why: req.Unknown}
	for _, r := range p.Rules {
		switch {
		case !r.covers(req.Permission), r.Protects:
		case r.Effect == Deny:
			return Decision{Request: req, Rule: r.String(), Source: r.Source, Why: req.Unknown + ", so it may match this rule"}
		case r.Pattern == "*":
			all = Decision{Effect: Allow, Request: req, Rule: r.String(), Source: r.Source}
		}
	}
	return all
}

// DecideAll returns the first denial, or else the last decision. An empty list
// is allowed: the call needs no permission.
func (p Profile) DecideAll(reqs []Request) Decision {
	d := Decision{Effect: Allow, Rule: "nothing to decide", NoRule: true, Source: "built in"}
	for _, req := range reqs {
		if d = p.Decide(req); !d.Allowed() {
			return d
		}
	}
	return d
}

// Hides reports whether a tool with this permission can never be called, so
// that it need not be offered: the last rule for it denies "*", or it has no
// rule.
func (p Profile) Hides(permission string) bool {
	if p.Max != nil && p.Max.Hides(permission) {
		return true
	}
	for _, r := range slices.Backward(p.Rules) {
		if r.covers(permission) {
			return r.Effect == Deny && r.Pattern == "*" && !r.Protects
		}
	}
	return true
}

// matchesAll reports whether the rule's pattern matches any subject.
func (r Rule) matchesAll() bool { return r.Pattern != "" && strings.Trim(r.Pattern, "*") == "" }

// covers reports whether the rule is for a permission.
func (r Rule) covers(permission string) bool {
	switch permission {
	case ExternalRead:
		return r.Permission == ExternalRead || r.Permission == ExternalDirectory
	case ExternalDirectory, Git, DoomLoop:
		return r.Permission == permission
	}
	return Match(r.Permission, permission)
}
