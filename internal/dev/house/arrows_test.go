package house

import (
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// acceptedArrows lists the types whose fields may be arrows back, with reasons: at most five.
func acceptedArrows() map[string]string {
	return map[string]string{
		"internal/session.Config": "a job decides when its sessions end and saves what they changed; a session knows no job, and reviews have sessions, too",
		"internal/forge.Options":  "a token is requested when a request needs one, and again after it has expired, from what has the credentials",
		"runner/agent.Equipment":  "a model is opened with keys and prices of the environment, which a run does not know",
		"tools.Env":               "a tool that asks a model, or runs calls of its own, needs the session that runs it",
	}
}

// TestNothingBelowCallsBack finds the arrows back: function fields of exported types, and interfaces, whose only implementation is
// above, in a package that imports the one with the field or is in a wing above it. The package below then needs
// the one above to do its work, as if it imported it. No arrow is
//   - a notification: a function without results that gets values; what its package does next does not depend on it;
//   - a function with a second implementation: the package serves several callers, or has a default;
//   - a function of the standard library, such as os.Getenv, or of a package that is not above;
//   - a function of a feature that the program is built without (TestAFeatureIsDeletedWithItsDirectoryAndALineOfTheCommandTable):
//     the package below works when it is nil.
func TestNothingBelowCallsBack(t *testing.T) {
	if len(acceptedArrows()) > 5 {
		t.Error("more than five types are accepted")
	}
	found, accepted := loadProduct(t).arrows(t), map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		t.Logf("%s <- %s", name, found[name])
		owner := strings.TrimSuffix(name, path.Ext(name))
		if _, ok := acceptedArrows()[owner]; ok {
			accepted[owner] = true
		} else {
			t.Errorf("%s is implemented only above, by %s: return a value for it to act on, pass what it needs, or move the code", name, found[name])
		}
	}
	for owner := range acceptedArrows() {
		if !accepted[owner] {
			t.Errorf("%s is accepted, and no arrow", owner)
		}
	}
}

// arrows returns the packages above that implement fields and interfaces, by their names.
func (p *product) arrows(t *testing.T) map[string]string {
	t.Helper()
	level, flow, found := wings(t), newFlow(p), map[string]string{}
	for _, pkg := range p.packages {
		for _, owner := range pkg.typeNames() {
			name := pkg.dir + "." + owner.Name()
			var by []string
			switch u := owner.Type().Underlying().(type) {
			case *types.Interface:
				if by = p.implementers(u); len(by) == 1 && p.isAbove(level, by[0], pkg) {
					found[name+".methods"] = by[0]
				}
			case *types.Struct:
				for v := range u.Fields() {
					if !owner.Exported() || !hasFunctions(v.Type()) || isNotification(v.Type()) {
						continue
					}
					if by = flow.implementations(v); len(by) == 1 && p.isAbove(level, by[0], pkg) {
						found[name+"."+v.Name()] = by[0]
					}
				}
			}
		}
	}
	return found
}

// isAbove reports whether the package with an implementation imports another one, or is in a wing above it, and is needed.
func (p *product) isAbove(level map[string]int, dir string, pkg *checkedPackage) bool {
	own, _ := levelOf(level, pkg.dir)
	theirs, ok := levelOf(level, dir)
	return ok && (featureOf(dir) == "" || featureOf(dir) == featureOf(pkg.dir)) && (theirs < own || p.byPath[module+"/"+dir].below[pkg.types.Path()])
}

// featureOf returns the feature that a directory belongs to; "" for none.
func featureOf(dir string) string {
	for name, f := range features() {
		if slices.ContainsFunc(f.dirs, func(of string) bool { return dir == of || strings.HasPrefix(dir, of+"/") }) {
			return name
		}
	}
	return ""
}

// implementers returns the packages of the types of the product that have the methods of an interface, one for each.
func (p *product) implementers(iface *types.Interface) []string {
	var all []string
	for _, pkg := range p.packages {
		for _, name := range pkg.typeNames() {
			if iface.NumMethods() > 0 && !types.IsInterface(name.Type()) && types.Implements(types.NewPointer(name.Type()), iface) {
				all = append(all, pkg.dir)
			}
		}
	}
	return all
}

// isNotification reports whether a function returns nothing, and gets nothing to write a result to.
func isNotification(t types.Type) bool {
	s, ok := t.Underlying().(*types.Signature)
	if !ok || s.Results().Len() > 0 {
		return false
	}
	for param := range s.Params().Variables() {
		switch param.Type().Underlying().(type) {
		case *types.Pointer, *types.Map, *types.Chan, *types.Signature:
			return false
		}
	}
	return true
}
