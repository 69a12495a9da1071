package runner

import (
	"context"
	"path"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/trailers"
	"github.com/millhand/millhand/tasks"
)

// committed returns the commit that the resumed run has made for a job, if tip is it.
func (p *preflight) committed(j tasks.Job, repo *gitops.Repo, tip string) (event.Commit, bool) {
	message, ours := p.madeIn(j, repo, tip)
	if !ours || trailers.Read(message).Unfinished() {
		return event.Commit{}, false
	}
	return event.Commit{Hash: tip, Branch: j.Commit.Branch, Message: message}, true
}

// unfinished reports whether a commit has the partial work of a job of the resumed run,
// which is replaced.
func (p *preflight) unfinished(j tasks.Job, repo *gitops.Repo, tip string) bool {
	message, ours := p.madeIn(j, repo, tip)
	return ours && trailers.Read(message).Unfinished()
}

// madeIn returns the message of a commit, and whether the resumed run made it for a job.
func (p *preflight) madeIn(j tasks.Job, repo *gitops.Repo, tip string) (message string, ours bool) {
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
func (p *preflight) afterCommit(ctx context.Context, j tasks.Job, o *origin, s start, c event.Commit) (start, error) {
	s, err := p.finishPush(ctx, j, o, s, c)
	if err == nil && p.History.Job(j.ID).AddsTo(c.Hash) {
		s.earlier, s.own, s.base, s.tip = event.Commit{}, false, c.Hash, c.Hash
	}
	return s, err
}

// finishPush makes the job only push the commit that the resumed run has made for it.
func (p *preflight) finishPush(ctx context.Context, j tasks.Job, o *origin, s start, c event.Commit) (start, error) {
	s.earlier, s.own = c, true
	if !j.Publish.Pushes() || p.Local {
		return s, nil
	}
	remote, branches, err := p.remote(ctx, j, o)
	if err != nil {
		s.skip, err = cannotAsk(err)
		return s, err
	}
	s.remote, s.lease = remote, branches[c.Branch]
	if s.lease == "" || s.lease == c.Hash || p.History.Past.Made(j.ID, s.lease) {
		return s, nil
	}
	line, err := o.repo.FirstParents(c.Hash, landing.MaxBehind)
	if err != nil || slices.Contains(line, s.lease) {
		return s, err
	}
	return p.onRemote(ctx, j, o, s)
}

// finishedOnRemote reports whether the resumed run has pushed the job's commit to its url
// repository, whose branch is at tip. It then sets s.
func (p *preflight) finishedOnRemote(j tasks.Job, o *origin, s *start, tip string) bool {
	c, found := p.committed(j, o.repo, tip)
	if found {
		s.earlier, s.own, s.lease = c, true, tip
	}
	if found && p.History.Job(j.ID).AddsTo(c.Hash) {
		s.earlier, s.own, s.base = event.Commit{}, false, tip
	}
	return found
}

// resultOf returns what earlier processes did of a job's sessions. schema is that of its
// final message, nil for none.
func resultOf(past *history.Facts, schema map[string]any) *result {
	r := noResult()
	if past == nil {
		return r
	}
	r.attempts, r.final = past.Attempts, past.Final
	if schema != nil && past.Final != "" {
		r.output = session.Document(schema, past.Final)
	}
	for _, s := range past.Sessions {
		totals, _ := s.Totals()
		r.totals = r.totals.Plus(totals)
	}
	return r
}

// savedPatch returns the path of the patch that an earlier process has saved; "" for none.
func savedPatch(dir *files.Dir, job string) string {
	name := path.Join("patches", job+".patch")
	if !dir.Exists(name) {
		return ""
	}
	return name
}
