package runner

import (
	"context"
	"errors"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// comment checks before the job costs anything that its final message can be posted.
func (p *preflight) comment(ctx context.Context, j tasks.Job, s *start) error {
	url, err := p.remoteURL(j)
	if err != nil {
		return refuse(event.CodeRemote, "publish.comment: %w", err)
	}
	if p.Forge == nil {
		return refuse(event.CodeRemote, "publish.comment: no forge is known")
	}
	client, at, err := p.Forge(url)
	if err != nil {
		return refuse(event.CodeRemote, "publish.comment: %w", err)
	}
	s.comment = publish.CommentTarget{Client: client, Repo: at, Remote: remote.Repo{URL: url}.String()}
	err = s.comment.CheckComment(ctx, *j.Comment)
	if errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited) {
		s.skip = notFetched("prepare the comment", err)
		return nil
	}
	return refusal(err)
}

// remoteURL returns the URL of the remote of a job: that of a url repository, or "origin".
func (p *preflight) remoteURL(j tasks.Job) (string, error) {
	o := p.origins[key(j.Repo)]
	switch {
	case j.Repo.Kind == tasks.RepoURL:
		return j.Repo.URL, nil
	case o == nil || o.repo == nil:
		return "", remote.ErrNoRemote
	}
	return remote.PushURL(o.repo.Git, "origin")
}

// comments reports whether the job's final message is to be posted.
func comments(j *job) bool {
	_, posted := j.history.Comments()
	return j.spec.Comment != nil && !posted
}

// comment posts the job's final message. A job that only pushes the commit of another run
// has none.
func (l *landed) comment(ctx context.Context) *ending.Stop {
	j := l.job
	if !comments(j) || l.result == nil {
		return nil
	}
	if l.result.final == "" && len(l.result.output) == 0 {
		j.warn("no comment was posted: the final message is empty")
		return nil
	}
	c := &publish.Comment{CommentTarget: j.start.comment, Spec: *j.spec.Comment, Job: j.spec.ID, Facts: l.facts(), Emit: j.emit}
	earlier, _ := j.history.Comments()
	c.Earlier = publish.Earlier(earlier)
	if len(l.result.output) > 0 {
		c.Output = j.opts.Redact.JSON(l.result.output)
		if review, err := findings.Parse(c.Output); err == nil && j.spec.Findings {
			c.Facts.Review = review
		}
	}
	err := c.Post(ctx)
	var failed *publish.Failure
	switch {
	case errors.As(err, &failed):
		return &ending.Stop{Code: failed.Code, Detail: failed.Detail}
	case err != nil:
		return ending.Of(ctx)
	}
	return nil
}
