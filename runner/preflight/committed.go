package preflight

import (
	"context"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/event/trailers"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

// committed returns the commit that the resumed run has made for a job, if tip is it.
func (p *checker) committed(j tasks.Job, repo *gitops.Repo, tip string) (event.Commit, bool) {
	message, ours := p.madeIn(j, repo, tip)
	if !ours || trailers.Read(message).Unfinished() {
		return event.Commit{}, false
	}
	return event.Commit{Hash: tip, Branch: j.Commit.Branch, Message: message}, true
}

// unfinished reports whether a commit has the partial work of a job of the resumed run,
// which is replaced.
func (p *checker) unfinished(j tasks.Job, repo *gitops.Repo, tip string) bool {
	message, ours := p.madeIn(j, repo, tip)
	return ours && trailers.Read(message).Unfinished()
}

// madeIn returns the message of a commit, and whether the resumed run made it for a job.
func (p *checker) madeIn(j tasks.Job, repo *gitops.Repo, tip string) (message string, ours bool) {
	if p.History.Past.Job(j.ID) == nil || tip == "" {
		return "", false
	}
	message, err := repo.Message(tip)
	if err != nil {
		return "", false
	}
	return message, trailers.Read(message).MadeFor(p.History.Past.Run.ID, j.ID)
}

// afterCommit returns the start of a job whose commit the resumed run has made: it only
// pushes it, or adds another commit for a follow-up prompt.
func (p *checker) afterCommit(ctx context.Context, j tasks.Job, o *origin, s Start, c event.Commit) (Start, error) {
	s, err := p.finishPush(ctx, j, o, s, c)
	if err == nil && p.History.Job(j.ID).AddsTo(c.Hash) {
		s.Earlier, s.Own, s.Base, s.Tip = event.Commit{}, false, c.Hash, c.Hash
	}
	return s, err
}

// finishPush makes the job only push the commit that the resumed run has made for it.
func (p *checker) finishPush(ctx context.Context, j tasks.Job, o *origin, s Start, c event.Commit) (Start, error) {
	s.Earlier, s.Own = c, true
	if !j.Publish.Pushes() || p.Local {
		return s, nil
	}
	remote, branches, err := p.remote(ctx, j, o)
	if err != nil {
		s.Skip, err = cannotAsk(err)
		return s, err
	}
	s.Remote, s.Lease = remote, branches[c.Branch]
	if s.Lease == "" || s.Lease == c.Hash || p.History.Past.Made(j.ID, s.Lease) {
		return s, nil
	}
	line, err := o.repo.FirstParents(c.Hash, landing.MaxBehind)
	if err != nil || slices.Contains(line, s.Lease) {
		return s, err
	}
	return p.onRemote(ctx, j, o, s)
}

// finishedOnRemote reports whether the resumed run has pushed the job's commit to its url
// repository, whose branch is at tip. It then sets s.
func (p *checker) finishedOnRemote(j tasks.Job, o *origin, s *Start, tip string) bool {
	c, found := p.committed(j, o.repo, tip)
	if found {
		s.Earlier, s.Own, s.Lease = c, true, tip
	}
	if found && p.History.Job(j.ID).AddsTo(c.Hash) {
		s.Earlier, s.Own, s.Base = event.Commit{}, false, tip
	}
	return found
}
