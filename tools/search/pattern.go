package search

import (
	"errors"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/ignore"
)

const (
	maxAlternatives = 1000      // maximum number of patterns that braces can expand to
	maxExpanded     = 64 * 1024 // their total length in bytes
	maxNesting      = 20        // nested braces
)

var errTooMany = fmt.Errorf("braces expand to too many patterns (more than %d) or too long ones", maxAlternatives)

// pattern is a glob for paths.
type pattern struct {
	alternatives *ignore.Matcher // matches what the alternatives exclude
}

func (p pattern) matches(rel string, isDir bool) bool { return p.alternatives.Ignored(rel, isDir) }

// parsePattern parses a glob. A leading "./" anchors it, like "/".
func parsePattern(glob string) (pattern, error) {
	body := glob
	if rest, ok := strings.CutPrefix(body, "./"); ok {
		body = "/" + rest
	}
	alternatives, err := expand(body)
	if err != nil {
		return pattern{}, fmt.Errorf("invalid glob %q: %w", glob, err)
	}
	anchor := ""
	if strings.Contains(strings.TrimSuffix(body, "/"), "/") { // also if only one alternative has the slash
		anchor = "/"
	}
	var rules []ignore.Patterns
	for _, a := range alternatives {
		rule, ok := ignore.Glob(anchor + strings.TrimPrefix(a, "/"))
		if !ok && strings.Trim(a, "/") != "" {
			return pattern{}, fmt.Errorf("invalid glob %q: %q can't match anything", glob, a)
		}
		if ok {
			rules = append(rules, rule)
		}
	}
	if len(rules) == 0 {
		return pattern{}, fmt.Errorf("invalid glob %q: empty pattern", glob)
	}
	return pattern{ignore.New(rules...)}, nil
}

// filter selects files by a glob, or with "!" those that do not match it.
type filter struct {
	pattern pattern
	negated bool
}

// parseFilter parses a glob for files: a directory includes all files below it.
func parseFilter(glob string) (filter, error) {
	body, negated := strings.CutPrefix(glob, "!")
	if strings.HasSuffix(body, "/") && strings.Trim(body, "./") != "" {
		body += "**"
	}
	p, err := parsePattern(body)
	return filter{p, negated}, err
}

// accepts implements walk.accepts for files.
func (f filter) accepts(rel string, isDir bool) bool { return isDir || f.matches(rel) }

func (f filter) matches(rel string) bool { return f.pattern.matches(rel, false) != f.negated }

// expand expands braces in a glob like bash,
// but without ranges. It also checks brackets and escapes.
func expand(glob string) ([]string, error) {
	b := braces{text: glob}
	return b.sequence(0)
}

// braces parses a glob from left to right.
type braces struct {
	text string
	pos  int
}

// sequence parses up to the end of the text or of the current alternative,
// and returns all expansions.
func (b *braces) sequence(depth int) ([]string, error) {
	out := []string{""}
	for b.pos < len(b.text) {
		c := b.text[b.pos]
		if depth > 0 && (c == ',' || c == '}') {
			break
		}
		next := []string{""}
		var err error
		if c == '{' {
			next, err = b.group(depth + 1)
		} else {
			next[0], err = b.plain(depth > 0)
		}
		if err == nil {
			out, err = join(out, next)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// group parses alternatives in braces.
func (b *braces) group(depth int) ([]string, error) {
	start := b.pos
	if depth > maxNesting {
		return nil, errors.New("braces nested too deeply")
	}
	var out []string
	for b.pos < len(b.text) && b.text[b.pos] != '}' || b.pos == start {
		b.pos++ // the brace or the comma
		alternative, err := b.sequence(depth)
		if err != nil {
			return nil, err
		}
		if out = append(out, alternative...); len(out) > maxAlternatives {
			return nil, errTooMany
		}
	}
	if b.pos == len(b.text) {
		return nil, fmt.Errorf("unclosed { at byte %d", start+1)
	}
	b.pos++
	return out, nil
}

// plain parses one class or escape, or the characters up to the next special one.
func (b *braces) plain(inside bool) (string, error) {
	rest, n := b.text[b.pos:], 0
	switch rest[0] {
	case '}':
		return "", fmt.Errorf("unmatched } at byte %d", b.pos+1)
	case '\\':
		if n = 2; len(rest) < n {
			return "", errors.New(`trailing \`)
		}
	case '[':
		if n = classLength(rest); n < 0 {
			return "", fmt.Errorf("unclosed [ at byte %d", b.pos+1)
		}
	default:
		special := `{}[\`
		if inside {
			special += ","
		}
		if n = strings.IndexAny(rest, special); n < 0 {
			n = len(rest)
		}
	}
	b.pos += n
	return rest[:n], nil
}

// classLength returns the length of the character class at the start of s, -1 if
// unterminated.
func classLength(s string) int {
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	for first := true; i < len(s); first = false {
		switch {
		case s[i] == ']' && !first:
			return i + 1
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], "[:"):
			if end := strings.IndexByte(s[i:], ']'); end > 2 && s[i+end-1] == ':' {
				i += end
			}
		}
		i++
	}
	return -1
}

// join returns every a followed by every b.
func join(a, b []string) ([]string, error) {
	out := make([]string, 0, len(a))
	size := 0
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
			if size += len(x) + len(y); size > maxExpanded || len(out) > maxAlternatives {
				return nil, errTooMany
			}
		}
	}
	return out, nil
}
