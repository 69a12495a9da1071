package manifest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// profiles are those that a manifest defines, beside the presets.
type profiles struct {
	bodies []*profileBody      // in the order of the file
	made   map[string]*Profile // by name; nil after a problem, which is recorded once
}

func newProfiles() *profiles { return &profiles{made: map[string]*Profile{}} }

// maxProfiles and maxEntries bound what profiles that extend each other can
// grow to.
const (
	maxProfiles = 100
	maxEntries  = 2000 // rules, hosts and names of one profile
)

var profilesForm = form.MapOf("NAME", form.TypeOf((*profileBody).keys), readProfiles)

// readProfiles reads the profiles of a manifest.
func readProfiles(v form.Value) (*profiles, bool) {
	ps := newProfiles()
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
			ps.bodies = append(ps.bodies, readProfileBody(e, name))
		}
	}
	if len(entries) > maxProfiles {
		v.Problem(fmt.Sprintf("more than %d profiles", maxProfiles), "spread them over several manifests")
		return newProfiles(), false
	}
	return ps, ok
}

// Names returns every name that a profile can be called by.
func (ps *profiles) Names() []string {
	names := permission.Presets()
	for _, b := range ps.bodies {
		names = append(names, b.title)
	}
	return names
}

func (ps *profiles) Body(name string) *profileBody {
	i := slices.IndexFunc(ps.bodies, func(b *profileBody) bool { return b.title == name })
	if i < 0 {
		return nil
	}
	return ps.bodies[i]
}

// Find returns a profile by name, with what it extends; false if it is unknown
// or has a problem, which is recorded.
func (ps *profiles) Find(name string) (Profile, bool) {
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
func (ps *profiles) ready(name string) (p *Profile, seen bool) {
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
func (ps *profiles) make(b *profileBody, chain []string) *Profile {
	ps.made[b.title] = nil
	if base := ps.base(b, append(chain, b.title)); base != nil {
		ps.made[b.title] = b.on(*base)
	}
	return ps.made[b.title]
}

// base returns the profile that another one extends; one without a base
// extends what denies everything. It is nil after a problem.
func (ps *profiles) base(b *profileBody, chain []string) *Profile {
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

// Check checks every profile; see profileBody.check.
func (ps *profiles) Check(names Vocabulary) {
	for _, b := range ps.bodies {
		b.Check(names)
	}
}

// All returns every profile that is in order, as the file has them.
func (ps *profiles) All() []permission.Profile {
	var all []permission.Profile
	for _, b := range ps.bodies {
		if p, ok := ps.Find(b.title); ok {
			all = append(all, p.Profile)
		}
	}
	return all
}

func presetProfile(name string) (Profile, bool) {
	p, ok := permission.Preset(name)
	if !ok {
		return Profile{}, false
	}
	rules := make([][3]string, len(p.Rules))
	for i, r := range p.Rules {
		rules[i] = [3]string{r.Permission, r.Pattern, r.Effect.String()}
	}
	return Profile{p, tasks.Digest(name, rules, p.Network, p.Cache, p.Env)}, true
}

// LoadProfile returns the profile that a command line names: a preset; a
// profile of the manifest, if one is given; or a YAML file that holds a
// profile's body (extends, permission, git, network, cache, env, examples),
// which is then called after the file. The error is a [problem.List], or that of
// standard input.
func LoadProfile(ctx context.Context, nameOrFile, manifest string, o tasks.Options) (permission.Profile, error) {
	name := "profile " + nameOrFile
	if manifest != "" {
		name += " of " + manifest
	}
	return Under(ctx, name, func() (permission.Profile, error) { return loadProfile(ctx, nameOrFile, manifest, o) })
}

func loadProfile(ctx context.Context, nameOrFile, manifest string, o tasks.Options) (permission.Profile, error) {
	l := NewLoader(ctx, o)
	l.Inputs.Ignored = true // only profiles are wanted, and standard input may be another's
	defined := newProfiles()
	if manifest != "" {
		m, err := l.Manifest(ctx, manifest)
		if err != nil {
			return permission.Profile{}, err
		}
		if m != nil {
			defined = m.Profiles
			defined.Check(l.Names)
		}
	}
	var p Profile
	if err := l.Found.Err(); err == nil {
		p, _ = l.Profile(nameOrFile, "--profile", defined)
	}
	if err := l.Found.Err(); err != nil {
		return permission.Profile{}, err
	}
	return p.Profile, nil
}

// Profile finds what a flag names: a profile, or a file that holds one.
func (l *Loader) Profile(name, flag string, defined *profiles) (Profile, bool) {
	if p, ok := defined.Find(name); ok {
		return p, true
	}
	if defined.Body(name) != nil {
		return Profile{}, false
	}
	path := form.ResolvePath(l.Options.Dir, name)
	if strings.ContainsAny(name, `/\`) || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) || form.IsFile(path) {
		return l.profileFile(name, path, defined)
	}
	known := defined.Names()
	fix := l.Found.Suggest(name, known, "known profiles: ")
	l.Found.Add(problem.Problem{File: flag, What: "unknown profile " + problem.Quote(name), Fix: fix})
	return Profile{}, false
}

// profileFile reads a profile from a file of its own.
func (l *Loader) profileFile(name, path string, defined *profiles) (Profile, bool) {
	src := l.source(name, filepath.Dir(path))
	if by, refused := form.RefusesPath(src.Policies, path); refused {
		what, fix := form.Refusal("the profile's path", by)
		l.Found.Add(problem.Problem{File: name, What: what, Fix: fix})
		return Profile{}, false
	}
	l.Inputs.Uses.Reads(path)
	data, err := form.ReadRegular(path, form.MaxFile)
	if err != nil {
		src.Unreadable(err)
		return Profile{}, false
	}
	root, ok := src.Parse(data)
	if !ok {
		return Profile{}, false
	}
	body := readProfileBody(root, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	body.Check(l.Names)
	base := defined.base(body, nil)
	if base == nil {
		return Profile{}, false
	}
	return *body.on(*base), true
}

// CheckExamples compares the decisions that a profile's examples expect with
// those of decide, which judges a tool's call by the profile, and returns a
// problem for each that differs.
func CheckExamples(p permission.Profile, decide func(tool, subject string) permission.Decision) problem.List {
	var ps problem.List
	for _, e := range p.Examples {
		d := decide(e.Tool, e.Subject)
		if d.Effect == e.Effect {
			continue
		}
		at := sourceProblem(e.Source)
		at.What = fmt.Sprintf("profile %s: %s %s is %s, and the example expects %s: %s",
			p.Name, e.Tool, problem.Quote(e.Subject), verdict(d.Effect), e.Effect, d.By())
		at.Fix = "change the rules or the example"
		ps = append(ps, at)
	}
	return ps
}

func verdict(e permission.Effect) string {
	if e == permission.Allow {
		return "allowed"
	}
	return "denied"
}

// sourceProblem parses a position (file:line:col); a file's name may contain
// colons too.
func sourceProblem(source string) problem.Problem {
	file, column := cutNumber(source)
	file, line := cutNumber(file)
	return problem.Problem{File: file, Line: line, Column: column}
}

func cutNumber(s string) (string, int) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil {
		return s, 0
	}
	return s[:i], n
}
