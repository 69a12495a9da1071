package ignore

import (
	"slices"
	"strings"
)

// Matcher holds the rules that apply in one directory: those of its own ignore
// file and of all above it. It never changes, so any number of goroutines may
// use it. A nil Matcher ignores nothing.
type Matcher struct {
	above *Matcher // asked when no rule here matches
	base  string   // directory that the rules are relative to, with a slash at its end; "" is the root
	rules Patterns
	below string // instead of rules: what paths have to begin with to be asked above
}

// New returns the rules that hold for the whole tree, such as those of
// core.excludesFile and .git/info/exclude. Later files win over earlier ones,
// and every .gitignore wins over all of them.
func New(files ...Patterns) *Matcher {
	var m *Matcher
	for _, f := range files {
		m = m.with("", f)
	}
	return m
}

// Descend returns the rules that apply in a directory whose .gitignore holds the
// given bytes. The directory is slash separated and relative to the root, which is
// "" or ".". Without such a file (nil) the rules stay as they are.
func (m *Matcher) Descend(dir string, gitignore []byte) *Matcher {
	if dir == "." {
		dir = ""
	}
	return m.with(dir, Parse(gitignore))
}

func (m *Matcher) with(dir string, rules Patterns) *Matcher {
	if len(rules) == 0 {
		return m
	}
	base := ""
	if dir != "" {
		base = dir + "/"
	}
	return &Matcher{above: m, base: base, rules: rules}
}

// Within returns the rules for a directory of the tree seen as a tree of its own:
// paths are relative to it from there on. The directory is slash separated and
// relative to the root.
func (m *Matcher) Within(dir string) *Matcher {
	if m == nil || dir == "" || dir == "." {
		return m
	}
	return &Matcher{above: m, below: dir + "/"}
}

// Ignored reports whether a path is excluded. The path is slash separated and
// relative to the root. A link to a directory is not a directory. Nothing is
// said about the directories above the path: if one of them is ignored then so is
// all below it, and the walk must not have come this far. The root itself is
// never ignored.
func (m *Matcher) Ignored(path string, isDir bool) bool {
	if path == "" || path == "." {
		return false
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	for ; m != nil; m = m.above {
		path = m.below + path
		rel, ok := strings.CutPrefix(path, m.base)
		if !ok {
			continue
		}
		for _, r := range slices.Backward(m.rules) {
			if (isDir || !r.dirOnly) && r.matches(rel, name) {
				return !r.negated
			}
		}
	}
	return false
}
