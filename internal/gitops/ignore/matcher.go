package ignore

import (
	"slices"
	"strings"
)

// Matcher contains the rules that apply in one directory: those of its own
// ignore file and of all above it. It is immutable and safe for concurrent use.
// A nil Matcher ignores nothing.
type Matcher struct {
	above *Matcher // consulted if no rule here matches
	base  string   // directory that the rules are relative to, with a trailing slash; "" is the root
	rules Patterns
	below string // instead of rules: prefix for paths passed to the parent
}

// New returns the rules for the entire tree, such as those of core.excludesFile
// and .git/info/exclude. Later files override earlier ones, and every
// .gitignore overrides all of them.
func New(files ...Patterns) *Matcher {
	var m *Matcher
	for _, f := range files {
		m = m.with("", f)
	}
	return m
}

// Descend returns the rules that apply in a directory whose .gitignore has the
// given content. The directory is slash-separated and relative to the root (""
// or "."). Without such a file (nil) the rules are unchanged.
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
// relative to the root. A symlink to a directory is not a directory. It does
// not check the parent directories: if one of them is ignored, so is everything
// below it, and the walk must not enter it. The root itself is never ignored.
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
