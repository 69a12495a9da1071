package preflight

import (
	"context"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

// Rebase is a job whose commits are applied to the current base of its pull request.
type Rebase struct {
	Commit string // the last one of the job; "" for no rebase
	Before string // commit that the job's first one is on
	Text   string // message of the job's first commit, without trailers
	Turn   int    // last turn of the job's sessions before
}

// onto completes the start of a job that is rebased.
func (p *checker) onto(ctx context.Context, j tasks.Job, o *origin, s Start, err error) (Start, error) {
	past := p.History.Job(j.ID)
	do, rebases := past.Intent.(history.Rebase)
	if err != nil || s.Skip != nil || !rebases || s.Earlier.Hash != "" || p.Local {
		return s, err
	}
	if do.Replacing == "" {
		s.Onto.Commit, s.Onto.Turn = s.Base, past.LastTurn()
		if s.Base, err = p.newBase(ctx, j, o, s, past.Start.Landing.PullRequest.Base); err != nil {
			s.Skip, err = cannotAsk(err)
			return s, err
		}
	} else { // killed
		s.Onto.Commit, s.Onto.Turn, s.Base = past.Start.Onto, past.Rebased, past.Start.Base
	}
	line, text, err := landing.OwnCommits(o.repo, s.Onto.Commit, p.History.Past.Run.ID, j.ID)
	if err != nil {
		return s, refuse(event.CodeBranchForeign, "%w", err)
	}
	s.Onto.Before, s.Onto.Text = line[len(line)-1], text
	return s, nil
}

// newBase returns the current commit of the base of a job's pull request.
func (p *checker) newBase(ctx context.Context, j tasks.Job, o *origin, s Start, branch string) (string, error) {
	if j.Repo.Kind == tasks.RepoURL {
		if tip := fetchedTip(o.repo, branch); tip != "" {
			return tip, nil
		}
		return "", refuse(event.CodeBase, "branch %s, the base of the pull request, not found on %s", branch, s.Remote)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remote.FetchTimeout, fmt.Errorf("timed out after %s", remote.FetchTimeout))
	defer cancel()
	return remote.Fetch(ctx, o.repo.Git, s.Remote, branch)
}
