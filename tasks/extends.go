package tasks

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// profiles are those that a manifest defines, beside the presets.
type profiles struct {
	bodies []*profileBody      // in the order of the file
	made   map[string]*profile // by name; nil after a problem, which is recorded once
}

func newProfiles() *profiles { return &profiles{made: map[string]*profile{}} }

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

// names returns every name that a profile can be called by.
func (ps *profiles) names() []string {
	names := permission.Presets()
	for _, b := range ps.bodies {
		names = append(names, b.title)
	}
	return names
}

func (ps *profiles) body(name string) *profileBody {
	i := slices.IndexFunc(ps.bodies, func(b *profileBody) bool { return b.title == name })
	if i < 0 {
		return nil
	}
	return ps.bodies[i]
}

// find returns a profile by name, with what it extends; false if it is unknown
// or has a problem, which is recorded.
func (ps *profiles) find(name string) (profile, bool) {
	if p, seen := ps.ready(name); seen {
		return deref(p)
	}
	if b := ps.body(name); b != nil {
		return deref(ps.make(b, nil))
	}
	return profile{}, false
}

func deref(p *profile) (profile, bool) {
	if p == nil {
		return profile{}, false
	}
	return *p, true
}

// ready returns a preset or a profile that was made before. It is nil, and
// seen all the same, if that failed.
func (ps *profiles) ready(name string) (p *profile, seen bool) {
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
func (ps *profiles) make(b *profileBody, chain []string) *profile {
	ps.made[b.title] = nil
	if base := ps.base(b, append(chain, b.title)); base != nil {
		ps.made[b.title] = b.on(*base)
	}
	return ps.made[b.title]
}

// base returns the profile that another one extends; one without a base
// extends what denies everything. It is nil after a problem.
func (ps *profiles) base(b *profileBody, chain []string) *profile {
	if b.extends == nil {
		return &profile{Profile: permission.Profile{Cache: []string{permission.AutoCache}}}
	}
	name := b.extends.S
	if i := slices.Index(chain, name); i >= 0 {
		b.extends.Problem("circular extends: "+strings.Join(append(chain[i:], name), " -> "), "let one of them extend a preset")
		return nil
	}
	if p, seen := ps.ready(name); seen {
		return p
	}
	if next := ps.body(name); next != nil {
		return ps.make(next, chain)
	}
	b.extends.Problem("unknown profile "+problem.Quote(name), b.extends.Src.Found.Suggest(name, ps.names(), "known profiles: "))
	return nil
}

// check checks every profile; see profileBody.check.
func (ps *profiles) check(names vocabulary) {
	for _, b := range ps.bodies {
		b.check(names)
	}
}

// all returns every profile that is in order, as the file has them.
func (ps *profiles) all() []permission.Profile {
	var all []permission.Profile
	for _, b := range ps.bodies {
		if p, ok := ps.find(b.title); ok {
			all = append(all, p.Profile)
		}
	}
	return all
}

func presetProfile(name string) (profile, bool) {
	p, ok := permission.Preset(name)
	if !ok {
		return profile{}, false
	}
	rules := make([][3]string, len(p.Rules))
	for i, r := range p.Rules {
		rules[i] = [3]string{r.Permission, r.Pattern, r.Effect.String()}
	}
	return profile{p, digest(name, rules, p.Network, p.Cache, p.Env)}, true
}

// LoadProfile returns the profile that a command line names: a preset; a
// profile of the manifest, if one is given; or a YAML file that holds a
// profile's body (extends, permission, git, network, cache, env, examples),
// which is then called after the file. The error is a [Problems], or that of
// standard input.
func LoadProfile(ctx context.Context, nameOrFile, manifest string, o Options) (permission.Profile, error) {
	name := "profile " + nameOrFile
	if manifest != "" {
		name += " of " + manifest
	}
	return under(ctx, name, func() (permission.Profile, error) { return loadProfile(ctx, nameOrFile, manifest, o) })
}

func loadProfile(ctx context.Context, nameOrFile, manifest string, o Options) (permission.Profile, error) {
	l := newLoader(ctx, o)
	l.inputs.Ignored = true // only profiles are wanted, and standard input may be another's
	defined := newProfiles()
	if manifest != "" {
		m, err := l.manifest(ctx, manifest)
		if err != nil {
			return permission.Profile{}, err
		}
		if m != nil {
			defined = m.profiles
			defined.check(l.names)
		}
	}
	var p profile
	if err := l.found.Err(); err == nil {
		p, _ = l.profile(nameOrFile, "--profile", defined)
	}
	if err := l.found.Err(); err != nil {
		return permission.Profile{}, err
	}
	return p.Profile, nil
}

// profile finds what a flag names: a profile, or a file that holds one.
func (l *loader) profile(name, flag string, defined *profiles) (profile, bool) {
	if p, ok := defined.find(name); ok {
		return p, true
	}
	if defined.body(name) != nil {
		return profile{}, false
	}
	path := form.ResolvePath(l.options.Dir, name)
	if strings.ContainsAny(name, `/\`) || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) || form.IsFile(path) {
		return l.profileFile(name, path, defined)
	}
	known := defined.names()
	fix := l.found.Suggest(name, known, "known profiles: ")
	l.found.Add(problem.Problem{File: flag, What: "unknown profile " + problem.Quote(name), Fix: fix})
	return profile{}, false
}

// profileFile reads a profile from a file of its own.
func (l *loader) profileFile(name, path string, defined *profiles) (profile, bool) {
	src := l.source(name, filepath.Dir(path))
	if by, refused := form.RefusesPath(src.Policies, path); refused {
		what, fix := form.Refusal("the profile's path", by)
		l.found.Add(problem.Problem{File: name, What: what, Fix: fix})
		return profile{}, false
	}
	l.inputs.Uses.Reads(path)
	data, err := form.ReadRegular(path, form.MaxFile)
	if err != nil {
		src.Unreadable(err)
		return profile{}, false
	}
	root, ok := src.Parse(data)
	if !ok {
		return profile{}, false
	}
	body := readProfileBody(root, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	body.check(l.names)
	base := defined.base(body, nil)
	if base == nil {
		return profile{}, false
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
