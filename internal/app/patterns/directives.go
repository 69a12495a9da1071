package patterns

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// directive finds comments and attributes that switch off a check.
var directive = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bnolint\b|\blint:(?:file-)?ignore\b|#\s*nosec\b|@ts-(?:ignore|nocheck|expect-error)\b|\b(?:eslint|tslint|stylelint|biome|oxlint|prettier|swiftlint|rubocop|ktlint|detekt|shellcheck|pylint|pyright|flake8|mypy|ruff|phpcs|phpstan|psalm|markdownlint|hadolint|sonar|credo)[:-]\s*(?:ignore|disable|off|skip)[\w-]*` +
		`|#\s*noqa\b|#\s*type:\s*ignore\b|#\s*pragma:?\s*no[ -]?cover\b|\bistanbul ignore\b|\bv8 ignore\b|\bc8 ignore\b|@Suppress(?:Warnings|Lint|FBWarnings)?\b|#!?\[\s*(?:allow|expect)\b|\bNOSONAR\b|\bNOLINT\w*|\bpragma warning disable\b|\bSuppressMessage\b|@phpstan-ignore[\w-]*|@psalm-suppress\b|\bfmt:\s*(?:off|skip)\b|\bcheckov:skip\b|\btfsec:ignore\b|\bgitleaks:allow\b|\+build ignore\b|go:build ignore\b|\berror_reporting\(0\)|\bset \+e\b|\bcontinue-on-error:\s*true\b|--no-verify\b`)
})

// hints are in every text that directive matches, in lower case: looking for them is faster.
var hints = []string{"ignore", "nolint", "noqa", "nosec", "disable", "suppress", "allow", "expect", "sonar", "no cover", "no-cover", "nocover", "nocheck", "skip", ":off", ": off", "-off", "_reporting", "set +e", "on-error", "no-verify"}

// directives returns what switches off a check in a line, in one spelling.
func directives(line string) []string {
	low := strings.ToLower(line)
	if !slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(low, h) }) {
		return nil
	}
	var all []string
	for _, m := range directive().FindAllString(line, -1) {
		all = append(all, strings.Join(strings.Fields(m), " "))
	}
	return all
}

// tally counts how often texts were added and removed in a file.
type tally map[string]int

// more returns the texts that were added more often than removed, in order.
func (t tally) more() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t)), func(s string) bool { return t[s] <= 0 })
}
