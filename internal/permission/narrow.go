package permission

import (
	"slices"
	"strings"
)

// Narrowed returns the profile with additional rules that can only deny: what
// they deny is denied, and what they allow or don't match is unchanged. Hosts,
// caches and variables are unchanged.
func (p Profile) Narrowed(name string, rules []Rule) Profile {
	all := Profile{Name: name, Network: p.Network, Cache: p.Cache, Env: p.Env, Narrows: true}
	for _, permission := range []string{"*", ExternalDirectory, ExternalRead, Git, DoomLoop} {
		all.Rules = append(all.Rules, Rule{Permission: permission, Pattern: "*", Effect: Allow, Source: name})
	}
	all.Rules = append(all.Rules, rules...)
	return p.Under(all.Clone())
}

// Within returns the profile limited by a network: it may reach what both its
// own network and this one allow, and so may setup commands. Rules, caches and
// variables are unchanged. Denials name the source name.
func (p Profile) Within(name string, n Network) Profile {
	p = p.Narrowed(name, nil)
	p.Max.Network, p.Max.Setup, p.Max.Narrows = n, &n, false
	return p
}

// WithinSetup returns the profile with setup commands that are limited by a network.
// Everything else is unchanged.
func (p Profile) WithinSetup(name string, n Network) Profile {
	p = p.Narrowed(name, nil)
	p.Max.Setup, p.Max.Narrows = &n, false
	return p
}

// HasNetwork reports whether the profile has any network.
func (p Profile) HasNetwork() bool { return p.Network.any() }

// AllowedBy returns the narrowest preset that allows calls of a tool for which this profile has no rule, given the rule and the
// source of the denial; "" if none does, or if something else denied it: a rule, an agent or a policy, which another preset
// would not replace.
func (p Profile) AllowedBy(tool, rule, source string) string {
	needed := ForTool(strings.ToLower(strings.TrimSpace(tool)))
	if source != "profile "+p.Name || rule != unallowed(needed) {
		return ""
	}
	for _, name := range Presets() {
		if preset, _ := Preset(name); preset.Decide(Need(needed, "\x00")).Allowed() {
			return name
		}
	}
	return ""
}

// SetProfile precedes the profile in the advice to set another one.
const SetProfile = ": set profile: "

// CannotChange is the text for a profile that allows no changes, with the fix.
func CannotChange(profile string) string {
	return "the profile " + profile + " can't change files" + SetProfile + "edit (or build for commands)"
}

// MayChange reports whether a tool or a command may be allowed to change files. Where it is false, the
// kernel makes the workspace read-only for everything that serves a session, see package runner.
func (p Profile) MayChange() bool {
	if p.MayEdit("\x00") {
		return true
	}
	if p.Hides("bash") {
		return false
	}
	for limit := range p.limits() {
		if !limit.runsWriters() {
			return false
		}
	}
	return true
}

// runsWriters reports whether a rule allows commands that no later rule denies and that are not only those of
// preset review, which only read: what these write through an option is decided as an edit.
func (p *Profile) runsWriters() bool {
	review := reviewCommands()
	for i, r := range p.Rules {
		if r.Effect != Allow || !r.covers("bash") {
			continue
		}
		open := wildcards.Replace(r.Pattern)
		reads := slices.ContainsFunc(review, func(c Rule) bool { return mustMatch(c.Pattern, open) })
		denied := slices.ContainsFunc(p.Rules[i+1:], func(later Rule) bool {
			return later.Effect == Deny && later.covers("bash") && mustMatch(later.Pattern, open)
		})
		if !reads && !denied {
			return true
		}
	}
	return false
}

// wildcards replaces those of a pattern by NULs, which stand for any text.
var wildcards = strings.NewReplacer("*", "\x00", "?", "\x00")
