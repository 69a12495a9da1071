package trials

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/ending"
)

// mostReturned is the maximum number of hunks and of tests in a prompt.
const mostReturned = 50

// Feedback returns the text about unneeded hunks, and about tests that prove nothing, in the prompt of the next attempt.
func Feedback(h *event.Hunks) string {
	var b strings.Builder
	if all := h.UnneededHunks(); len(all) > 0 {
		b.WriteString("The verify commands pass without some of your changes, also without all of these together. Undo each that the task does not need. Add a test for each that it needs, one that fails without it. Then finish again.\n\n")
		for _, one := range all[:min(len(all), mostReturned)] {
			fmt.Fprintf(&b, "<unneeded at=%q added=\"%d\" removed=\"%d\" />\n", one.String(), one.Added, one.Removed)
		}
		more(&b, len(all))
	}
	if all := h.Passing(); len(all) > 0 {
		b.WriteString("\nThese tests pass without your other changes, so they prove nothing about them. Make each fail without the change that it tests, or remove it. Then finish again.\n\n")
		for _, t := range all[:min(len(all), mostReturned)] {
			fmt.Fprintf(&b, "<test path=%q name=%q />\n", t.Path, t.Name)
		}
		more(&b, len(all))
	}
	return b.String()
}

func more(b *strings.Builder, n int) {
	if n > mostReturned {
		fmt.Fprintf(b, "(and %d more)\n", n-mostReturned)
	}
}

// Text describes unneeded hunks, and tests that prove nothing, in one line.
func Text(h *event.Hunks) string {
	var parts, at []string
	for _, one := range h.UnneededHunks() {
		at = append(at, one.String())
	}
	if len(at) > 0 {
		parts = append(parts, fmt.Sprintf("no verify command needs %s of the changes: %s", figures.Count(len(at), "hunk"), textcut.List(at)))
	}
	var names []string
	for _, t := range h.Passing() {
		names = append(names, t.String())
	}
	if len(names) > 0 {
		parts = append(parts, fmt.Sprintf("%s without the changes: %s", passing(len(names)), textcut.List(names)))
	}
	return strings.Join(parts, "; ")
}

func passing(n int) string {
	if n == 1 {
		return "1 new test passes"
	}
	return fmt.Sprintf("%d new tests pass", n)
}

// Stop returns the stop of a job whose last attempt has unneeded hunks.
func Stop(h *event.Hunks) *ending.Stop {
	return &ending.Stop{Code: event.CodeUnneeded, Detail: Text(h)}
}
