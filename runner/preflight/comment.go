package preflight

import (
	"context"
	"errors"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/runner/threads"
	"github.com/millhand/millhand/tasks"
)

// targets are where jobs write on forges.
type targets struct {
	origins *origins
	forge   func(url string) (*forge.Client, forge.Path, error) // see Options.Forge
}

// comment checks before the job costs anything that its final message can be posted.
func (t targets) comment(ctx context.Context, j tasks.Job, s *Start) (err error) {
	if s.Comment, err = t.of(j, "publish.comment"); err != nil {
		return err
	}
	return s.checked("prepare the comment", s.Comment.CheckComment(ctx, *j.Comment))
}

// requests does the same for what the agent may request.
func (t targets) requests(ctx context.Context, j tasks.Job, s *Start) (err error) {
	const key = "publish.requests"
	if s.Requests.CommentTarget, err = t.of(j, key); err != nil {
		return err
	}
	on := j.Requests.Thread
	switch {
	case !j.Requests.NeedThread():
	case strings.EqualFold(on.Repo, s.Requests.Repo.String()):
		s.Requests.Thread = forge.Thread{Number: on.Number, Issue: on.Issue}
	case j.Pull != nil: // its number is known when it exists
	case on.Number != 0:
		return refuse(event.CodeRemote, "%s: labels and comments are for the issue or pull request of the event, which is in %s, not in %s; set publish.mode: pr for the job's own", key, textcut.OneLine(on.Repo), s.Requests.Repo)
	default:
		return refuse(event.CodeRemote, "%s: labels and comments are for the issue or pull request of the event, and there is no event with one (GITHUB_EVENT_PATH); set publish.mode: pr for the job's own", key)
	}
	return s.checked("prepare the requests", s.Requests.Check(ctx, key, s.Requests.Thread, false))
}

// of returns where a key of the manifest writes to.
func (t targets) of(j tasks.Job, key string) (publish.CommentTarget, error) {
	url, err := t.origins.remoteURL(j)
	if err != nil {
		return publish.CommentTarget{}, refuse(event.CodeRemote, "%s: %w", key, err)
	}
	if t.forge == nil {
		return publish.CommentTarget{}, refuse(event.CodeRemote, "%s: no forge is known", key)
	}
	client, at, err := t.forge(url)
	if err != nil {
		return publish.CommentTarget{}, refuse(event.CodeRemote, "%s: %w", key, err)
	}
	return publish.CommentTarget{Client: client, Repo: at, Remote: remote.Repo{URL: url}.String()}, nil
}

// checked returns the refusal of a check; a forge that can't be asked now fails only the job.
func (s *Start) checked(what string, err error) error {
	if errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited) {
		s.Skip = notFetched(what, err)
		return nil
	}
	return refusal(err)
}

// context checks before the job costs anything that what its prompt has of a forge can be read there.
func (t targets) context(ctx context.Context, j tasks.Job, s *Start) error {
	at, err := t.of(j, "context")
	if err != nil {
		return err
	}
	s.Context = threads.Source{Client: at.Client, Repo: at.Repo}
	switch err := s.Context.Check(ctx, *j.Context); {
	case errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited):
		s.Skip = notFetched("prepare the context", err)
		return nil
	case errors.Is(err, forge.ErrDenied):
		return refuse(event.CodeRemote, "context: %w: the token must be able to read issues, pull requests and checks", err)
	case err != nil:
		return refuse(event.CodeRemote, "context: %w", err)
	}
	return nil
}
