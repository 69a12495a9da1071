package ignore

import (
	"bytes"
	"strings"
)

// Patterns are the rules of one ignore file, in order.
type Patterns []*rule

// rule is one line of an ignore file. The form determines which fields are
// used.
type rule struct {
	form     form
	negated  bool // the line began with "!"
	dirOnly  bool // the line ended with "/"
	anchored bool // compared with the path below the file's directory, not with the last name
	prefix   string
	suffix   string // of form affix
	wild     wild   // of form general: what comes after prefix
}

// form is how a rule is matched. It avoids wildcard matching for most lines of
// real files, because each rule is checked for every file of a tree.
type form uint8

const (
	exact   form = iota // prefix is the whole pattern
	affix               // prefix, anything without a slash, suffix
	general             // prefix, then wild
)

// Parse reads the lines of an ignore file. It never fails: what git does not
// understand matches nothing.
func Parse(data []byte) Patterns {
	var rules Patterns
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range bytes.Lines(data) {
		if r, ok := parseLine(string(line)); ok {
			rules = append(rules, &r)
		}
	}
	return rules
}

// parseLine returns false for a line that can't match any path.
func parseLine(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	line = strings.TrimSuffix(line, "\n")
	line = strings.TrimSuffix(line, "\r")
	line, _, _ = strings.Cut(line, "\x00") // git treats it as the end of the string
	line = trimSpaces(line)

	line, negated := strings.CutPrefix(line, "!")
	r, ok := parseGlob(line)
	r.negated = negated
	return r, ok
}

// Glob returns the rule of one pattern by itself, without what only a line of
// a file may have: comments, "!", spaces that do not count. It returns false
// if the pattern is malformed or can't match any path.
func Glob(pattern string) (Patterns, bool) {
	r, ok := parseGlob(pattern)
	return Patterns{&r}, ok
}

// Match reports whether a pattern with wildcards matches all of a path, as git's
// wildmatch does: a slash is matched by a slash or by ** alone. A malformed pattern
// matches nothing.
func Match(pattern, path string) bool {
	r, ok := parseGlob("/" + strings.TrimPrefix(pattern, "/"))
	return ok && r.matches(strings.TrimPrefix(path, "/"), "")
}

func parseGlob(pattern string) (r rule, ok bool) {
	pattern, r.dirOnly = strings.CutSuffix(pattern, "/")
	r.anchored = strings.Contains(pattern, "/")
	pattern = strings.TrimPrefix(pattern, "/")
	return r, pattern != "" && r.compile(pattern)
}

// trimSpaces removes the spaces at the end, but not one that a backslash
// escapes. A backslash as the last character keeps all (and matches nothing).
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			if i++; i == len(line) {
				return line
			}
		}
		end = i + 1
	}
	return line[:end]
}

// compile finds the rule's form. It returns false if the pattern is malformed.
//
// The letters before the first special one are taken off before the rest is
// understood, as git does: so "a/b**" ends with a true "**", although the
// manual states that "**" is special only between slashes.
func (r *rule) compile(pattern string) bool {
	plain := strings.IndexAny(pattern, `*?[\`)
	if plain < 0 {
		r.prefix = pattern
		return true
	}
	steps, ok := parseWild(pattern[plain:])
	if !ok {
		return false
	}
	escaped, steps := cutLiteral(steps)
	r.prefix = pattern[:plain] + escaped
	if len(steps) == 0 {
		return true
	}
	if tail, more := cutLiteral(steps[1:]); steps[0].kind == star && len(more) == 0 && !r.anchored {
		r.form, r.suffix = affix, tail
		return true
	}
	r.form, r.wild = general, newWild(steps)
	return true
}

// matches compares the rule with a path, given relative to the directory of the
// rule's file and by its last name.
func (r *rule) matches(rel, name string) bool {
	if r.anchored {
		name = rel
	}
	if r.form == exact {
		return name == r.prefix
	}
	rest, ok := strings.CutPrefix(name, r.prefix)
	if !ok {
		return false
	}
	if r.form == affix {
		return strings.HasSuffix(rest, r.suffix)
	}
	return r.wild.match(rest)
}
