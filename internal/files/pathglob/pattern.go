package pathglob

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// errSyntax is the error for brackets, braces or escapes that are not complete.
var errSyntax = errors.New("unclosed or unmatched brackets, or a trailing \\")

// Pattern is a parsed pattern. The zero value matches nothing.
type Pattern struct {
	text   string   // without braces
	others []string // instead of text: what the braces expand to
}

// Parse parses a pattern. Its errors are those of [Expand], and one for invalid syntax.
func Parse(text string) (Pattern, error) {
	switch {
	case !doublestar.ValidatePattern(text):
		return Pattern{}, errSyntax
	case strings.IndexByte(text, '{') < 0 && len(text) <= maxBytes:
		return Pattern{text: text}, nil
	}
	others, err := Expand(text)
	return Pattern{others: others}, err
}

// alternatives returns the patterns without braces.
func (p Pattern) alternatives() []string {
	if p.others == nil {
		return []string{p.text}
	}
	return p.others
}

// Match reports whether the pattern matches all of a name.
func (p Pattern) Match(name string) bool {
	return p.others == nil && doublestar.MatchUnvalidated(p.text, name) ||
		slices.ContainsFunc(p.others, func(text string) bool { return doublestar.MatchUnvalidated(text, name) })
}

// Covers reports whether the pattern matches a path or a directory that it is in. The path is
// slash-separated and clean.
func (p Pattern) Covers(name string) bool {
	return p.others == nil && covers(p.text, name) ||
		slices.ContainsFunc(p.others, func(text string) bool { return covers(text, name) })
}

// covers implements Covers with two matches, because one for each directory of a deep path needs
// much more time. A slash at the end of an alternative means nothing.
func covers(text, name string) bool {
	text = strings.TrimSuffix(text, "/")
	return doublestar.MatchUnvalidated(text, name) || text != "" && strings.Contains(name, "/") && doublestar.MatchUnvalidated(text+"/**", name)
}

// Bases returns the directories, one for each alternative, that everything is in that the
// pattern can find; "." is the directory where relative patterns start.
func (p Pattern) Bases() []string {
	var bases []string
	for _, text := range p.alternatives() {
		base, _ := doublestar.SplitPattern(path.Clean(text))
		bases = append(bases, base)
	}
	return bases
}
