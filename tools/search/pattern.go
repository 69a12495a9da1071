package search

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/ignore"
	"github.com/millhand/millhand/internal/pathglob"
)

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
	alternatives, err := pathglob.Expand(body)
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
