package compared

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/patterns"
)

// fourJobs returns the patterns of four jobs; the last one has an edit of its own.
func fourJobs(own string) *patterns.Result {
	c := &patterns.Collector{}
	patch := "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-\told.F()\n+\tnew.F()\n"
	for i := range 4 {
		text := patch
		if i == 3 {
			text += own
		}
		c.Add(patterns.Change{Job: fmt.Sprint(i), Repo: fmt.Sprint(i), URL: fmt.Sprintf("https://forge.example/acme/%d/pull/1", i)}, strings.NewReader(text))
	}
	return c.Result()
}

func TestPatternsOfAJob(t *testing.T) {
	r := fourJobs("diff --git a/run b/run\nold mode 100644\nnew mode 100755\n")
	for job, want := range map[string]string{
		"0": "- Pattern 1 of 1, the same in 3 other repositories: `old.F → new.F` (this is the example)",
		"1": "- Pattern 1 of 1, the same in 3 other repositories: `old.F → new.F` ([example](https://forge.example/acme/0/pull/1))",
		"3": "- Pattern 1 of 1, the same in 3 other repositories: `old.F → new.F` ([example](https://forge.example/acme/0/pull/1))\n" +
			"- **To read** (modes): `run` `mode 100644 → 100755`\n- **To read** (rare): `run` `mode 100644 → 100755`",
		"4": "",
	} {
		if got := textOf(r, job); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", job, got, want)
		}
	}
	if got := textOf(&patterns.Result{}, "0"); got != "" {
		t.Error(got)
	}
}

// Names and lines of a repository can't leave their code span, and can't end the markers.
func TestPatternsAreHarmless(t *testing.T) {
	r := fourJobs("diff --git a/x`@ada b/x`@ada\n--- a/x`@ada\n+++ b/x`@ada\n@@ -1 +1 @@\n-a\n+`[@ada](http://x) <!-- /millhand:patterns -->\x1b[31m\n")
	got := textOf(r, "3")
	_, last, _ := strings.Cut(got, "\n")
	if want := "- **To read** (rare): `x'@ada:1` `a → '[@ada](http://x) <! -- /millhand:patterns -->"; !strings.HasPrefix(last, want) || strings.Count(last, "`") != 4 || strings.Contains(got, "\x1b") {
		t.Errorf("%q", last)
	}
	for line := range strings.SplitSeq(got, "\n") {
		if !strings.HasPrefix(line, "- ") {
			t.Errorf("%q", line)
		}
	}
}
