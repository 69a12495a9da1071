package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/internal/gitops/ignore"
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

// filter selects files by globs. The last one that matches decides; "!" negates it. A file that
// no glob matches is selected if all are negated.
type filter []filterGlob

type filterGlob struct {
	pattern pattern
	negated bool
}

// parseFilter parses globs for files, separated by commas: a directory includes all files below it.
func parseFilter(globs string) (filter, error) {
	var f filter
	list, err := SplitGlobs(globs)
	if err != nil {
		return nil, err
	}
	for _, glob := range list {
		body, negated := strings.CutPrefix(glob, "!")
		if strings.HasSuffix(body, "/") && strings.Trim(body, "./") != "" {
			body += "**"
		}
		p, err := parsePattern(body)
		if err != nil {
			return nil, err
		}
		f = append(f, filterGlob{p, negated})
	}
	return f, nil
}

// SplitGlobs splits globs as [pathglob.Split] does.
func SplitGlobs(globs string) ([]string, error) {
	list, err := pathglob.Split(globs)
	if err != nil {
		return nil, fmt.Errorf("invalid glob %q: %w", globs, err)
	}
	return list, nil
}

// accepts implements walk.accepts for files.
func (f filter) accepts(rel string, isDir bool) bool { return isDir || f.matches(rel) }

func (f filter) matches(rel string) bool {
	for _, g := range slices.Backward(f) {
		if g.pattern.matches(rel, false) {
			return !g.negated
		}
	}
	return !slices.ContainsFunc(f, func(g filterGlob) bool { return !g.negated })
}
