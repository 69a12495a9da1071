package form

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/problem"
)

// Refusal describes what a policy refuses, and the fix.
func Refusal(what string, by policy.Rule) (string, string) {
	fix := "remove it, or change the policy"
	switch {
	case by.Fix != "":
		fix = by.Fix
	case by.Source == policy.Untrusted:
		fix = "remove it, or run the manifest without --untrusted if you trust its author"
	}
	return what + " not allowed by " + by.By(), fix
}

// Refused reports whether a policy refuses the content of a value, and records it at
// the value's key or else at the value.
func (o Origin) Refused(key policy.Key, what string, names ...string) bool {
	by, refused := o.Src.Policies.Refuses(key, names...)
	if refused {
		o.Refuse(what, by)
	}
	return refused
}

// Bounded makes a field refuse commands that a policy refuses.
func Bounded(key policy.Key, f Field) Field {
	read := f.Read
	f.Read = func(v Value) {
		if v.Empty() || !v.Refused(key, string(key)+" commands", string(key)) {
			read(v)
		}
	}
	return f
}

// Refuse records at the value's key, or else at the value, that a policy refuses something.
func (o Origin) Refuse(what string, by policy.Rule) {
	o.KeyProblem(Refusal(what, by))
}

// Outside reports whether a policy refuses a path that a value names, and records
// it. Symlinks are followed first. A relative path of a queued plan leads to one of its inputs;
// an absolute one may be of a program or a key of the worker.
func (o Origin) Outside(path, written string) bool {
	if !isAbs(written) && o.Uses().Beyond(path) {
		o.Problem(problem.Quote(written)+" is not an input of the run", "submit the run again")
		return true
	}
	by, refused := RefusesPath(o.Src.Policies, path)
	if refused {
		o.Refuse("the path "+problem.Quote(written), by)
	}
	return refused
}

// RefusedPath reports whether policies refuse a path of the command line, relative
// to dir, and by which rule.
func RefusedPath(policies policy.Set, dir, path string) (policy.Rule, bool) {
	return RefusesPath(policies, userfile.Resolve(dir, path))
}

// RefusesPath reports whether policies refuse a path. The built-in one refuses
// more than what is outside of the repository: git's own directory, which may
// hold credentials, millhand's, which has earlier runs, and what its maximum profile keeps
// the read tool from.
func RefusesPath(policies policy.Set, path string) (policy.Rule, bool) {
	real, err := userfile.RealPath(path)
	if err != nil {
		real = "" // below no directory that is allowed
	}
	if by, refused := policies.Refuses(policy.Paths, real); refused {
		return by, true
	}
	for _, p := range policies {
		for _, r := range p.Rules {
			if r.Key != policy.Paths || p.Name != policy.Untrusted || len(r.Allow) == 0 {
				continue
			}
			below, err := filepath.Rel(r.Allow[0], real)
			below = filepath.ToSlash(below)
			own := slices.ContainsFunc(strings.Split(below, "/"), func(s string) bool {
				return strings.EqualFold(s, ".git") || strings.EqualFold(s, ".millhand")
			})
			if err != nil || own || !p.MaxProfile.Allows("read", below, real) {
				return r, true
			}
		}
	}
	return policy.Rule{}, false
}

// RefusedKeySource reports whether a policy does not list a source of keys, and records it.
func (o Origin) RefusedKeySource(what, name string) bool {
	by, refused := o.Src.Policies.RefusesUnlisted(policy.KeySources, name)
	if refused {
		o.Refuse(what, by)
	}
	return refused
}
