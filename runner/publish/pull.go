package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tasks"
)

// Target is where a pull request goes.
type Target struct {
	Client *forge.Client
	Repo   forge.Path
	Base   string // branch
	Fork   Fork   // that has the branch; zero if Repo has it
}

// PullRequest is a pull request to create or to update.
type PullRequest struct {
	Target
	Spec    tasks.PullRequest // of the manifest; its base is that of Target
	Facts   Facts
	Earlier Earlier
}

// Earlier is what earlier processes of the run created: a pull request or a comment.
type Earlier struct {
	URL    string // "" for none
	Unsure bool   // the last process ended before it knew whether it had created one
}

// created reports whether an earlier process has created what exists now, as far as is known.
func (e Earlier) created(url string) bool { return url != "" && (e.Unsure || e.URL == url) }

// head returns the branch that a pull request proposes.
func (t Target) head(branch string) forge.Head { return forge.Head{Repo: t.Fork.Path, Branch: branch} }

// Repository returns a repository after checking that pull requests from its own branches
// can be created. The error is a [*Failure], or that of a forge that can't be asked now:
// [forge.ErrUnreachable] or [forge.ErrLimited].
func Repository(ctx context.Context, client *forge.Client, at forge.Path) (forge.Repository, error) {
	repo, err := readable(ctx, client, at)
	if err == nil && !repo.Push && !repo.PushUnknown {
		err = refuse(event.CodeRemote, "publish: pr: the token can't push to %s: use one that can, or set publish.fork: auto", at)
	}
	return repo, err
}

// readable returns a repository after checking that it accepts pull requests.
func readable(ctx context.Context, client *forge.Client, at forge.Path) (forge.Repository, error) {
	repo, err := client.Repo(ctx, at)
	switch {
	case errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited):
		return repo, err
	case errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrDenied):
		return repo, refuse(event.CodeRemote, "publish: pr: %v: the token must be able to read and write the repository and its pull requests", err)
	case err != nil:
		return repo, refuse(event.CodeRemote, "publish: pr: %v", err)
	case repo.Archived:
		return repo, refuse(event.CodeRemote, "publish: pr: %s is archived", at)
	}
	return repo, nil
}

// Check checks that a pull request of a branch can have the base of the target. The error
// is a [*Failure].
func (t Target) Check(branch string) error {
	switch t.Base {
	case "":
		return refuse(event.CodeBase, "publish: pr: %s has no default branch: set publish.base", t.Repo)
	case branch:
		if t.Fork != (Fork{}) {
			return nil // another repository's
		}
		return refuse(event.CodeBase, "publish: pr: branch %s is also the base: set commit.branch or publish.base", branch)
	}
	return nil
}

// Open returns the address of the open pull request of a branch; "" for none. The error is
// a [*Failure].
func (t Target) Open(ctx context.Context, branch string) (url string, err error) {
	found, err := t.open(ctx, branch)
	if err != nil {
		return "", refuse(event.CodeRemote, "publish: pr: %v", err)
	}
	return found.URL, nil
}

// open returns the open pull request of a branch; zero for none.
func (t Target) open(ctx context.Context, branch string) (forge.PullRequest, error) {
	found, err := t.Client.FindOpen(ctx, t.Repo, t.head(branch))
	if errors.Is(err, forge.ErrNotFound) {
		err = nil
	}
	return found, err
}

func refuse(code event.Code, format string, args ...any) error {
	return &Failure{code, fmt.Sprintf(format, args...)}
}

// pullRequest creates or updates the pull request of the pushed branch. It is found by its
// branch, so that repeating it creates no second one.
func (p *Publication) pullRequest(ctx context.Context) error {
	if p.Pull == nil {
		return nil
	}
	open, err := p.Pull.open(ctx, p.Branch)
	pr, created := open, p.Pull.Earlier.created(open.URL)
	if err == nil {
		p.Emit(event.Event{Type: event.PullRequestStarted, Published: p.event(pullEvent(open, created))})
		pr, created, err = p.Pull.publish(ctx, p.Branch, open)
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		detail := fmt.Sprintf("pull request for branch %s: %v; the branch was pushed", p.Branch, err)
		if pr.Number == 0 {
			return &Failure{event.CodePull, detail}
		}
		p.warn(detail + ", and " + pr.URL + " is open") // only labels or people are missing
	}
	p.published(pullEvent(pr, created))
	return nil
}

// pullEvent describes a pull request for events; nil for none.
func pullEvent(pr forge.PullRequest, created bool) *event.PullRequest {
	if pr.Number == 0 {
		return nil
	}
	return &event.PullRequest{URL: pr.URL, Number: pr.Number, State: string(pr.State), Created: created}
}

// publish creates a pull request unless one is open, which it changes.
func (p *PullRequest) publish(ctx context.Context, branch string, pr forge.PullRequest) (_ forge.PullRequest, created bool, err error) {
	title, body := p.Facts.Title(p.Spec.Title), p.Facts.Body(p.Spec.Body)
	if pr.Number == 0 {
		pr, created, err = p.Client.Create(ctx, p.Repo, forge.New{
			Head: p.head(branch), Base: p.Base, Title: title, Body: body, Draft: p.Spec.Draft,
			Labels: p.Spec.Labels, Reviewers: p.Spec.Reviewers, Assignees: p.Spec.Assignees,
		})
		if created || err != nil {
			return pr, created, err
		}
	}
	change := forge.Change{Labels: p.Spec.Labels, Reviewers: p.Spec.Reviewers, Assignees: p.Spec.Assignees}
	switch p.Spec.IfExists {
	case tasks.SkipIfExists, tasks.FailIfExists:
		// None was open before the job: this one was opened meanwhile, perhaps by an
		// earlier attempt to publish the same branch.
		return pr, p.Earlier.created(pr.URL), nil
	case tasks.AppendIfExists:
		if !strings.Contains(pr.Body, body) {
			body = appended(pr.Body, body)
			change.Body = &body
		}
	default:
		change.Title, change.Body = &title, &body
	}
	// Its texts are what the user asked for: it is not updated without them. Labels and people are more.
	texts, more := change, change
	texts.Labels, texts.Reviewers, texts.Assignees = nil, nil, nil
	more.Title, more.Body = nil, nil
	updated, err := p.Client.Update(ctx, p.Repo, pr.Number, texts)
	if err != nil {
		return forge.PullRequest{}, false, fmt.Errorf("%w; %s is open, and was not updated", err, pr.URL)
	}
	if len(more.Labels)+len(more.Reviewers)+len(more.Assignees) > 0 {
		_, err = p.Client.Update(ctx, p.Repo, pr.Number, more)
	}
	return updated, p.Earlier.created(pr.URL), err
}

// between separates what was appended to a description.
const between = "\n\n---\n\n"

// appended returns a description with another text at its end, of at most [maxBody] bytes: the
// oldest appended texts are left out, and then the end of the first one.
func appended(old, text string) string {
	parts := strings.Split(strings.TrimRight(old, "\n"), between)
	join := func() string { return strings.Join(append(slices.Clone(parts), text), between) }
	for len(parts) > 1 && len(join()) > maxBody {
		parts = slices.Delete(parts, 1, 2)
	}
	if over := len(join()) - maxBody; over > 0 {
		parts[0] = textcut.Head(parts[0], max(len(parts[0])-over-len(truncated), 0), truncated)
	}
	return bodyText(join())
}
