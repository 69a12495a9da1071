package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
)

// Call is a tool call of one or several runs.
type Call struct {
	Tool    string
	Subject string // as an example of a profile has it; "" if one subject can't describe the call
	Needs   []permission.Request
	Host    string // host that a web tool connected to, as a profile's network lists it; "" for none
	Count   int

	Rule, Source string // of a denied call: what denied it

	// Allowed is set by [From] for a denied call that the profile allows, because accepted
	// calls need the same permissions.
	Allowed bool
}

// Host is a host that commands connected to.
type Host struct {
	Name  string // as a profile's network lists it, with a port unless it is 80 or 443
	Port  int
	Count int
	Error string // why a connection was denied
}

// Record is what the calls of runs did.
type Record struct {
	Used, Denied     []Call
	Reached, Refused []Host // by commands
}

// Rule is a rule of a suggestion.
type Rule struct {
	permission.Rule
	Calls int    // calls that need it; 0 for a denial
	Risk  string // why it is only proposed, not in the profile
}

// Suggestion is a profile that allows the calls of runs, and what it does not allow.
type Suggestion struct {
	Extends  string // preset; "" for none
	Based    int    // calls that the preset alone allows
	Rules    []Rule // allow what was used; denials follow, of protected files that their globs match
	Network  []Host
	Risky    []Rule // would allow the other calls that were used
	Unstated []Call // were used, and no narrow rule allows them; Rule is the reason
	Denied   []Call
	Refused  []Host
	Examples []permission.Example
}

// maxUsed and maxDenied are the maximum numbers of examples by effect.
const maxUsed, maxDenied = 12, 6

// maxTries is the maximum number of calls that are tried as examples.
const maxTries = 100

// maxExample is the maximum length of the subject of an example, in bytes.
const maxExample = 120

// From derives the suggestion of a record. holds reports whether a decision on a call, given
// by tool and subject, is as an example expects; others are left out.
func From(r Record, holds func(permission.Profile, permission.Example) bool) Suggestion {
	var s Suggestion
	var plain, risky []Call
	for _, c := range merged(r.Used) {
		switch why, ok := unstated(c); {
		case !ok:
			c.Rule = why
			s.Unstated = append(s.Unstated, c)
		case slices.ContainsFunc(c.Needs, func(n permission.Request) bool { return risk(n) != "" }):
			risky = append(risky, c)
		default:
			plain = append(plain, c)
		}
	}
	s.Denied, s.Refused = merged(r.Denied), r.Refused
	b := newBuilder(plain, s.Denied)
	s.Extends, s.Rules = b.extends, b.build()
	for _, c := range plain {
		if permitsCall(b.base, c) {
			s.Based += c.Count
		}
	}
	s.Network = network(plain, r.Reached, r.Refused)
	s.Risky = b.proposals(s.Profile(), risky)
	p := s.Profile()
	for i, c := range s.Denied {
		s.Denied[i].Allowed = permitsCall(p, c)
	}
	s.Examples = s.examples(plain, holds)
	return s
}

// Profile returns the suggested profile.
func (s *Suggestion) Profile() permission.Profile {
	p, _ := permission.Preset(s.Extends)
	p = p.Clone()
	p.Name, p.Examples = Name, s.Examples
	for _, r := range s.Rules {
		p.Rules = append(p.Rules, r.Rule)
	}
	for _, h := range s.Network {
		p.Network.Hosts = append(p.Network.Hosts, h.Name)
	}
	return p
}

// merged joins calls of a tool that need the same, in the order of their first ones.
func merged(calls []Call) []Call {
	var out []Call
	at := map[string]int{}
	for _, c := range calls {
		all := []string{c.Tool, c.Rule, c.Source}
		for _, n := range c.Needs {
			all = append(all, n.Permission, n.Subject(), n.Open, n.Unknown, n.Forbidden)
		}
		key := fmt.Sprintf("%q", all)
		if i, ok := at[key]; ok {
			out[i].Count += c.Count
			continue
		}
		at[key] = len(out)
		out = append(out, c)
	}
	return out
}

// unstated returns why no narrow rule allows a call; ok is true if some may.
func unstated(c Call) (why string, ok bool) {
	for _, n := range c.Needs {
		switch {
		case n.Forbidden != "":
			return n.Forbidden, false
		case n.Unknown != "":
			return n.Unknown + fmt.Sprintf(", so only a profile that allows everything for %s allows it", n.Permission), false
		case len(candidates(n)) == 0 && !n.Inner:
			return "no pattern describes " + n.Permission, false
		}
	}
	return "", true
}

// network returns the hosts that calls and commands reached.
func network(calls []Call, reached, refused []Host) []Host {
	var out []Host
	add := func(h Host) {
		if i := slices.IndexFunc(out, func(o Host) bool { return o.Name == h.Name }); i >= 0 {
			out[i].Count += h.Count
			return
		}
		out = append(out, Host{Name: h.Name, Count: h.Count})
	}
	for _, c := range calls {
		if c.Host != "" {
			add(Host{Name: c.Host, Count: c.Count})
		}
	}
	for _, h := range reached {
		// A name without a port allows all ports, also one that was denied.
		denied := slices.ContainsFunc(refused, func(o Host) bool { return bare(o) == bare(h) && o.Port != h.Port })
		if denied && h.Name == bare(h) {
			h.Name = WithPort(h.Name, h.Port)
		}
		add(h)
	}
	slices.SortFunc(out, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// bare returns the name of a host without its port.
func bare(h Host) string { return strings.TrimSuffix(h.Name, fmt.Sprintf(":%d", h.Port)) }

// WithPort returns a host and a port as a profile's network lists them.
func WithPort(host string, port int) string {
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s:%d", host, port)
}

// examples returns calls that the profile allows, one for each rule, and denied ones.
func (s *Suggestion) examples(used []Call, holds func(permission.Profile, permission.Example) bool) []permission.Example {
	var out []permission.Example
	p, tries := s.Profile(), 0
	add := func(effect permission.Effect, c Call) bool {
		e := permission.Example{Effect: effect, Tool: c.Tool, Subject: c.Subject}
		if !presentable(c.Subject) || slices.Contains(out, e) || tries == maxTries {
			return false
		}
		if tries++; !holds(p, e) {
			return false
		}
		out = append(out, e)
		return true
	}
	for _, r := range s.Rules {
		if len(out) == maxUsed {
			break
		}
		for _, c := range used {
			if slices.ContainsFunc(c.Needs, func(n permission.Request) bool { return allows(r.Rule, n) }) && add(permission.Allow, c) {
				break
			}
		}
	}
	for _, c := range s.Denied {
		if len(out) < maxUsed+maxDenied && !c.Allowed {
			add(permission.Deny, c)
		}
	}
	return out
}

// presentable reports whether a subject is fit for an example.
func presentable(subject string) bool {
	return subject != "" && len(subject) <= maxExample && subject == strings.TrimSpace(subject) && !strings.Contains(subject, "${{") &&
		!strings.ContainsFunc(subject, func(r rune) bool { return r < ' ' || r > '~' })
}
