package tasks

import (
	"slices"
	"testing"

	"github.com/millhand/millhand/internal/permission/policy"
)

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

// every calls a function with each combination of rights.
func every(do func(AfterUntrusted)) {
	for _, network := range []bool{false, true} {
		for _, mcp := range []bool{false, true} {
			for _, bash := range append([]BashLimit{""}, LimitedBash()...) {
				for _, publish := range append([]PublishMode{""}, LimitedModes()...) {
					do(AfterUntrusted{Network: network, MCP: mcp, Bash: bash, Publish: publish, Source: "m.yaml:4"})
				}
			}
		}
	}
}

// revokes reports whether all that one revokes is revoked by another.
func revokes(one, other AfterUntrusted) bool {
	return (!one.Network || other.Network) && (!one.MCP || other.MCP) &&
		slices.Index(LimitedBash(), one.Bash) <= slices.Index(LimitedBash(), other.Bash) && slices.Index(LimitedModes(), one.Publish) <= slices.Index(LimitedModes(), other.Publish)
}

func TestAPolicyRevokesAtLeastItsRightsAndNothingElse(t *testing.T) {
	every(func(own AfterUntrusted) {
		every(func(least AfterUntrusted) {
			p := policy.AfterUntrusted{Network: least.Network, MCP: least.MCP, Bash: string(least.Bash), Publish: string(least.Publish), Source: "p.yaml:2"}
			both := *own.AtLeast(p)
			if !revokes(own, both) || !revokes(least, both) {
				t.Errorf("%v with %v is %v", own, least, both)
			}
			if both.Network && !own.Network && !least.Network || both.MCP && !own.MCP && !least.MCP || both.Bash != own.Bash && both.Bash != least.Bash || both.Publish != own.Publish && both.Publish != least.Publish {
				t.Errorf("%v with %v revokes more: %v", own, least, both)
			}
			if want := map[bool]string{true: "m.yaml:4", false: "m.yaml:4, p.yaml:2"}[revokes(least, own)]; both.Source != want {
				t.Errorf("%v with %v is defined at %s, want %s", own, least, both.Source, want)
			}
			alone := *(*AfterUntrusted)(nil).AtLeast(p)
			if alone.Source = own.Source; alone != least {
				t.Errorf("without rights of the manifest: %v, want %v", alone, least)
			}
		})
	})
	j := Job{Untrusted: []string{"a"}}.AtLeast([]policy.AfterUntrusted{{Network: true, Files: []string{"b"}, Source: "p"}, {Bash: "none", Publish: "patch", MCP: true, Source: "q"}})
	if got := j.AfterUntrusted.String(); got != "{bash: none, mcp: none, network: deny, publish: patch} (p, q)" || len(j.Untrusted) != 2 {
		t.Errorf("%s, %v", got, j.Untrusted)
	}
	if j := (Job{}).AtLeast(nil); j.AfterUntrusted != nil {
		t.Errorf("without policies: %v", j.AfterUntrusted)
	}
}
