package preflight

import (
	"context"
	"errors"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// byForge checks before a job costs anything that the forge can make its commit.
func (p *checker) byForge(ctx context.Context, j tasks.Job, s *Start) error {
	if !j.Commit.ByForge() {
		return nil
	}
	if p.Forge == nil {
		return refuse(event.CodeRemote, "commit.sign: api: no forge is known")
	}
	client, at, err := p.Forge(s.Remote.URL)
	if err == nil {
		err = publish.CanSign(client)
	}
	if err != nil {
		return refuse(event.CodeRemote, "commit.sign: api: %w", err)
	}
	s.Signer = publish.Signing{Client: client, Repo: at}
	if s.Pull.Client != nil {
		return nil // it was asked for the pull request
	}
	repo, err := client.Repo(ctx, at)
	switch {
	case errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited):
		s.Skip = notFetched("prepare the commit of the forge", err)
	case err != nil:
		return refuse(event.CodeRemote, "commit.sign: api: %w", err)
	case !repo.Push && !repo.PushUnknown:
		return refuse(event.CodeRemote, "commit.sign: api: the token can't push to %s: use one that can", at)
	}
	return nil
}
