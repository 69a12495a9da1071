package tasks

import "testing"

func TestPublishingIsLimitedToWhatIsLeft(t *testing.T) {
	for _, c := range []struct{ limit, mode, want PublishMode }{
		{"", PublishPR, PublishPR},
		{PublishPatch, PublishPR, PublishPatch},
		{PublishPatch, PublishNone, PublishPatch},
		{PublishPatch, PublishPatch, PublishPatch},
		{PublishBranch, PublishPR, PublishBranch},
		{PublishBranch, PublishPush, PublishBranch},
		{PublishBranch, PublishBranch, PublishBranch},
		{PublishBranch, PublishNone, PublishNone},
		{PublishBranch, PublishPatch, PublishPatch},
		{PublishPush, PublishPR, PublishPush},
		{PublishPush, PublishPush, PublishPush},
	} {
		a := &AfterUntrusted{Publish: c.limit}
		j := Job{Publish: c.mode, Commit: &Commit{}}
		if c.mode == PublishPR {
			j.Pull = &PullRequest{}
		}
		got := a.Apply(j)
		if got.Publish != c.want || (got.Pull != nil) != (c.want == PublishPR) || a.Limits(&j) != (c.want != c.mode) {
			t.Errorf("%s after %s: %s, pull request %v, limits %t", c.mode, c.limit, got.Publish, got.Pull, a.Limits(&j))
		}
		j.Requests = &Requests{MaxIssues: 1}
		if got := a.Apply(j); got.Requests.Made() != (c.limit == "") || a.Limits(&j) != (got.Publish != c.mode || c.limit != "") || !j.Requests.Made() {
			t.Errorf("%s after %s: requests %+v", c.mode, c.limit, got.Requests)
		}
		j.Comment = &Comment{}
		if got := a.Apply(j); (got.Comment == nil) != (c.limit != "") || a.Limits(&j) != (c.limit != "") {
			t.Errorf("%s after %s: comment %v", c.mode, c.limit, got.Comment)
		}
	}
	asks := Job{Publish: PublishPatch, Requests: &Requests{}}
	if a := (&AfterUntrusted{Publish: PublishPush}); !a.Limits(&asks) || a.Apply(asks).Requests.Made() {
		t.Error("requests of the agent are left")
	}
	signed := Job{Publish: PublishPR, Commit: &Commit{Sign: SignAPI}}
	if got := (&AfterUntrusted{Publish: PublishBranch}).Apply(signed); got.Publish != PublishPatch {
		t.Errorf("a commit that only the forge can make: %s", got.Publish)
	}
	var none *AfterUntrusted
	if none.Limits(&signed) || none.Apply(signed).Publish != PublishPR {
		t.Error("a task without limits is limited")
	}
}
