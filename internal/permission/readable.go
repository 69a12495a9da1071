package permission

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Readable returns the decision on reading the files below a directory, for the many
// files of a tree: that of Allows("read", dir+"/"+rel), and with relative that of
// Allows("read", rel, dir+"/"+rel). The directory is absolute and clean, rel relative and clean.
func (p Profile) Readable(dir string, relative bool) func(rel string) bool {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	var limits [][]fileRule
	for limit := range p.limits() {
		var rules []fileRule
		for _, r := range slices.Backward(limit.Rules) {
			if r.covers("read") && !r.Protects {
				rules = append(rules, newFileRule(r, prefix))
			}
		}
		limits = append(limits, rules)
	}
	return func(rel string) bool {
		f := file{prefix: prefix, rel: rel, relative: relative, plain: !strings.Contains(rel, `\`)}
		return !slices.ContainsFunc(limits, func(rules []fileRule) bool { return !f.allowed(rules) })
	}
}

// fileRule is a rule with what is known about its pattern and the directory of the files.
type fileRule struct {
	Rule
	form    form
	literal string
	above   bool // of form substring: every absolute path matches
}

// form is the form of a pattern.
type form int

const (
	general   form = iota
	anything       // only stars
	suffix         // a star, and a literal without slash
	substring      // such a literal between stars
)

func newFileRule(r Rule, prefix string) fileRule {
	f := fileRule{Rule: r, literal: strings.Trim(r.Pattern, "*")}
	stars := len(r.Pattern) - len(strings.TrimLeft(r.Pattern, "*"))
	switch {
	case r.matchesAll():
		f.form = anything
	case stars == 0 || strings.ContainsAny(f.literal, `*?/\ `) || !utf8.ValidString(f.literal):
	case stars+len(f.literal) == len(r.Pattern):
		f.form = suffix
	default:
		f.form, f.above = substring, strings.Contains(strings.ReplaceAll(prefix, `\`, "/"), f.literal)
	}
	return f
}

// file is a file to decide on.
type file struct {
	prefix, rel string
	relative    bool // rel is a subject, too
	plain       bool // rel has no backslash
	abs         string
}

// allowed returns the effect of the first rule that matches, as lastMatch does.
func (f *file) allowed(rules []fileRule) bool {
	for i := range rules {
		if r := &rules[i]; f.matches(r) {
			return r.Effect == Allow
		}
	}
	return false
}

// matches reports whether a rule matches one of the subjects. A literal without slash is in
// or at the end of the absolute path if it is in rel or, except at the end, in the prefix.
func (f *file) matches(r *fileRule) bool {
	switch {
	case r.form == anything:
		return true
	case r.form == suffix && f.plain:
		return strings.HasSuffix(f.rel, r.literal)
	case r.form == substring && f.plain:
		return r.above || strings.Contains(f.rel, r.literal)
	case f.relative && Match(r.Pattern, f.rel):
		return true
	}
	if f.abs == "" {
		f.abs = f.prefix + f.rel
	}
	return Match(r.Pattern, f.abs)
}
