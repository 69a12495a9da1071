package tasks

import "testing"

func TestReplayedJobsPublishNothing(t *testing.T) {
	was := Job{
		Model: "openai/m", Fallback: []Model{{ID: "openai/n"}}, Needs: []string{"x"}, Repo: Repo{Kind: RepoPath, Ref: "main"},
		Publish: PublishPR, Pull: &PullRequest{}, Comment: &Comment{}, Requests: &Requests{}, Commit: &Commit{Branch: CurrentBranch, Sign: SignAPI, Message: "m"},
	}
	j := was.Replayed(Replay{Script: "/s.yaml", Base: "abc"})
	if j.Model != "script:/s.yaml" || j.Fallback != nil || j.Needs != nil || j.Repo.Ref != "abc" || j.Publish != PublishPatch || j.Pull != nil || j.Comment != nil || j.Requests != nil {
		t.Errorf("%+v", j)
	}
	if c := j.Commit; c.Branch == CurrentBranch || c.Sign != SignNone || c.Message != "m" || was.Commit.Branch != CurrentBranch {
		t.Errorf("%+v", c)
	}
	copied := Job{Repo: Repo{Kind: RepoCopy, Ref: "r"}}.Replayed(Replay{Script: "s", Base: "abc"})
	if copied.Repo.Ref != "r" || copied.Commit == nil {
		t.Errorf("%+v", copied)
	}
	was.Escalate, was.Review = []Model{{ID: "openai/n", Name: "n"}, {ID: "openai/o"}}, &Review{Model: Model{ID: "openai/r", Name: "r"}, Agent: "review"}
	j = was.Replayed(Replay{Script: "/s.yaml", Base: "abc", Escalate: []string{"/e.yaml"}, Review: "/r.yaml", Dir: "/d"})
	if len(j.Escalate) != 1 || j.Escalate[0] != (Model{ID: "script:/e.yaml", Name: "n"}) || j.Review.Model != (Model{ID: "script:/r.yaml", Name: "r"}) || j.Review.Agent != "review" {
		t.Errorf("%+v, %+v", j.Escalate, j.Review)
	}
	if j.Repo.Dir != "/d" || j.Repo.Ref != "" || j.Repo.Kind != RepoPath || was.Review.Model.Name != "r" || was.Review.Model.ID != "openai/r" {
		t.Errorf("%+v, %+v", j.Repo, was.Review)
	}
	model := Model{ID: "openai/m"}
	p := &Plan{Agents: []Agent{{Name: "a", Model: &model}}, Rollout: &Rollout{}}
	other := p.Replayed([]Job{j})
	if other.Agents[0].Model != nil || other.Rollout != nil || len(other.Jobs) != 1 || p.Agents[0].Model == nil {
		t.Errorf("%+v", other)
	}
}
