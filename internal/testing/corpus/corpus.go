// Package corpus is the list of the attacks that millhand is tried with. The
// attacks themselves are tests, each beside what has to withstand it: commands
// in internal/sandbox, calls of file tools in tools, addresses in tools/web.
// Each is shown to have its effect on a runner that guards nothing, and then
// tried on millhand. The list, attacks.md, describes what they are and what is known
// not to hold; Check keeps it true.
package corpus

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
)

//go:embed attacks.md
var list string

// Gap is what the list has, after its name, for an attack that works at the
// sandbox's level B.
const Gap = " (works at level B)"

// Undone is what it says of one whose effect a job at level B takes back.
const Undone = " (undone at level B)"

// Check fails unless the list has just these attacks in a group, whatever their
// order. What is known of an attack stands after its name.
func Check(tb testing.TB, group string, attacks []string) {
	tb.Helper()
	listed := groups(list)[group]
	for _, a := range attacks {
		if !slices.Contains(listed, a) {
			tb.Errorf("internal/testing/corpus/attacks.md lacks, in %s:\n- %s", group, a)
		}
	}
	for _, a := range listed {
		if !slices.Contains(attacks, a) {
			tb.Errorf("internal/testing/corpus/attacks.md has, in %s, what isn't tried: %s", group, a)
		}
	}
}

// groups reads a list: "## name: what it is", then "- attack" by line.
func groups(list string) map[string][]string {
	found, group := map[string][]string{}, ""
	for line := range strings.Lines(list) {
		line = strings.TrimRight(line, "\n")
		if title, ok := strings.CutPrefix(line, "## "); ok {
			group, _, _ = strings.Cut(title, ":")
		}
		if attack, ok := strings.CutPrefix(line, "- "); ok {
			found[group] = append(found[group], attack)
		}
	}
	return found
}
