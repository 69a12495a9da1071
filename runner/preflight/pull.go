package preflight

import (
	"context"
	"errors"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// pullRequest checks before the job costs anything that its pull request can be created: the
// forge is known, the token can push, and no open one is in the way.
func (p *checker) pullRequest(ctx context.Context, j tasks.Job, s *Start) error {
	target, repo, err := p.pullRepository(ctx, j, s)
	if errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited) {
		s.Skip = notFetched("prepare the pull request", err)
		return nil
	}
	if err != nil {
		return err
	}
	target.Base = p.pullBase(j, s, repo)
	s.Pull = target
	if err := s.Pull.Check(j.Commit.Branch); err != nil {
		return refusal(err)
	}
	if s.Own || p.History.Job(j.ID).FollowsUp() || j.Pull.IfExists != tasks.FailIfExists && j.Pull.IfExists != tasks.SkipIfExists {
		return nil // an open one may be of this run
	}
	url, err := s.Pull.Open(ctx, j.Commit.Branch)
	switch {
	case err != nil:
		return refusal(err)
	case url == "":
		return nil
	case j.Pull.IfExists == tasks.SkipIfExists:
		s.Skip = &ending.Stop{Code: event.CodeBranchExists, Detail: "pull request " + url + " is open"}
		return nil
	}
	return refuse(event.CodeBranchExists, "pull request %s is open: merge or close it, or set publish.if_exists", url)
}

// refusal refuses a job for a failure that package publish foresees.
func refusal(err error) error {
	var f *publish.Failure
	if errors.As(err, &f) {
		return &Refusal{Code: f.Code, Err: f}
	}
	return err
}

// pullBase returns the branch that a pull request is for: that of the manifest, the one
// that the job started from, or the default one.
func (p *checker) pullBase(j tasks.Job, s *Start, repo forge.Repository) string {
	switch {
	case j.Pull.Base != "":
		return j.Pull.Base
	case j.Repo.Ref != "" && j.Repo.Kind == tasks.RepoURL && fetchedTip(s.Origin, j.Repo.Ref) != "":
		return j.Repo.Ref
	}
	return repo.DefaultBranch
}
