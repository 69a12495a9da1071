package pathglob

import (
	"errors"
	"fmt"
	"strings"
)

const (
	maxPatterns = 1000      // maximum number of patterns that braces can expand to
	maxBytes    = 64 * 1024 // their total length, and that of a pattern before
	maxSteps    = 16 << 20  // bytes that are copied and patterns that are made on the way
	maxNesting  = 20        // nested braces
)

// ErrTooMany is the error for a pattern whose braces exceed a limit.
var ErrTooMany = fmt.Errorf("braces expand to too many patterns (more than %d) or too long ones", maxPatterns)

// Expand expands the braces of a pattern as bash does, but without ranges. It also checks that
// braces, brackets and escapes are complete; its errors have the byte. The error is [ErrTooMany]
// for more than 1000 patterns, more than 64 KiB of them, or too much work for fewer.
func Expand(pattern string) ([]string, error) {
	if len(pattern) > maxBytes {
		return nil, ErrTooMany
	}
	b := braces{text: pattern}
	return b.sequence(0)
}

// braces parses a pattern from left to right.
type braces struct {
	text  string
	pos   int
	steps int // so far
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
			out, err = b.join(out, next)
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
		if out = append(out, alternative...); len(out) > maxPatterns {
			return nil, ErrTooMany
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

// join returns every x followed by every y. The steps are counted in the work, not in the result:
// "{}" a thousand times copies a long pattern a thousand times and results in one.
func (b *braces) join(xs, ys []string) ([]string, error) {
	if len(xs)*len(ys) > maxPatterns {
		return nil, ErrTooMany
	}
	out := make([]string, 0, len(xs)*len(ys))
	size := 0
	for _, x := range xs {
		for _, y := range ys {
			size += len(x) + len(y)
			b.steps += len(x) + len(y) + 1
			if size > maxBytes || b.steps > maxSteps {
				return nil, ErrTooMany
			}
			out = append(out, x+y)
		}
	}
	return out, nil
}
