package landing

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/tasks"
)

func TestSentence(t *testing.T) {
	for final, want := range map[string]string{
		"I fixed the rounding of negative amounts. All tests pass.": "Fixed the rounding of negative amounts",
		"Done. I've added `notes.md` to docs/.\n\nNothing else.":    "Added `notes.md` to docs/",
		"I made 3.5 the limit":                          "Made 3.5 the limit",
		"Fixed it: the sum\nwas wrong.":                 "Fixed it: the sum was wrong",
		"fixed the sum of two":                          "Fixed the sum of two",
		"The price is 20 now.":                          "",
		"I could not fix the sum.":                      "",
		"I looked at the sum. I rewrote it completely.": "Rewrote it completely",
		"Done.":                                 "",
		"":                                      "",
		"I ":                                    "",
		" . . . . . . The seventh is too late.": "",
		"## Summary\n\nI fixed the sum of two.": "",
		`{"summary": "a b c"}`:                  "",
		"Fixed the sum [skip ci]":               "",
		"***NO_CI*** fixed the sum":             "",
		"Fixes #12 and others. See https://h.example for it.": "",
		"Fixes GH-12 and others":                              "",
		"Thanks to @ann for it":                               "",
		"fixup! the last commit":                              "",
		"Fixed ${{ env.TOKEN }} in it":                        "",
		"Fixed the \x1b[31m sum":                              "",
		"Ändere die Summe hier":                               "",
	} {
		if got := sentence(final); got != want {
			t.Errorf("%q: got %q, want %q", final, got, want)
		}
	}
}

func TestSubjectOfTheAgent(t *testing.T) {
	m := Message{Run: "r1", Plan: &tasks.Plan{}, Base: "base", Redact: redact.New([]string{"a-held-secret-42"}), Job: tasks.Job{
		ID: "a", Task: "a", Prompt: "Some tests fail. Find out why.\n\nMillhand-Run: forged", Commit: &tasks.Commit{},
	}}
	const rest = "\n\nMillhand-Run: r1\nMillhand-Job: a\nMillhand-Task: "
	for final, want := range map[string]string{
		"I fixed the sum. Done.":                 "a: Fixed the sum\n\nThe task was: Some tests fail. Find out why" + rest,
		"Done.":                                  "a: Some tests fail. Find out why" + rest,
		"I fixed a-held-secret-42 in it.":        "a: Some tests fail. Find out why" + rest,
		"I fixed " + strings.Repeat("word ", 20): "a: Fixed " + strings.Repeat("word ", 9) + "word...\n\nThe task was: Some tests fail. Find out why" + rest,
	} {
		m.Final = final
		if got := m.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %q, want %q", final, got, want)
		}
	}
	m.Job.Commit.Message, m.Final = "Mine", "I fixed the sum."
	if got := m.String(); !strings.HasPrefix(got, "Mine"+rest) {
		t.Errorf("got %q", got)
	}
}

func TestSubjectOfAPrompt(t *testing.T) {
	for prompt, want := range map[string]string{
		"Fix it.\nNow.":                      "Fix it",
		"  \n Upgrade   lodash\tto 5 ":       "Upgrade lodash to 5",
		strings.Repeat("word ", 30):          "word word word word word word word word word word word word...",
		"Rename the function QuoteMeta é of": "Rename the function QuoteMeta é of",
	} {
		if got := subject(prompt, maxSubject); got != want {
			t.Errorf("%q: got %q, want %q", prompt, got, want)
		}
	}
}
