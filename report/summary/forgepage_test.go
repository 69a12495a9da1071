package summary_test

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report/summary"
)

// TestSummaryHasHyperlinks checks that the repository, its commits, branches and files have hyperlinks to their
// forge if it is known, and only then.
func TestSummaryHasHyperlinks(t *testing.T) {
	const sha = "0123456789abcdef0123456789abcdef01234567"
	github := &event.StartedBy{CI: "github", RunURL: "https://git.acme.example/acme/web/actions/runs/7", Commit: sha}
	for name, c := range map[string]struct {
		by      *event.StartedBy
		remote  string
		forge   string
		below   string
		pushed  bool
		want    []string
		without string
	}{
		"the server of the CI": {by: github, remote: "https://git.acme.example/acme/web.git", pushed: true, want: []string{
			"([CI run](https://git.acme.example/acme/web/actions/runs/7) of commit [`0123456`](https://git.acme.example/acme/web/commit/" + sha + "))",
			"| [`acme/web`](https://git.acme.example/acme/web) |",
			"[`0123456`](https://git.acme.example/acme/web/commit/" + sha + ") on [`millhand/a b`](https://git.acme.example/acme/web/tree/millhand/a%20b)",
			"- [`x y(1).go`](https://git.acme.example/acme/web/blob/" + sha + "/x%20y%281%29.go): modified", "- `gone.go`: deleted",
			", [pull request 3](https://git.acme.example/acme/web/pull/3) |",
		}},
		"not pushed": {remote: "git@github.com:acme/web.git", want: []string{"[`acme/web`](https://github.com/acme/web)", "| `0123456` on `millhand/a b` |", "- `x y(1).go`: modified"}, without: "CI run"},
		"GitLab": {remote: "ssh://git@gitlab.com:2222/group/sub/web.git", pushed: true, want: []string{
			"[`group/sub/web`](https://gitlab.com/group/sub/web)", "(https://gitlab.com/group/sub/web/-/commit/" + sha + ")", "/-/blob/" + sha + "/x%20y%281%29.go)",
		}},
		"Gitea of the manifest": {remote: "http://127.0.0.1:3000/acme/web", forge: "gitea", pushed: true, want: []string{
			"(http://127.0.0.1:3000/acme/web/src/branch/millhand/a%20b)", "/src/commit/" + sha + "/x%20y%281%29.go)",
		}},
		"a workspace below the root": {remote: "https://github.com/acme/web", below: "shop", pushed: true, want: []string{"/blob/" + sha + "/x%20y%281%29.go)"}},
		"an unknown host":            {by: github, remote: "https://elsewhere.example/acme/web", pushed: true, want: []string{"| `web` |", "`0123456` on `millhand/a b`", "- `x y(1).go`"}, without: "elsewhere"},
		"a path":                     {by: github, remote: "/srv/git/web.git", pushed: true, want: []string{"| `web` |"}, without: "srv"},
		"a hostile name":             {remote: "https://github.com/a)](x)/<b>|c", want: []string{"(https://github.com/a%29%5D%28x%29/%3Cb%3E%7Cc)"}, without: "<b>"},
	} {
		events := []event.Event{
			{Type: event.RunStarted, Run: &event.Run{ID: "r", StartedBy: c.by, Jobs: []event.PlannedJob{{ID: "a", Repo: "web"}}}},
			{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Base: sha, Landing: &event.Landing{Remote: c.remote, Forge: c.forge, Below: c.below}}},
			{Type: event.ChangesFound, Job: "a", Changes: []event.Change{{Path: "x y(1).go", Kind: "modified"}, {Path: "gone.go", Kind: "deleted"}}},
			{Type: event.Committed, Job: "a", Commit: &event.Commit{Hash: sha, Branch: "millhand/a b"}},
		}
		if c.pushed {
			pull := &event.PullRequest{URL: "https://git.acme.example/acme/web/pull/3", Number: 3}
			events = append(events, event.Event{Type: event.CommitPublished, Job: "a", Published: &event.Published{Remote: c.remote, Branch: "millhand/a b", Hash: sha, PullRequest: pull}})
		}
		events = append(events, reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed, FinalMessage: "Done, see [x](https://evil.example)."}), reporttest.RunEnded(event.Passed, event.ExitOK))
		summary := reporttest.Render(t, summary.Markdown, reporttest.Fold(t, events...))
		for _, want := range c.want {
			if !strings.Contains(summary, want) {
				t.Errorf("%s: %q not found in:\n%s", name, want, summary)
			}
		}
		if strings.Contains(summary, "](https://evil") || c.without != "" && strings.Contains(summary, c.without) {
			t.Errorf("%s: a hyperlink too much:\n%s", name, summary)
		}
	}
	review := event.Event{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Remote: "https://github.com/acme/web"}}
	if summary := reporttest.Render(t, summary.Markdown, reporttest.Fold(t, reporttest.Planned("a"), review, reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed}))); !strings.Contains(summary, "[`acme/web`](https://github.com/acme/web)") {
		t.Errorf("a job without a commit:\n%s", summary)
	}
}
