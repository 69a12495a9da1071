package command

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/report"
)

func TestOnlyReadyPullRequestsAreMerged(t *testing.T) {
	j := report.Job{Published: &report.Published{Hash: strings.Repeat("a", 40)}}
	ready := forge.PullRequest{State: forge.Open, SHA: j.Published.Hash, Checks: forge.ChecksPassed, Mergeable: forge.CanMerge, Base: "main"}
	for _, c := range []struct {
		change  func(*forge.PullRequest)
		without bool
		want    string
	}{
		{func(*forge.PullRequest) {}, false, ""},
		{func(p *forge.PullRequest) { p.SHA = strings.Repeat("b", 40) }, true, "its head is at bbbbbbbbbb, but the run pushed aaaaaaaaaa: review and merge it yourself"},
		{func(p *forge.PullRequest) { p.SHA = "" }, true, "its head is at , but the run pushed aaaaaaaaaa: review and merge it yourself"},
		{func(p *forge.PullRequest) { p.Draft = true }, false, "it is a draft: mark it as ready for review"},
		{func(p *forge.PullRequest) { p.Checks = forge.ChecksFailed }, true, "its checks failed"},
		{func(p *forge.PullRequest) { p.Checks = forge.ChecksPending }, true, "its checks have not completed"},
		{func(p *forge.PullRequest) { p.Checks = forge.NoChecks }, false, "it has no checks: merge it with --without-checks"},
		{func(p *forge.PullRequest) { p.Checks = forge.NoChecks }, true, ""},
		{func(p *forge.PullRequest) { p.Mergeable, p.Conflict = forge.CannotMerge, true }, false, "it has conflicts with main"},
		{func(p *forge.PullRequest) { p.Mergeable = forge.CannotMerge }, false, "a rule of the repository blocks it, such as a required review, or it is behind main"},
		{func(p *forge.PullRequest) { p.Mergeable, p.Blocked = forge.CannotMerge, "it requires a review" }, false, "it requires a review"},
		{func(p *forge.PullRequest) { p.Mergeable = forge.MergeUnknown }, false, undecided},
		{func(p *forge.PullRequest) { p.Mergeable, p.Conflict = forge.MergeUnknown, true }, false, undecided},
	} {
		pr := ready
		c.change(&pr)
		if got := notReady(pr, j, c.without); got != c.want {
			t.Errorf("%+v: %q, want %q", pr, got, c.want)
		}
	}
}

func TestJobsWithoutAPullRequestHaveAReason(t *testing.T) {
	for want, j := range map[string]report.Job{
		"failed: verify failed": {Outcome: event.Failed, Reason: "verify failed"},
		"cancelled":             {Outcome: event.Cancelled},
		"its branch was pushed without a pull request": {Outcome: event.Passed, Published: &report.Published{}, Commit: &event.Commit{}},
		"its commit was not pushed":                    {Outcome: event.Passed, Commit: &event.Commit{}},
		"it committed no changes":                      {Outcome: event.Passed},
	} {
		if got := withoutPull(j); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
