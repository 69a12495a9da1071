package profiles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Set are those that a manifest defines, beside the presets.
type Set struct {
	bodies []*Body             // in the order of the file
	made   map[string]*Profile // by name; nil after a problem, which is recorded once
}

// NewSet returns a set of the presets alone.
func NewSet() *Set { return &Set{made: map[string]*Profile{}} }

const maxProfiles = 100 // of a manifest, which may extend each other

// MaxEntries is the maximum number of rules, hosts and names of a profile.
const MaxEntries = 2000

// Form is the form of the profiles of a manifest.
var Form = form.MapOf("NAME", form.TypeOf((*Body).keys), readProfiles)

// readProfiles reads the profiles of a manifest.
func readProfiles(v form.Value) (*Set, bool) {
	ps := NewSet()
	entries, ok := v.Entries()
	for _, e := range entries {
		name := e.Key.Value
		switch {
		case slices.Contains(permission.Presets(), name):
			e.KeyProblem("profile name "+problem.Quote(name)+" is a preset's", "choose another name, and extend the preset")
		case !form.Identifier.MatchString(name):
			e.KeyProblem(problem.Quote(name)+" is not a name", "use letters, digits, ., _ and -")
		case e.Null():
			e.Problem(fmt.Sprintf("profile %s is empty", problem.Quote(name)), "add at least permission: or extends:")
		default:
			ps.bodies = append(ps.bodies, Read(e, name))
		}
	}
	if len(entries) > maxProfiles {
		v.Problem(fmt.Sprintf("more than %d profiles", maxProfiles), "spread them over several manifests")
		return NewSet(), false
	}
	return ps, ok
}

// Names returns every name that a profile can be called by.
func (ps *Set) Names() []string {
	names := permission.Presets()
	for _, b := range ps.bodies {
		names = append(names, b.Title)
	}
	return names
}

// Body returns the definition of a profile of the manifest, nil without one.
func (ps *Set) Body(name string) *Body {
	i := slices.IndexFunc(ps.bodies, func(b *Body) bool { return b.Title == name })
	if i < 0 {
		return nil
	}
	return ps.bodies[i]
}

// Find returns a profile by name, with what it extends; false if it is unknown
// or has a problem, which is recorded.
func (ps *Set) Find(name string) (Profile, bool) {
	if p, seen := ps.ready(name); seen {
		return deref(p)
	}
	if b := ps.Body(name); b != nil {
		return deref(ps.make(b, nil))
	}
	return Profile{}, false
}

func deref(p *Profile) (Profile, bool) {
	if p == nil {
		return Profile{}, false
	}
	return *p, true
}

// ready returns a preset or a profile that was made before. It is nil, and
// seen all the same, if that failed.
func (ps *Set) ready(name string) (p *Profile, seen bool) {
	if p, seen = ps.made[name]; seen {
		return p, true
	}
	if preset, ok := presetProfile(name); ok {
		ps.made[name] = &preset
		return &preset, true
	}
	return nil, false
}

// make builds a profile; chain holds the names of those that extend it.
func (ps *Set) make(b *Body, chain []string) *Profile {
	ps.made[b.Title] = nil
	if base := ps.base(b, append(chain, b.Title)); base != nil {
		ps.made[b.Title] = b.on(*base)
	}
	return ps.made[b.Title]
}

// Extend returns the profile of a body that is not in the set, such as one of a file of its own.
func (ps *Set) Extend(b *Body) (Profile, bool) {
	base := ps.base(b, nil)
	if base == nil {
		return Profile{}, false
	}
	return *b.on(*base), true
}

// base returns the profile that another one extends; one without a base
// extends what denies everything. It is nil after a problem.
func (ps *Set) base(b *Body, chain []string) *Profile {
	if b.extends == nil {
		return &Profile{Profile: permission.Profile{Cache: []string{permission.AutoCache}}}
	}
	name := b.extends.S
	if i := slices.Index(chain, name); i >= 0 {
		b.extends.Problem("circular extends: "+strings.Join(append(chain[i:], name), " -> "), "let one of them extend a preset")
		return nil
	}
	if p, seen := ps.ready(name); seen {
		return p
	}
	if next := ps.Body(name); next != nil {
		return ps.make(next, chain)
	}
	b.extends.Problem("unknown profile "+problem.Quote(name), b.extends.Src.Found.Suggest(name, ps.Names(), "known profiles: "))
	return nil
}

// Check checks every profile; see [Body.Check].
func (ps *Set) Check(names Vocabulary) {
	for _, b := range ps.bodies {
		b.Check(names)
	}
}

// All returns every profile that is in order, as the file has them.
func (ps *Set) All() []permission.Profile {
	var all []permission.Profile
	for _, b := range ps.bodies {
		if p, ok := ps.Find(b.Title); ok {
			all = append(all, p.Profile)
		}
	}
	return all
}

// presetProfile returns a preset. Its digest is that of its name: what a preset allows is a fact of the program, as
// is what a tool does, and a new tool in it must not make a resumed run, a rollout or a worker take its jobs for others.
func presetProfile(name string) (Profile, bool) {
	p, ok := permission.Preset(name)
	return Profile{p, tasks.Digest("preset", name)}, ok
}
