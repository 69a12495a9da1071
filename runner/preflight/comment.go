package preflight

import (
	"context"
	"errors"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// comment checks before the job costs anything that its final message can be posted.
func (p *checker) comment(ctx context.Context, j tasks.Job, s *Start) error {
	url, err := p.origins.remoteURL(j)
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
	s.Comment = publish.CommentTarget{Client: client, Repo: at, Remote: remote.Repo{URL: url}.String()}
	err = s.Comment.CheckComment(ctx, *j.Comment)
	if errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited) {
		s.Skip = notFetched("prepare the comment", err)
		return nil
	}
	return refusal(err)
}
