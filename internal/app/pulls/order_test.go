package pulls

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

// TestOneTableDecidesWhatAVerbMeansInAState: each cell of the table of next.
func TestOneTableDecidesWhatAVerbMeansInAState(t *testing.T) {
	j := report.Job{Published: &report.Published{Hash: strings.Repeat("a", 40), Branch: "millhand/a"}}
	pull := func(state forge.State) forge.PullRequest {
		return forge.PullRequest{State: state, SHA: j.Published.Hash, Head: forge.Head{Branch: "millhand/a"}, Checks: forge.ChecksPassed, Mergeable: forge.CanMerge, Base: "main", Blocked: "it requires a review"}
	}
	other, moved, unready, deciding := pull(forge.Open), pull(forge.Open), pull(forge.Open), pull(forge.Open)
	other.Head.Branch, moved.SHA, unready.Draft, deciding.Mergeable = "somebody/else", strings.Repeat("b", 40), true, forge.MergeUnknown
	failed := event.ExitFailed
	for _, tt := range []struct {
		order Order
		pr    forge.PullRequest
		want  transition
	}{
		{Order{Verb: Show}, pull(forge.Open), transition{reason: "it requires a review"}},
		{Order{Verb: Show}, moved, transition{reason: "its head is at bbbbbbbbbb, but the run pushed aaaaaaaaaa"}},
		{Order{Verb: Show}, pull(forge.Merged), transition{}},
		{Order{Verb: Show}, pull(forge.Closed), transition{}},
		{Order{Verb: Merge}, pull(forge.Open), transition{do: doMerge, result: "merged"}},
		{Order{Verb: Merge, DryRun: true}, pull(forge.Open), transition{result: "would merge"}},
		{Order{Verb: Merge}, unready, transition{result: "not ready", reason: "it is a draft: mark it as ready for review", exit: failed}},
		{Order{Verb: Merge}, deciding, transition{do: askAgain, result: "not ready", reason: undecided, exit: failed}},
		{Order{Verb: Merge}, pull(forge.Merged), transition{result: "merged", reason: "it was merged before"}},
		{Order{Verb: Merge}, pull(forge.Closed), transition{result: "closed", reason: "it was closed before, without merging it"}},
		{Order{Verb: Close}, pull(forge.Open), transition{do: doShut, result: "closed"}},
		{Order{Verb: Close, DryRun: true}, pull(forge.Open), transition{result: "would close"}},
		{Order{Verb: Close}, pull(forge.Merged), transition{result: "merged", reason: "it was merged before"}},
		{Order{Verb: Close}, pull(forge.Closed), transition{result: "closed", reason: "it was closed before", last: true}},
		{Order{Verb: Close}, other, transition{result: "not closed", reason: "it is for branch somebody/else, but the run pushed millhand/a", exit: failed}},
		{Order{Verb: Revert}, pull(forge.Open), transition{do: doShut, result: "closed"}},
		{Order{Verb: Revert, DryRun: true}, pull(forge.Open), transition{result: "would close"}},
		{Order{Verb: Revert}, pull(forge.Merged), transition{do: doInvert, result: "reverted"}},
		{Order{Verb: Revert}, pull(forge.Closed), transition{result: "closed", reason: "it was closed before", last: true}},
		{Order{Verb: Revert}, other, transition{result: "not closed", reason: "it is for branch somebody/else, but the run pushed millhand/a", exit: failed}},
	} {
		if got := tt.order.next(tt.pr, j); got != tt.want {
			t.Errorf("%+v of a pull request that is %s: %+v, want %+v", tt.order, tt.pr.State, got, tt.want)
		}
	}
}
