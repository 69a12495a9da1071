package compared

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/patterns"
	"github.com/millhand/millhand/internal/text/printable"
)

// edited returns the patterns of repositories with an edit, the last of which also makes a file with a hostile line.
func edited(repositories int) *patterns.Result {
	var c patterns.Collector
	const head = "diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1 @@\n"
	for i := range repositories {
		patch := fmt.Sprintf(head, "a.go") + "-\told.F()\n+\tnew.F()\n"
		if i == repositories-1 {
			patch += fmt.Sprintf(head, "b.go") + "-a\n+::error::x\x1b[31m //nolint\n"
		}
		c.Add(patterns.Change{Job: fmt.Sprint("j", i), Repo: fmt.Sprint(i), URL: "https://forge.example/1"}, strings.NewReader(patch))
	}
	return c.Result()
}

func TestPatternsInATerminal(t *testing.T) {
	text := func(r *patterns.Result) string {
		var b bytes.Buffer
		if err := terminal(&b, r, func(_ printable.Style, text string) string { return text }); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := text(edited(4))
	for _, want := range []string{
		"4 jobs in 4 repositories, 1 pattern of edits. Read the changes of 1 repository, and one example of each pattern.\n\nTo read\n  j3 https://forge.example/1\n    suppressions b.go:1: added nolint\n",
		"\nPatterns\n  1 of 1: old.F → new.F\n    4 edits in 4 repositories, such as j0 a.go:1\n      -    old.F()\n      +    new.F()\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q not found in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") || strings.Contains(got, "\n::") {
		t.Errorf("a text of a repository has an effect:\n%s", got)
	}
	if got, want := text(edited(2)), "2 jobs in 2 repositories: changes are only compared from 3 repositories on, so read all of them.\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
	if got, want := text(&patterns.Result{OtherJobs: 2}), "No job has changes. 2 other jobs did not pass or changed nothing.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPatternsInATerminalAreLimited(t *testing.T) {
	r := &patterns.Result{Jobs: 90, Repositories: 90, Compared: true, Common: 80, Patterns: make([]patterns.Pattern, 90)}
	r.Reading = []patterns.Reading{{Job: "a", Reasons: make([]patterns.Reason, 20)}}
	var b bytes.Buffer
	if err := terminal(&b, r, func(_ printable.Style, text string) string { return text }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n    and 12 more\n", "\n  and 30 other patterns; --json has all of them\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q not found in\n%s", want, b.String())
		}
	}
}
